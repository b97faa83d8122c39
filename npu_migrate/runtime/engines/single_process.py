"""One process: nothing to carry."""

from typing import Optional, Tuple

import tensorflow.compat.v1 as tf

from npu_migrate.runtime.engines.interface import WORLD, Engine, check_reduction, check_world


class SingleProcessEngine(Engine):
    """Hands every tensor back, as a tensor of its own."""

    def __init__(self) -> None:
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
        del fusion, fusion_id
        check_reduction(reduction)
        check_world(group)
        return tf.identity(tensor)

    def allgather(self, tensor: tf.Tensor, group: str = WORLD) -> tf.Tensor:
        """See base class."""
        check_world(group)
        return tf.identity(tensor)

    def broadcast(self, tensor: tf.Tensor, root_rank: int, group: str = WORLD) -> tf.Tensor:
        """See base class."""
        check_world(group)
        if root_rank != 0:
            raise ValueError(f"root_rank is {root_rank}, but there is only rank 0")
        return tf.identity(tensor)

    def alltoall(
        self, tensor: tf.Tensor, splits: Optional[tf.Tensor]
    ) -> Tuple[tf.Tensor, tf.Tensor]:
        """See base class."""
        received = tf.shape(tensor)[:1] if splits is None else tf.cast(splits, tf.int32)
        return tf.identity(tensor), received
