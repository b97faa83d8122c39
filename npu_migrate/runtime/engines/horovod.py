"""Several processes on machines without NPU: Horovod carries the tensors."""

from typing import Any, Optional, Tuple

import tensorflow.compat.v1 as tf

from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.engines.interface import WORLD, Engine, check_reduction, check_world


class HorovodEngine(Engine):
    """Horovod's TensorFlow operations, joined at the first use if `init()` was never called.

    Raises:
      ImportError: Horovod is not installed; the message says what to install.
    """

    def __init__(self) -> None:
        try:
            import horovod.tensorflow as hvd
        except ImportError as error:
            raise ImportError(
                f"{current_ranks().size} processes train together, but Horovod cannot be imported "
                f"({error}): pip install 'npu-migrate[distributed]'"
            ) from error
        self._hvd = hvd

    def init(self) -> None:
        """See base class."""
        if self.is_initialized():
            return
        self._hvd.init()
        expected = current_ranks().size
        if self._hvd.size() != expected:
            raise RuntimeError(
                f"the environment speaks of {expected} processes, but Horovod found "
                f"{self._hvd.size()}: start the script with npu-run -np {expected}"
            )

    def shutdown(self) -> None:
        """See base class."""
        if self.is_initialized():
            self._hvd.shutdown()

    def is_initialized(self) -> bool:
        """See base class."""
        return bool(self._hvd.is_initialized())

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
        hvd = self._joined(group)
        operation = {"sum": hvd.Sum, "min": hvd.Min, "max": hvd.Max, "prod": hvd.Product}[reduction]
        return hvd.allreduce(tf.convert_to_tensor(tensor), op=operation)

    def allgather(self, tensor: tf.Tensor, group: str = WORLD) -> tf.Tensor:
        """See base class; first dimensions may differ."""
        return self._joined(group).allgather(tf.convert_to_tensor(tensor))

    def broadcast(self, tensor: tf.Tensor, root_rank: int, group: str = WORLD) -> tf.Tensor:
        """See base class."""
        return self._joined(group).broadcast(tf.convert_to_tensor(tensor), root_rank)

    def alltoall(
        self, tensor: tf.Tensor, splits: Optional[tf.Tensor]
    ) -> Tuple[tf.Tensor, tf.Tensor]:
        """See base class."""
        if splits is None:
            ranks = current_ranks().size
            splits = tf.fill([ranks], tf.shape(tensor)[0] // ranks)
        return self._joined(WORLD).alltoall(
            tf.convert_to_tensor(tensor), splits=tf.cast(splits, tf.int32)
        )

    def _joined(self, group: str) -> Any:
        check_world(group)
        self.init()
        return self._hvd
