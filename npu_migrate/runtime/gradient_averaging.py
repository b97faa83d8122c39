"""Averages over the ranks, as the vendor's package does it."""

from typing import Any

import tensorflow.compat.v1 as tf

from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.engines import current_engine
from npu_migrate.runtime.overflow.source import Gradient


def average(gradient: Gradient) -> Gradient:
    """The mean of a gradient over all ranks.

    Args:
      gradient: a dense tensor of the same shape on every rank, or `tf.IndexedSlices`.

    Returns:
      For a dense tensor the sum divided by the number of ranks, the same on all of them. For
      sparse slices those of all ranks one after the other, each divided by the number of ranks.
    """
    return npu_allreduce(gradient)


def npu_allreduce(
    values: Any,
    reduction: str = "mean",
    fusion: int = 1,
    fusion_id: int = -1,
    group: str = "hccl_world_group",
) -> Any:
    """Reduces one tensor, or each of a list, over all ranks.

    Args:
      values: a tensor or `tf.IndexedSlices`, or a list of them.
      reduction: 'mean', 'sum', 'min', 'max' or 'prod'; sparse slices know only mean and sum.
      fusion: how the NPU may put several reductions into one; without effect elsewhere.
      fusion_id: likewise.
      group: only 'hccl_world_group' exists off the NPU.

    Returns:
      The reduced tensor, or a list of them.

    Source: `npu_allreduce` of the vendor's package.
    """
    if isinstance(values, (list, tuple)):
        return [npu_allreduce(value, reduction, fusion, fusion_id, group) for value in values]
    summed = "sum" if reduction == "mean" else reduction
    if not isinstance(values, tf.IndexedSlices):
        reduced = current_engine().allreduce(values, summed, group, fusion, fusion_id)
        return divided_by_ranks(reduced) if reduction == "mean" else reduced
    if summed != "sum":
        raise ValueError(f"sparse tensors can be reduced by mean or sum, not by {reduction}")
    slices = current_engine().allgather(values.values, group)
    indices = current_engine().allgather(values.indices, group)
    if reduction == "mean":
        slices = divided_by_ranks(slices)
    return tf.IndexedSlices(slices, indices, values.dense_shape)


def divided_by_ranks(tensor: tf.Tensor) -> tf.Tensor:
    """A sum over all ranks, divided by their number; integers are rounded down."""
    ranks = tf.cast(current_ranks().size, tensor.dtype.base_dtype)
    return tensor // ranks if tensor.dtype.is_integer else tensor / ranks
