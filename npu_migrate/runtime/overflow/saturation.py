"""What an NPU that saturates does to gradients, on a machine that does not."""

import contextlib
import contextvars
from typing import Iterator, List, Optional, Sequence, Set

import tensorflow.compat.v1 as tf

from npu_migrate.runtime.overflow.float_register import FloatRegister
from npu_migrate.runtime.overflow.gradient_finiteness import GradientFiniteness, all_finite
from npu_migrate.runtime.overflow.source import Gradient, GradsAndVars, values_of

_observer: "contextvars.ContextVar[Optional[SimulatedSaturation]]" = contextvars.ContextVar(
    "npu_migrate_overflow_observer", default=None
)


class SimulatedSaturation(GradientFiniteness):
    """Turns Inf in fresh gradients into the largest finite number, and remembers that it was there.

    So a script that tests its own gradients with `tf.math.is_finite` is blind here, as it is on the
    NPU; and a rank that averages its gradients sends finite numbers to the others, so that they
    learn of its overflow only through the status. NaN becomes 0.

    What the script does to its gradients later is not watched; Inf and NaN that arise there are
    found when they are applied.
    """

    is_register = True

    def __init__(self) -> None:
        name = tf.get_default_graph().unique_name("npu_float_register")
        self._register = FloatRegister(name)
        self._known: Set[str] = set()

    @contextlib.contextmanager
    def observing(self) -> Iterator[None]:
        """See base class; optimizers further inside reach this source with `saturated()`."""
        token = _observer.set(self)
        try:
            yield
        finally:
            _observer.reset(token)

    def as_computed(
        self, grads_and_vars: GradsAndVars, unscale: Optional[tf.Tensor] = None
    ) -> GradsAndVars:
        """See base class."""
        values = values_of([gradient for gradient, _ in grads_and_vars])
        if not values:
            return grads_and_vars

        def saturate() -> List[tf.Tensor]:
            with tf.control_dependencies([self._register.raise_it()]):
                return [_saturate(value, unscale) for value in values]

        handed_on = tf.cond(
            all_finite(values), lambda: [tf.identity(value) for value in values], saturate
        )
        handed_on = handed_on if isinstance(handed_on, list) else [handed_on]
        self._known.update(value.name for value in handed_on)
        return _with_values(grads_and_vars, handed_on)

    def status(self, gradients: Sequence[Gradient]) -> tf.Tensor:
        """See base class; shape [1]."""
        values = values_of(gradients)
        unknown = [value for value in values if value.name not in self._known]
        finite = all_finite(unknown)
        with tf.control_dependencies([finite, *values]):
            raised = self._register.is_raised()
        with tf.control_dependencies([raised]):
            cleared = self._register.clear()
        with tf.control_dependencies([cleared]):
            overflowed = tf.logical_or(raised, tf.logical_not(finite))
        return tf.cast(overflowed, tf.int32)[tf.newaxis]


def saturated(grads_and_vars: GradsAndVars) -> GradsAndVars:
    """The gradients as this device hands them to the others, before they are averaged.

    Does something only while a `SimulatedSaturation` is observing.
    """
    observer = _observer.get()
    return grads_and_vars if observer is None else observer.as_computed(grads_and_vars)


def _saturate(value: tf.Tensor, unscale: Optional[tf.Tensor]) -> tf.Tensor:
    dtype = value.dtype.base_dtype
    largest = tf.constant(dtype.max, tf.float32)
    if unscale is not None:
        largest *= unscale
    wide = tf.cast(value, tf.float32)
    # A scalar zero: Grappler would keep `zeros_like` as a constant of the gradient's size.
    without_nan = tf.where_v2(tf.math.is_nan(wide), 0.0, wide)
    return tf.cast(tf.maximum(tf.minimum(without_nan, largest), -largest), dtype)


def _with_values(grads_and_vars: GradsAndVars, values: Sequence[tf.Tensor]) -> GradsAndVars:
    remaining = iter(values)
    return [(_with_value(gradient, remaining), var) for gradient, var in grads_and_vars]


def _with_value(gradient: Gradient, values: Iterator[tf.Tensor]) -> Gradient:
    if gradient is None:
        return None
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(next(values), gradient.indices, gradient.dense_shape)
    return next(values)
