"""Stand-in for the vendor's module of this name: collective operations."""

from typing import Any, List

import tensorflow.compat.v1 as tf

from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.engines import WORLD, current_engine


def allreduce(
    tensor: Any, reduction: str, fusion: int = 1, fusion_id: int = -1, group: str = WORLD
) -> tf.Tensor:
    """Reduces a tensor over all ranks by 'max', 'min', 'prod' or 'sum'."""
    return current_engine().allreduce(
        tf.convert_to_tensor(tensor), reduction, group, fusion, fusion_id
    )


def allgather(
    tensor: Any, rank_size: int, group: str = WORLD, fusion: int = 0, fusion_id: int = -1
) -> tf.Tensor:
    """Concatenates the tensors of all ranks along their first dimension."""
    del fusion, fusion_id
    _check_rank_size(rank_size)
    return current_engine().allgather(tf.convert_to_tensor(tensor), group)


def broadcast(
    tensor: List[Any], root_rank: int, fusion: int = 2, fusion_id: int = 0, group: str = WORLD
) -> List[tf.Tensor]:
    """The tensors of one rank, on all ranks; takes and returns a list."""
    del fusion, fusion_id
    return [
        current_engine().broadcast(tf.convert_to_tensor(one), root_rank, group) for one in tensor
    ]


def reduce(
    tensor: Any,
    reduction: str,
    root_rank: int,
    fusion: int = 0,
    fusion_id: int = -1,
    group: str = WORLD,
) -> tf.Tensor:
    """Reduces a tensor over all ranks; only the root's result means something.

    Here all ranks get the result: what no rank reads, TensorFlow would cut from its graph, and the
    others would wait for it.
    """
    del root_rank
    return allreduce(tensor, reduction, fusion, fusion_id, group)


def reduce_scatter(
    tensor: Any,
    reduction: str,
    rank_size: int,
    group: str = WORLD,
    fusion: int = 0,
    fusion_id: int = -1,
) -> tf.Tensor:
    """Reduces a tensor over all ranks and gives each its equal part of the first dimension."""
    _check_rank_size(rank_size)
    reduced = current_engine().allreduce(
        tf.convert_to_tensor(tensor), reduction, group, fusion, fusion_id
    )
    rows = tf.shape(reduced)[0] // rank_size
    start = current_ranks().rank * rows
    return reduced[start : start + rows]


def _check_rank_size(rank_size: int) -> None:
    size = current_ranks().size
    if int(rank_size) != size:
        raise ValueError(f"rank_size is {rank_size}, but {size} processes train together")
