"""All ranks agree on whether there was an overflow."""

import tensorflow.compat.v1 as tf

from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.engines import current_engine


def is_clear_on_all_ranks(status: tf.Tensor) -> tf.Tensor:
    """Whether no rank had an overflow.

    The status travels by itself, never fused with gradients that may be later than it.

    Args:
      status: of this rank, from an `OverflowSource`.

    Returns:
      A bool scalar, the same on all ranks.
    """
    if current_ranks().size > 1:
        status = current_engine().allreduce(status, "sum", fusion=0)
    return tf.reduce_all(tf.equal(status, 0), name="no_overflow")
