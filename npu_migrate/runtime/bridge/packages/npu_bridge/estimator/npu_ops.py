"""Stand-in for the vendor's module of this name: the operations that scripts call by hand."""

from typing import Any, Optional

import numpy as np
import tensorflow.compat.v1 as tf


def initialize_system(name: Optional[str] = None) -> tf.Operation:
    """The operation that opens the NPU system; here there is nothing to open."""
    return tf.no_op(name=name)


def shutdown_system(name: Optional[str] = None) -> tf.Operation:
    """The operation that closes the NPU system; here there is nothing to close."""
    return tf.no_op(name=name)


NPUInit = initialize_system
NPUShutdown = shutdown_system


def dropout(
    x: Any,
    keep_prob: Any,
    noise_shape: Any = None,
    seed: Optional[int] = None,
    name: Optional[str] = None,
) -> tf.Tensor:
    """Drops elements at random and scales the others by 1 / keep_prob, as `tf.nn.dropout` does.

    Args:
      x: floating-point tensor.
      keep_prob: probability that an element is kept, in (0, 1]; a number or a scalar tensor.
      noise_shape: int32 vector, the shape of what is drawn; where it is 1, elements share a fate.
      seed: of the random numbers; they are others than the NPU's.
      name: name of the result.

    Raises:
      ValueError: `x` is not floating-point, or `keep_prob` out of range.
    """
    x = tf.convert_to_tensor(x, name="x")
    if not x.dtype.is_floating:
        raise ValueError(f"x must be a floating-point tensor, not {x.dtype.name}")
    if isinstance(keep_prob, (int, float, np.number)):
        if not 0 < keep_prob <= 1:
            raise ValueError(f"keep_prob must be in (0, 1], not {keep_prob}")
        if keep_prob == 1:
            return x
    return tf.nn.dropout(x, rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, name=name)
