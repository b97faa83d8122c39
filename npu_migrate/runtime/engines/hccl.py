"""Several NPUs: HCCL carries the tensors, through the vendor's package."""

import importlib
from typing import Optional, Tuple

import tensorflow.compat.v1 as tf

from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.engines.interface import WORLD, Engine, check_reduction


class HcclEngine(Engine):
    """The operations of `npu_bridge.hccl.hccl_ops`.

    The NPU joins the other ranks when a session first runs on it, so `init()` only remembers that
    it was called.
    """

    def __init__(self) -> None:
        self._ops = importlib.import_module("npu_bridge.hccl.hccl_ops")
        self._initialized = False

    def init(self) -> None:
        """See base class."""
        self._initialized = True

    def shutdown(self) -> None:
        """See base class."""
        self._initialized = False

    def is_initialized(self) -> bool:
        """See base class."""
        return self._initialized

    def allreduce(
        self,
        tensor: tf.Tensor,
        reduction: str,
        group: str = WORLD,
        fusion: int = 1,
        fusion_id: int = -1,
    ) -> tf.Tensor:
        """See base class."""
        check_reduction(reduction)
        return self._ops.allreduce(
            tensor, reduction, fusion=fusion, fusion_id=fusion_id, group=group
        )

    def allgather(self, tensor: tf.Tensor, group: str = WORLD) -> tf.Tensor:
        """See base class; HCCL needs the same shape on every rank."""
        return self._ops.allgather(tensor, current_ranks().size, group=group)

    def broadcast(self, tensor: tf.Tensor, root_rank: int, group: str = WORLD) -> tf.Tensor:
        """See base class."""
        return self._ops.broadcast([tensor], root_rank, group=group)[0]

    def alltoall(
        self, tensor: tf.Tensor, splits: Optional[tf.Tensor]
    ) -> Tuple[tf.Tensor, tf.Tensor]:
        """See base class; only equal parts.

        Raises:
          ValueError: `splits` is given.
        """
        if splits is not None:
            raise ValueError("alltoall on the NPU takes no splits: every rank gets an equal part")
        ranks = current_ranks().size
        rows = tf.shape(tensor)[0] // ranks
        numbers = tf.cast(tf.size(tensor) // ranks, tf.int64)
        counts = tf.fill([ranks], numbers)
        offsets = tf.range(ranks, dtype=tf.int64) * numbers
        flat = tf.reshape(tensor, [-1])
        received = self._ops.all_to_all_v(flat, counts, offsets, counts, offsets)
        return tf.reshape(received, tf.shape(tensor)), tf.fill([ranks], rows)
