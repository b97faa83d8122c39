"""What an NPU that saturates does to gradients, on a machine that does not."""

import contextlib
import contextvars
from typing import Dict, Iterator, List, Optional, Sequence, Set, Tuple

import tensorflow.compat.v1 as tf

from npu_migrate.runtime.overflow.float_register import FloatRegister
from npu_migrate.runtime.overflow.gradient_finiteness import (
    GradientFiniteness,
    all_true,
    finite_elements,
    if_sums_are_finite,
)
from npu_migrate.runtime.overflow.source import Gradient, GradsAndVars, values_of

_observer: "contextvars.ContextVar[Optional[SimulatedSaturation]]" = contextvars.ContextVar(
    "npu_migrate_overflow_observer", default=None
)


class SimulatedSaturation(GradientFiniteness):
    """Turns Inf in fresh gradients into the largest finite number, and remembers that it was there.

    So a script that tests its own gradients with `tf.math.is_finite` is blind here, as it is on the
    NPU; and a rank that averages its gradients sends finite numbers to the others, so that they
    learn of its overflow only through the status. NaN becomes the largest finite number.

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
        handed_on = if_sums_are_finite(
            values,
            lambda: values,
            lambda: self._saturate(values, unscale),
        )
        handed_on = handed_on if isinstance(handed_on, list) else [handed_on]
        self._known.update(value.name for value in handed_on)
        return _with_values(grads_and_vars, handed_on)

    def status(self, gradients: Sequence[Gradient]) -> tf.Tensor:
        """See base class; shape [1]."""
        values = values_of(gradients)
        if not self._known:  # nothing here raises the register
            return super().status(values)
        unknown = [value for value in values if value.name not in self._known]
        with tf.control_dependencies(values):
            raised = self._register.is_raised()
        with tf.control_dependencies([raised]):
            cleared = self._register.clear()
        with tf.control_dependencies([cleared]):
            return tf.cast(raised, tf.int32)[tf.newaxis] + super().status(unknown)

    def _saturate(
        self, values: Sequence[tf.Tensor], unscale: Optional[tf.Tensor]
    ) -> List[tf.Tensor]:
        finite = [finite_elements(value) for value in values]
        noted = tf.cond(all_true(finite), tf.no_op, self._register.raise_it)
        limits = _Limits(unscale)
        with tf.control_dependencies([noted]):
            return [
                tf.where_v2(is_finite, value, limits.where(value))
                for value, is_finite in zip(values, finite)
            ]


class _Limits:
    """What Inf becomes: for each dtype the largest number, after the multiplication so far."""

    def __init__(self, unscale: Optional[tf.Tensor]):
        self._unscale = unscale
        self._limits: Dict[tf.DType, Tuple[tf.Tensor, tf.Tensor]] = {}

    def where(self, value: tf.Tensor) -> tf.Tensor:
        """For each element the limit on its side of zero; NaN is on the upper."""
        dtype = value.dtype.base_dtype
        if dtype not in self._limits:
            largest = tf.constant(dtype.max, tf.float32)
            if self._unscale is not None:
                largest *= self._unscale
            self._limits[dtype] = tf.cast(-largest, dtype), tf.cast(largest, dtype)
        return tf.where_v2(value < 0, *self._limits[dtype])


def saturated(grads_and_vars: GradsAndVars) -> GradsAndVars:
    """The gradients as this device hands them to the others, before they are averaged.

    Does something only while a `SimulatedSaturation` is observing.
    """
    observer = _observer.get()
    return grads_and_vars if observer is None else observer.as_computed(grads_and_vars)


def _with_values(grads_and_vars: GradsAndVars, values: Sequence[tf.Tensor]) -> GradsAndVars:
    remaining = iter(values)
    return [(_with_value(gradient, remaining), var) for gradient, var in grads_and_vars]


def _with_value(gradient: Gradient, values: Iterator[tf.Tensor]) -> Gradient:
    if gradient is None:
        return None
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(next(values), gradient.indices, gradient.dense_shape)
    return next(values)
