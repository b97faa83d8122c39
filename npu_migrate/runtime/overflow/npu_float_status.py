"""Overflow as the NPU's own register reports it."""

from typing import Any, Sequence

import tensorflow.compat.v1 as tf

from npu_migrate.runtime.overflow.source import Gradient, OverflowSource, values_of


class NpuFloatStatus(OverflowSource):
    """Reads and clears the register that any operation raises when it saturates.

    There is one register a device. It covers every operation since it was last cleared, not only
    the gradients, and not only those of this `session.run`.

    Args:
      op_library: what `npu_bridge.helper.helper.get_gen_ops()` returns.

    Source: `NPULossScaleOptimizer` of the vendor's package.
    """

    def __init__(self, op_library: Any):
        self._ops = op_library

    def status(self, gradients: Sequence[Gradient]) -> tf.Tensor:
        """See base class; shape [8]."""
        graph = tf.get_default_graph()
        with graph.control_dependencies(values_of(gradients)):
            status = self._ops.npu_get_float_status_v2()
        with graph.control_dependencies([status]):
            cleared = self._ops.npu_clear_float_status_v2()
        with graph.control_dependencies([cleared]):
            return tf.identity(status)
