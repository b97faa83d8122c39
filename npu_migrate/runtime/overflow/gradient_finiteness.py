"""Overflow as Inf or NaN in the gradients: for machines that compute as IEEE 754 says."""

from typing import Any, Callable, Dict, List, Sequence

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

    Args:
      gradients: dense or sparse, float16, bfloat16, float32 or float64; None counts as finite.

    Returns:
      A bool scalar.
    """
    tensors = joined(values_of(gradients))
    return if_sums_are_finite(
        tensors, lambda: tf.constant(True), lambda: all_true([finite_elements(t) for t in tensors])
    )


def if_sums_are_finite(
    tensors: Sequence[tf.Tensor], finite: Callable[[], Any], look_closer: Callable[[], Any]
) -> Any:
    """What to do in the common case, in which one pass shows that all numbers are finite.

    A sum is finite only if all its terms are, and summing float32 reads memory as fast as it
    comes. The sum of finite terms can overflow too, so otherwise one must look closer.

    Args:
      tensors: of any floating-point type.
      finite: builds what follows when all are finite for certain.
      look_closer: builds what follows otherwise; both build the same structure of tensors.

    Returns:
      What the function called built.
    """
    wide = [tensor for tensor in tensors if tensor.dtype.base_dtype not in _EXPONENT_BITS]
    narrow = [tensor for tensor in tensors if tensor.dtype.base_dtype in _EXPONENT_BITS]
    signs = []
    if wide:
        axes = _Axes()
        sums = [tf.reduce_sum(tensor, axes.of(tensor)) for tensor in wide]
        total = tf.add_n([tf.cast(one, tf.float32) for one in sums])
        signs.append(tf.math.is_finite(total))
    if narrow:
        signs.append(all_true([finite_elements(tensor) for tensor in narrow]))
    if not signs:
        return finite()
    certain = signs[0] if len(signs) == 1 else tf.logical_and(*signs)
    return tf.cond(certain, finite, look_closer)


def joined(tensors: Sequence[tf.Tensor]) -> List[tf.Tensor]:
    """The tensors, with the small ones of a type put end to end.

    Most gradients are biases and the like: a few operations then do for all of them, and copying
    them costs next to nothing.

    Returns:
      The large tensors as they are, and after them at most one vector for each type.
    """
    small: Dict[Any, List[tf.Tensor]] = {}
    large: List[tf.Tensor] = []
    for tensor in tensors:
        is_small = tensor.shape.is_fully_defined() and tensor.shape.num_elements() <= _SMALL
        (small.setdefault(tensor.dtype.base_dtype, []) if is_small else large).append(tensor)
    return large + [_end_to_end(together) for together in small.values()]


def _end_to_end(tensors: Sequence[tf.Tensor]) -> tf.Tensor:
    if len(tensors) == 1:
        return tensors[0]
    shape = tf.constant([-1])
    return tf.concat([t if t.shape.ndims == 1 else tf.reshape(t, shape) for t in tensors], 0)


def finite_elements(tensor: tf.Tensor) -> tf.Tensor:
    """Which elements are neither Inf nor NaN; a bool tensor of the same shape."""
    bits = _EXPONENT_BITS.get(tensor.dtype.base_dtype)
    if bits is None:
        return tf.math.is_finite(tensor)
    mask = tf.constant(bits, tf.int16)
    return tf.not_equal(tf.bitwise.bitwise_and(tf.bitcast(tensor, tf.int16), mask), mask)


def all_true(conditions: Sequence[tf.Tensor]) -> tf.Tensor:
    """Whether all elements of all bool tensors are true; a bool scalar."""
    axes = _Axes()
    return tf.reduce_all(tf.stack([tf.reduce_all(one, axes.of(one)) for one in conditions]))


#: Elements of a tensor that counts as small.
_SMALL = 4096

#: In the 16-bit types a number is Inf or NaN exactly if all these bits are set. Sums of them are
#: slow, and `tf.math.is_finite` of TensorFlow 1.15 overlooks NaN among many bfloat16 numbers.
_EXPONENT_BITS = {tf.float16: 0x7C00, tf.bfloat16: 0x7F80}


class _Axes:
    """The axes to reduce, one constant for all tensors of a rank: BERT has 200 of them."""

    def __init__(self) -> None:
        self._constants: List[Any] = []

    def of(self, tensor: tf.Tensor) -> Any:
        """All axes of a tensor."""
        rank = tensor.shape.ndims
        if rank is None:
            return tf.range(tf.rank(tensor))
        while len(self._constants) <= rank:
            self._constants.append(None)
        if self._constants[rank] is None:
            self._constants[rank] = tf.constant(list(range(rank)), tf.int32)
        return self._constants[rank]
