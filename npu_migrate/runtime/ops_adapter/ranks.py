"""Who is who among the processes, and joining and leaving them."""

from typing import Any, Optional

import tensorflow.compat.v1 as tf

from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.engines import current_engine


def init(comm: Any = None, process_sets: Any = None) -> None:
    """Joins the other ranks.

    Args:
      comm: only None: subsets of the ranks have no counterpart on the NPU.
      process_sets: only None or empty, likewise.

    Raises:
      ValueError: a subset was asked for.
    """
    if comm or process_sets:
        raise ValueError("ops_adapter.init() joins all ranks: comm and process_sets must be empty")
    current_engine().init()


def shutdown() -> None:
    """Leaves the other ranks."""
    current_engine().shutdown()


def is_initialized() -> bool:
    """Whether `init()` was called, and `shutdown()` not since."""
    return current_engine().is_initialized()


def size() -> int:
    """How many processes train together. Needs no `init()`."""
    return current_ranks().size


def rank() -> int:
    """Number of this process among them, from 0. Needs no `init()`."""
    return current_ranks().rank


def local_size() -> int:
    """How many of them run on this machine. Needs no `init()`."""
    return current_ranks().local_size


def local_rank() -> int:
    """Number of this process among those of this machine. Needs no `init()`."""
    return current_ranks().local_rank


def cross_size() -> int:
    """How many machines there are, each with as many processes as this one."""
    return size() // local_size()


def cross_rank() -> int:
    """Number of this machine among them."""
    return rank() // local_size()


def is_homogeneous() -> bool:
    """Whether all machines have as many processes as this one, as far as it can tell."""
    return size() % local_size() == 0


def size_op(process_set_id: int = 0, name: Optional[str] = None) -> tf.Tensor:
    """`size()` as an int32 scalar tensor."""
    return _constant(size(), process_set_id, name)


def rank_op(name: Optional[str] = None) -> tf.Tensor:
    """`rank()` as an int32 scalar tensor."""
    return _constant(rank(), 0, name)


def local_size_op(name: Optional[str] = None) -> tf.Tensor:
    """`local_size()` as an int32 scalar tensor."""
    return _constant(local_size(), 0, name)


def local_rank_op(name: Optional[str] = None) -> tf.Tensor:
    """`local_rank()` as an int32 scalar tensor."""
    return _constant(local_rank(), 0, name)


def _constant(number: int, process_set_id: int, name: Optional[str]) -> tf.Tensor:
    if process_set_id != 0:
        raise ValueError("the NPU knows only the set of all processes, process_set_id=0")
    return tf.constant(number, tf.int32, name=name)
