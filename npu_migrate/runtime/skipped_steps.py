"""Tells the user when a run gets nowhere, because every step overflows."""

import sys
from typing import Any

import tensorflow.compat.v1 as tf

from npu_migrate.runtime import vendor
from npu_migrate.runtime.unsaved_scalar import UnsavedScalar

#: A dynamic scale that starts at 2**32 needs about 40 skipped steps to come down to 2**15.
WARN_AFTER = 100

_MESSAGE = (
    "WARNING: npu-migrate: loss scaling skipped {} steps in a row; the loss scale is {}. "
    "Weights and global step stand still. If something that never reaches the loss overflows "
    "for ever, mend it, or turn the check off with "
    "FixedLossScaleManager(S, enable_overflow_check=False)."
)


class SkippedSteps:
    """Counts the steps skipped in a row, and warns after every hundred of them.

    Not on the NPU itself, whose graphs cannot print.
    """

    def __init__(self) -> None:
        name = tf.get_default_graph().unique_name("npu_skipped_steps")
        self._count = UnsavedScalar(name, 0, tf.int64)

    def update(self, finite: tf.Tensor, loss_scale: Any) -> tf.Operation:
        """An operation that counts this step.

        Args:
          finite: bool scalar, whether this step was applied.
          loss_scale: scalar for the message.
        """
        if vendor.has_vendor_bridge():
            return tf.no_op()
        return tf.group(tf.cond(finite, lambda: self._store(0), lambda: self._skip(loss_scale)))

    def _skip(self, loss_scale: Any) -> tf.Tensor:
        count = self._count.read() + 1
        warned = tf.cond(
            tf.equal(count % WARN_AFTER, 0),
            lambda: _warn(count, loss_scale),
            lambda: tf.constant(False),
        )
        with tf.control_dependencies([warned]):
            return self._store(count)

    def _store(self, count: Any) -> tf.Tensor:
        with tf.control_dependencies([self._count.assign(count)]):
            return tf.constant(True)


def _warn(count: tf.Tensor, loss_scale: Any) -> tf.Tensor:
    """Prints from the graph itself: a Python function would not survive `import_meta_graph`."""
    message = tf.strings.format(_MESSAGE, (count, tf.identity(loss_scale)))
    with tf.control_dependencies([tf.print(message, output_stream=sys.stderr)]):
        return tf.constant(True)
