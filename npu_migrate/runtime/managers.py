"""The vendor's loss-scale managers."""

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.contrib.mixed_precision.python import loss_scale_manager as contrib

#: Above this, the vendor takes a loss scale for too large for float32.
_LARGEST_LOSS_SCALE = 3.4e38


class FixedLossScaleManager(contrib.FixedLossScaleManager):
    """A loss scale that never changes.

    Args:
      loss_scale: the number by which the loss is multiplied, at least 1.
      enable_overflow_check: whether steps that overflow are skipped. Without the check every step
        is applied, which only makes sense where something that never reaches the loss overflows
        for ever.

    Raises:
      ValueError: `loss_scale` is less than 1.

    Source: `FixedLossScaleManager` of the vendor's package and of `tf.contrib.mixed_precision`.
    """

    def __init__(self, loss_scale: float, enable_overflow_check: bool = True):
        super().__init__(loss_scale)
        self._enable_overflow_check = enable_overflow_check

    def get_enable_overflow_check(self) -> bool:
        """Whether steps that overflow are skipped."""
        return self._enable_overflow_check


class ExponentialUpdateLossScaleManager(contrib.ExponentialUpdateLossScaleManager):
    """A loss scale that grows while all goes well and shrinks with overflows.

    Its three variables, `loss_scale`, `good_steps` and `bad_steps`, are saved in checkpoints. They
    are made where the manager is, so not inside `tf.control_dependencies`.

    Args:
      init_loss_scale: loss scale of the first step.
      incr_every_n_steps: after so many good steps in a row the scale is multiplied by `incr_ratio`.
      decr_every_n_nan_or_inf: after so many overflows, in a row or not, since the scale last
        changed, it is multiplied by `decr_ratio`, but never below 1.
      incr_ratio: factor greater than 1.
      decr_ratio: factor less than 1.

    Source: `ExponentialUpdateLossScaleManager` of the vendor's package, which differs from the one
    of `tf.contrib.mixed_precision` only in how it finds that the scale can grow no further.
    """

    def __init__(
        self,
        init_loss_scale: float,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int = 2,
        incr_ratio: float = 2,
        decr_ratio: float = 0.8,
    ):
        super().__init__(
            init_loss_scale=init_loss_scale,
            incr_every_n_steps=incr_every_n_steps,
            decr_every_n_nan_or_inf=decr_every_n_nan_or_inf,
            incr_ratio=incr_ratio,
            decr_ratio=decr_ratio,
        )

    def update_loss_scale(self, finite_grads: tf.Tensor) -> Any:
        """An operation that counts this step and changes the scale when it is time.

        Args:
          finite_grads: bool scalar, whether this step had no overflow.
        """
        return tf.cond(finite_grads, self._count_good_step, self._count_bad_step)

    def _count_good_step(self) -> tf.Operation:
        return tf.cond(
            self._num_good_steps + 1 >= self._incr_every_n_steps,
            lambda: self._restart_with(self._increased()),
            lambda: tf.group(tf.assign_add(self._num_good_steps, 1)),
        )

    def _count_bad_step(self) -> tf.Operation:
        return tf.cond(
            self._num_bad_steps + 1 >= self._decr_every_n_nan_or_inf,
            lambda: self._restart_with(tf.maximum(1.0, self._loss_scale * self._decr_ratio)),
            lambda: tf.group(
                tf.assign_add(self._num_bad_steps, 1), tf.assign(self._num_good_steps, 0)
            ),
        )

    def _increased(self) -> tf.Tensor:
        can_grow = tf.less(self._loss_scale, _LARGEST_LOSS_SCALE / self._incr_ratio)
        return tf.cond(
            can_grow,
            lambda: self._loss_scale * self._incr_ratio,
            lambda: tf.identity(self._loss_scale),
        )

    def _restart_with(self, loss_scale: tf.Tensor) -> tf.Operation:
        return tf.group(tf.assign(self._loss_scale, loss_scale), self._reset_stats())
