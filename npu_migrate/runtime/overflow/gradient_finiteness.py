"""Overflow as Inf or NaN in the gradients: for machines that compute as IEEE 754 says."""

from typing import List, Sequence

import tensorflow.compat.v1 as tf

from npu_migrate.runtime.overflow.source import Gradient, OverflowSource, values_of


class GradientFiniteness(OverflowSource):
    """Judges by the gradients that are handed in, and keeps no state.

    This is what `tf.contrib.mixed_precision.LossScaleOptimizer` does, at a third of the cost.
    Gradients averaged over the ranks hold Inf or NaN on all of them.
    """

    is_register = False

    def status(self, gradients: Sequence[Gradient]) -> tf.Tensor:
        """See base class; shape [1]."""
        return tf.cast(tf.logical_not(all_finite(gradients)), tf.int32)[tf.newaxis]


def all_finite(gradients: Sequence[Gradient]) -> tf.Tensor:
    """Whether no gradient holds Inf or NaN: exactly, in one pass over each.

    A sum is finite only if all its terms are, and summing float32 reads memory as fast as it
    comes. The sum of finite terms can overflow too; only then, and after real overflows, the terms
    are looked at one by one.

    Args:
      gradients: dense or sparse, float16, bfloat16, float32 or float64; None counts as finite.

    Returns:
      A bool scalar.
    """
    tensors = values_of(gradients)
    wide = [tensor for tensor in tensors if tensor.dtype.base_dtype not in _EXPONENT_BITS]
    narrow = [tensor for tensor in tensors if tensor.dtype.base_dtype in _EXPONENT_BITS]
    verdicts = [_finite_one_by_one(tensor) for tensor in narrow]
    if wide:
        verdicts.append(_finite_by_sum(wide))
    if not verdicts:
        return tf.constant(True)
    return verdicts[0] if len(verdicts) == 1 else tf.reduce_all(tf.stack(verdicts))


#: In the 16-bit types a number is Inf or NaN exactly if all these bits are set. Sums of them are
#: slow, and `tf.math.is_finite` of TensorFlow 1.15 overlooks NaN among many bfloat16 numbers.
_EXPONENT_BITS = {tf.float16: 0x7C00, tf.bfloat16: 0x7F80}


def _finite_by_sum(tensors: List[tf.Tensor]) -> tf.Tensor:
    total = tf.add_n([tf.cast(tf.reduce_sum(tensor), tf.float32) for tensor in tensors])
    return tf.cond(
        tf.math.is_finite(total),
        lambda: tf.constant(True),
        lambda: tf.reduce_all(tf.stack([_finite_one_by_one(tensor) for tensor in tensors])),
    )


def _finite_one_by_one(tensor: tf.Tensor) -> tf.Tensor:
    bits = _EXPONENT_BITS.get(tensor.dtype.base_dtype)
    if bits is None:
        return tf.reduce_all(tf.math.is_finite(tensor))
    mask = tf.constant(bits, tf.int16)
    exponents = tf.bitwise.bitwise_and(tf.bitcast(tensor, tf.int16), mask)
    return tf.reduce_all(tf.not_equal(exponents, mask))
