"""What an NPU that saturates does to gradients, on a machine that does not."""

import contextlib
import contextvars
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

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
        #: For each gradient handed on, by its name, whether an overflow was there.
        self._overflowed: Dict[str, tf.Tensor] = {}
        #: The same of gradients that an optimizer further inside has handed on.
        self._overflowed_inside: List[tf.Tensor] = []

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
        saturated_pairs, overflowed = self._hand_on(grads_and_vars, unscale)
        overflowed = tf.reduce_any(tf.stack([overflowed, *self._overflowed_inside]))
        self._overflowed_inside.clear()
        for value in values_of([gradient for gradient, _ in saturated_pairs]):
            self._overflowed[value.name] = overflowed
        return saturated_pairs

    def as_computed_inside(self, grads_and_vars: GradsAndVars) -> GradsAndVars:
        """`as_computed` for an optimizer further inside, before it averages its gradients."""
        saturated_pairs, overflowed = self._hand_on(grads_and_vars, None)
        self._overflowed_inside.append(overflowed)
        return saturated_pairs

    def status(self, gradients: Sequence[Gradient]) -> tf.Tensor:
        """See base class; shape [1]."""
        values = values_of(gradients)
        if not self._overflowed:  # nothing here raises the register
            return super().status(values)
        unknown = [value for value in values if value.name not in self._overflowed]
        names = {value.name for value in values} & set(self._overflowed)
        known = [self._overflowed[name] for name in sorted(names)]
        with tf.control_dependencies(values):
            raised = self._register.is_raised()
        with tf.control_dependencies([raised]):
            cleared = self._register.clear()
        with tf.control_dependencies([cleared]):
            overflowed = tf.reduce_any(tf.stack([raised, *_distinct(known)]))
        return tf.cast(overflowed, tf.int32)[tf.newaxis] + super().status(unknown)

    def _hand_on(
        self, grads_and_vars: GradsAndVars, unscale: Optional[tf.Tensor]
    ) -> Tuple[GradsAndVars, tf.Tensor]:
        values = values_of([gradient for gradient, _ in grads_and_vars])
        if not values:
            return grads_and_vars, tf.constant(False)
        overflowed, *handed_on = if_sums_are_finite(
            values,
            lambda: [tf.constant(False), *values],
            lambda: self._saturate(values, unscale),
        )
        return _with_values(grads_and_vars, handed_on), overflowed

    def _saturate(
        self, values: Sequence[tf.Tensor], unscale: Optional[tf.Tensor]
    ) -> List[tf.Tensor]:
        finite = [finite_elements(value) for value in values]
        overflowed = tf.logical_not(all_true(finite))
        noted = tf.cond(overflowed, self._register.raise_it, tf.no_op)
        limits = _Limits(unscale)
        with tf.control_dependencies([noted]):
            return [tf.identity(overflowed)] + [
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


def _distinct(tensors: Sequence[tf.Tensor]) -> List[tf.Tensor]:
    return list({tensor.name: tensor for tensor in tensors}.values())


def saturated(grads_and_vars: GradsAndVars) -> GradsAndVars:
    """The gradients as this device hands them to the others, before they are averaged.

    Does something only while a `SimulatedSaturation` is observing.
    """
    observer = _observer.get()
    return grads_and_vars if observer is None else observer.as_computed_inside(grads_and_vars)


def _with_values(grads_and_vars: GradsAndVars, values: Sequence[tf.Tensor]) -> GradsAndVars:
    remaining = iter(values)
    return [(_with_value(gradient, remaining), var) for gradient, var in grads_and_vars]


def _with_value(gradient: Gradient, values: Iterator[tf.Tensor]) -> Gradient:
    if gradient is None:
        return None
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(next(values), gradient.indices, gradient.dense_shape)
    return next(values)
