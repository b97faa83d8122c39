"""The norm of all gradients, which tells about clipping and overflow at once."""

from typing import Any, NamedTuple, Sequence

import tensorflow.compat.v1 as tf

from npu_migrate.runtime.overflow.source import Gradient, values_of


class GlobalNorm(NamedTuple):
    """What one pass over the gradients tells; scalars.

    Attributes:
      total_norm: float32, the 2-norm of all gradients together.
      ratio: float32, what the gradients must be divided by so that their norm is at most the
        maximum: never below 1 while the norm is finite, NaN or Inf when it is not.
      is_finite: bool, whether the norm is finite.
    """

    total_norm: tf.Tensor
    ratio: tf.Tensor
    is_finite: tf.Tensor


def grad_global_norm(grads: Sequence[Gradient], max_norm: Any) -> GlobalNorm:
    """Calculates the norm of all gradients, and by how much to scale them down.

    Squares are summed in float32, so a gradient above 1.8e19 counts as an overflow.

    Args:
      grads: dense or sparse gradients of any floating-point dtype; None is left out. Sparse ones
        must not name a row twice, or the norm is that of their slices.
      max_norm: float or float32 scalar, above 0.

    Returns:
      `(total_norm, ratio, is_finite)`.

    Raises:
      ValueError: there is no gradient.

    Source: `grad_global_norm` in `fp16_utils.py` of the BERT scripts of GluonNLP.
    """
    values = values_of(grads)
    if not values:
        raise ValueError("grad_global_norm needs at least one gradient that is not None")
    halved_squares = [tf.nn.l2_loss(tf.cast(value, tf.float32)) for value in values]
    total_norm = tf.sqrt(2.0 * tf.add_n(halved_squares))
    scale = total_norm / tf.cast(max_norm, tf.float32)
    is_finite = tf.math.is_finite(scale)
    ratio = tf.where_v2(is_finite, tf.maximum(scale, 1.0), scale)
    return GlobalNorm(total_norm, ratio, is_finite)
