"""Sees every call that computes gradients of trainable variables, and makes gradients overflow."""

from typing import Any, Callable, Iterable, List, Optional, Set

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.ops import gradients_util

from npu_migrate.verify.recorder.closure import closure, is_unconditional, may_join
from npu_migrate.verify.recorder.notes import Gradient, GradientCall, Notes


def watch_gradients(
    notes: Notes, asked_loss: Callable[[], Optional[Any]], injected: Optional[Callable[[], float]]
) -> None:
    """Replaces the function in which all ways to symbolic gradients end.

    Args:
      notes: where the calls are noted.
      asked_loss: the loss that an optimizer was asked to minimize, if one is at it.
      injected: what is added to the gradients of a run, 0 or infinity; None to leave them alone.
    """
    compute = gradients_util._GradientsHelper

    def compute_and_note(ys: Any, xs: Any, *args: Any, **kwargs: Any) -> Any:
        gradients = compute(ys, xs, *args, **kwargs)
        if not _has_trainable(xs) or all(gradient is None for gradient in gradients):
            return gradients
        if injected is not None:
            gradients = _with_overflow(gradients, injected)
        loss = asked_loss()
        is_asked = loss is not None
        if not is_asked or callable(loss):
            loss = ys[0] if isinstance(ys, (list, tuple)) else ys
        numbers = tuple(one.values for one in gradients_of(gradients))
        call = GradientCall(tf.convert_to_tensor(loss), numbers, is_asked)
        _compute_first(call.loss, numbers)
        notes.of(tf.get_default_graph()).gradient_calls.append(call)
        return gradients

    gradients_util._GradientsHelper = compute_and_note


def gradients_of(results: Iterable[Any]) -> List[Gradient]:
    """Those gradients that are there, dense or sparse."""
    return [
        Gradient(result.values, result.indices)
        if isinstance(result, tf.IndexedSlices)
        else Gradient(result)
        for result in results
        if result is not None
    ]


def _compute_first(loss: Any, gradients: Iterable[Any]) -> None:
    """Has runs that compute gradients compute the loss as well, before any variable changes.

    The gradient of a sum, say, needs no sum.
    """
    before = closure([loss.op])
    alone = before - closure(gradient.op for gradient in gradients)
    if not is_unconditional(loss.op) or not all(map(may_join, alone)):
        return
    for gradient in gradients:
        if gradient.op not in before and is_unconditional(gradient.op):
            gradient.op._add_control_input(loss.op)


def storage(variable: Any) -> Any:
    """The operation that stands for a variable in its graph."""
    handle = getattr(variable, "handle", None)
    return variable.op if handle is None else handle.op


def _has_trainable(xs: Any) -> bool:
    xs = xs if isinstance(xs, (list, tuple)) else [xs]
    trainable: Set[Any] = set()
    for variable in tf.trainable_variables():
        trainable.add(storage(variable))
    return any((x.op if isinstance(x, tf.Tensor) else storage(x)) in trainable for x in xs)


def _with_overflow(gradients: List[Any], injected: Callable[[], float]) -> List[Any]:
    dense = [at for at, gradient in enumerate(gradients) if isinstance(gradient, tf.Tensor)]
    there = [at for at, gradient in enumerate(gradients) if gradient is not None]
    chosen = (dense or there)[0]
    changed = list(gradients)
    changed[chosen] = _plus(gradients[chosen], injected)
    return changed


def _plus(gradient: Any, injected: Callable[[], float]) -> Any:
    if isinstance(gradient, tf.IndexedSlices):
        values = _plus(gradient.values, injected)
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    with tf.device("/cpu:0"):
        added = tf.py_func(lambda: np.float32(injected()), [], tf.float32, stateful=True)
    added.set_shape([])
    return gradient + tf.cast(added, gradient.dtype)
