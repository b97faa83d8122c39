"""Reductions and exchanges over all ranks, with Horovod's signatures."""

from typing import Any, List, Optional, Sequence, Tuple, Type, Union

import tensorflow.compat.v1 as tf

from npu_migrate.runtime.engines import current_engine
from npu_migrate.runtime.gradient_averaging import divided_by_ranks
from npu_migrate.runtime.ops_adapter.compression import Compression, Compressor

#: The values of `op`; the numbers are Horovod's.
Average, Sum, Adasum, Min, Max, Product = range(6)

_REDUCTIONS = {Average: "sum", Sum: "sum", Min: "min", Max: "max", Product: "prod"}


def allreduce(
    tensor: Any,
    average: Optional[bool] = None,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Type[Compressor] = Compression.none,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    name: Optional[str] = None,
    process_set: Any = None,
) -> Any:
    """Reduces a tensor over all ranks.

    Args:
      tensor: a tensor or variable of the same shape and dtype on every rank, or
        `tf.IndexedSlices`, whose slices are gathered.
      average: older form of `op`: True for `Average`, False for `Sum`.
      device_dense: ignored, tensors travel the way that the engine knows.
      device_sparse: likewise.
      compression: how tensors are made smaller on the way.
      op: `Average` (default), `Sum`, `Min`, `Max` or `Product`.
      prescale_factor: number to multiply by before the reduction.
      postscale_factor: number to multiply by after it.
      name: name of the result.
      process_set: only None: the NPU knows only the set of all processes.

    Returns:
      The reduced tensor, or `tf.IndexedSlices` with the slices of all ranks.

    Raises:
      ValueError: both `average` and `op`, `Adasum`, a process set, or sparse slices with another
        `op` than `Average` and `Sum`.
    """
    del device_dense, device_sparse
    _check_process_set(process_set)
    op = _operation(average, op)
    if isinstance(tensor, tf.IndexedSlices):
        return _allreduce_sparse(tensor, op, prescale_factor, postscale_factor)
    tensor = _scaled(tf.convert_to_tensor(tensor), prescale_factor)
    small, context = compression.compress(tensor)
    reduced = compression.decompress(current_engine().allreduce(small, _REDUCTIONS[op]), context)
    return tf.identity(_scaled(_averaged(reduced, op), postscale_factor), name=name)


def grouped_allreduce(tensors: Sequence[Any], *args: Any, **kwargs: Any) -> List[Any]:
    """`allreduce` of each tensor of a list."""
    return [allreduce(tensor, *args, **kwargs) for tensor in tensors]


def allgather(
    tensor: Any,
    name: Optional[str] = None,
    ignore_name_scope: bool = False,
    process_set: Any = None,
) -> tf.Tensor:
    """Concatenates the tensors of all ranks along their first dimension, in rank order.

    Args:
      tensor: of one dimension at least. On the NPU of the same shape on every rank; elsewhere
        first dimensions may differ.
      name: name of the result.
      ignore_name_scope: ignored.
      process_set: only None.
    """
    del ignore_name_scope
    _check_process_set(process_set)
    return tf.identity(current_engine().allgather(tf.convert_to_tensor(tensor)), name=name)


def broadcast(
    tensor: Any,
    root_rank: int,
    name: Optional[str] = None,
    ignore_name_scope: bool = False,
    process_set: Any = None,
) -> tf.Tensor:
    """The tensor of one rank, on all ranks.

    Args:
      tensor: of the same shape and dtype on every rank.
      root_rank: whose tensor it is.
      name: name of the result.
      ignore_name_scope: ignored.
      process_set: only None.
    """
    del ignore_name_scope
    _check_process_set(process_set)
    return tf.identity(
        current_engine().broadcast(tf.convert_to_tensor(tensor), root_rank), name=name
    )


def alltoall(
    tensor: Any,
    splits: Any = None,
    name: Optional[str] = None,
    ignore_name_scope: bool = False,
    process_set: Any = None,
) -> Union[tf.Tensor, Tuple[tf.Tensor, tf.Tensor]]:
    """Sends a piece of the first dimension to each rank.

    Args:
      tensor: what to divide.
      splits: int32 vector, how much each rank gets; None for equal parts. On the NPU only None.
      name: name of the result.
      ignore_name_scope: ignored.
      process_set: only None.

    Returns:
      What this rank received, in rank order; with `splits` also how much from each rank.
    """
    del ignore_name_scope
    _check_process_set(process_set)
    given = None if splits is None else tf.convert_to_tensor(splits, tf.int32)
    received, counts = current_engine().alltoall(tf.convert_to_tensor(tensor), given)
    received = tf.identity(received, name=name)
    return received if splits is None else (received, counts)


def _operation(average: Optional[bool], op: Optional[int]) -> int:
    if average is not None and op is not None:
        raise ValueError("give either op or average, not both")
    if op is None:
        return Sum if average is False else Average
    if op not in _REDUCTIONS:
        raise ValueError(
            "op must be Average, Sum, Min, Max or Product; Adasum has no counterpart on the NPU"
        )
    return op


def _allreduce_sparse(
    slices: tf.IndexedSlices, op: int, prescale_factor: float, postscale_factor: float
) -> tf.IndexedSlices:
    if op not in (Average, Sum):
        raise ValueError("sparse tensors can only be averaged or summed")
    values = current_engine().allgather(_scaled(slices.values, prescale_factor))
    indices = current_engine().allgather(slices.indices)
    values = _scaled(_averaged(values, op), postscale_factor)
    return tf.IndexedSlices(values, indices, slices.dense_shape)


def _averaged(tensor: tf.Tensor, op: int) -> tf.Tensor:
    return divided_by_ranks(tensor) if op == Average else tensor


def _scaled(tensor: tf.Tensor, factor: float) -> tf.Tensor:
    return tensor if factor == 1.0 else tensor * tf.cast(factor, tensor.dtype.base_dtype)


def _check_process_set(process_set: Any) -> None:
    if process_set is not None:
        raise ValueError("process_set: the NPU knows only the set of all processes")
