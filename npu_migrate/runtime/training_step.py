"""One training step under loss scaling: apply the gradients or skip them, and tell the manager."""

from typing import Any, Callable

import tensorflow.compat.v1 as tf

from npu_migrate.runtime.skipped_steps import SkippedSteps


def apply_unless_overflow(
    finite: tf.Tensor,
    apply: Callable[[], Any],
    manager: Any,
    skipped: SkippedSteps,
    always_apply: bool = False,
) -> tf.Operation:
    """Applies the gradients if there was no overflow; either way the manager learns of the step.

    Args:
      finite: bool scalar, whether there was no overflow on any rank.
      apply: builds the operation that applies the gradients.
      manager: a `tf.contrib.mixed_precision.LossScaleManager`.
      skipped: counts the steps that are skipped.
      always_apply: whether the optimizer is called in spite of an overflow.

    Returns:
      The operation of one training step.
    """
    update = apply() if always_apply else tf.cond(finite, apply, tf.no_op)
    with tf.control_dependencies([finite]):
        scale_update = manager.update_loss_scale(finite)
    done = [op for op in (update, scale_update) if op is not None]
    with tf.control_dependencies(done):
        counted = skipped.update(finite, manager.get_loss_scale())
    return tf.group(*done, counted)
