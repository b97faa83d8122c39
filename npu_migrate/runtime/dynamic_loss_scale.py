"""Loss-scale managers that tolerate overflows, for any loss-scaling optimizer.

Source: `LossScaler` and its subclasses in `fp16_utils.py` of the BERT scripts of GluonNLP.
"""

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.contrib.mixed_precision.python import loss_scale_manager as contrib


class StaticLossScaleManager(contrib.LossScaleManager):
    """A loss scale that never changes.

    Args:
      init_scale: the number by which the loss is multiplied, above 0.

    Raises:
      ValueError: `init_scale` is not above 0.
    """

    def __init__(self, init_scale: float = 1):
        if not init_scale > 0:
            raise ValueError(f"init_scale must be above 0, not {init_scale}")
        self._loss_scale = tf.constant(init_scale, tf.float32)

    def get_loss_scale(self) -> tf.Tensor:
        """The loss scale; a float32 scalar."""
        return self._loss_scale

    def update_loss_scale(self, finite_grads: tf.Tensor) -> tf.Operation:
        """Does nothing."""
        del finite_grads
        return tf.no_op()


class DynamicLossScaleManager(contrib.LossScaleManager):
    """A loss scale that shrinks only when overflows are frequent.

    At an overflow the scale is divided by `scale_factor` if the overflows since it last changed
    are at least the share `tolerance` of the steps since then. At a step without overflow it is
    multiplied by `scale_factor` if the number of steps since the last overflow is a multiple of
    `scale_window`. It may go below 1, but stays within what float32 holds at full precision, where
    the original goes on to Inf or to 0.

    Its five variables are saved in checkpoints, below `name`.

    Args:
      init_scale: loss scale of the first step.
      scale_factor: what the scale is divided or multiplied by.
      scale_window: steps without overflow after which the scale grows.
      tolerance: share of overflows, from 0 to 1, from which on the scale shrinks.
      name: prefix of the variables.
    """

    def __init__(
        self,
        init_scale: float = 2.0**15,
        scale_factor: float = 2.0,
        scale_window: int = 2000,
        tolerance: float = 0.01,
        name: str = "dynamic_loss_scale",
    ):
        self._scale_factor = scale_factor
        self._scale_window = scale_window
        self._tolerance = tolerance
        with tf.init_scope(), tf.variable_scope(None, default_name=name):
            self._loss_scale = _variable("loss_scale", init_scale, tf.float32)
            self._steps = _variable("steps", 0, tf.int64)
            self._last_overflow = _variable("last_overflow", -1, tf.int64)
            self._last_change = _variable("last_change", -1, tf.int64)
            self._overflows = _variable("overflows", 0, tf.int64)

    def get_loss_scale(self) -> Any:
        """The loss scale; a float32 scalar."""
        return self._loss_scale

    def update_loss_scale(self, finite_grads: tf.Tensor) -> tf.Operation:
        """An operation that counts this step and changes the scale when it is time.

        Args:
          finite_grads: bool scalar, whether this step had no overflow.
        """
        update = tf.cond(finite_grads, self._after_good_step, self._after_overflow)
        with tf.control_dependencies([update]):
            return tf.group(tf.assign_add(self._steps, 1))

    def _after_overflow(self) -> tf.Operation:
        overflows = self._overflows.read_value() + 1
        steps = self._steps.read_value() - self._last_change.read_value()
        is_frequent = overflows / steps >= self._tolerance
        with tf.control_dependencies([is_frequent]):
            noted = tf.assign(self._last_overflow, self._steps)
        changed = tf.cond(
            is_frequent,
            lambda: self._change(self._loss_scale.read_value() / self._scale_factor),
            lambda: tf.group(tf.assign(self._overflows, overflows)),
        )
        return tf.group(noted, changed)

    def _after_good_step(self) -> tf.Operation:
        since_overflow = self._steps.read_value() - self._last_overflow.read_value()
        return tf.cond(
            tf.equal(since_overflow % self._scale_window, 0),
            lambda: self._grow(self._loss_scale.read_value() * self._scale_factor),
            tf.no_op,
        )

    def _grow(self, loss_scale: tf.Tensor) -> tf.Operation:
        changed = [
            tf.assign(self._loss_scale, _within_float32(loss_scale)),
            tf.assign(self._last_change, self._steps),
        ]
        return tf.group(*changed)

    def _change(self, loss_scale: tf.Tensor) -> tf.Operation:
        return tf.group(self._grow(loss_scale), tf.assign(self._overflows, 0))


def _variable(name: str, value: float, dtype: tf.DType) -> tf.Variable:
    return tf.get_variable(
        name, initializer=tf.constant(value, dtype), trainable=False, use_resource=True
    )


def _within_float32(loss_scale: tf.Tensor) -> tf.Tensor:
    smallest_normal = 2.0**-126
    largest_power_of_two = 2.0**127
    return tf.clip_by_value(loss_scale, smallest_normal, largest_power_of_two)
