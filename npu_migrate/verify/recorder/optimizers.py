"""Sees what optimizers are asked to minimize, and the gradients that the innermost one applies."""

import itertools
from typing import Any, Callable, Iterable, Iterator, List, NamedTuple, Optional, Set, Tuple

import tensorflow.compat.v1 as tf
from tensorflow.python.keras.optimizer_v2 import optimizer_v2
from tensorflow.python.training import optimizer as optimizer_v1

from npu_migrate.verify.recorder.gradients import gradients_of
from npu_migrate.verify.recorder.notes import Application, Notes
from npu_migrate.verify.recorder.scalars import loss_scale_of


class _Call(NamedTuple):
    """A call of `apply_gradients` that goes on.

    Attributes:
      optimizer: whose it is.
      global_step: that it was given, or None.
      loss_scale: of the optimizer, as it is outside of the branches that the call goes into.
    """

    optimizer: Any
    global_step: Optional[Any]
    loss_scale: Optional[Any]


class OptimizerWatch:
    """Wraps the methods of each optimizer that is made from now on.

    Those of the instance, since subclasses override them without calling the base class.

    Args:
      notes: where the calls are noted.
    """

    def __init__(self, notes: Notes):
        self._notes = notes
        self._losses: List[Any] = []
        self._around: List[_Call] = []
        self._innermost = False
        self._context: Optional[Any] = None

    def install(self) -> None:
        """Starts to watch."""
        for base in (optimizer_v1.Optimizer, optimizer_v2.OptimizerV2):
            self._watch_instances(base)

    def asked_loss(self) -> Optional[Any]:
        """The loss that the outermost optimizer at work was asked to minimize."""
        return self._losses[0] if self._losses else None

    def _watch_instances(self, base: Any) -> None:
        """`__init__` would not do: not every subclass calls it."""

        def make_and_watch(cls: Any, *args: Any, **kwargs: Any) -> Any:
            del args, kwargs
            optimizer = object.__new__(cls)
            for method, wrapped in (
                ("compute_gradients", self._computing),
                ("get_gradients", self._computing),
                ("apply_gradients", self._applying),
            ):
                if hasattr(cls, method):
                    bound = getattr(optimizer, method)
                    object.__setattr__(optimizer, method, wrapped(optimizer, bound))
            return optimizer

        base.__new__ = make_and_watch

    def _computing(self, optimizer: Any, compute: Callable[..., Any]) -> Callable[..., Any]:
        del optimizer

        def compute_gradients(loss: Any, *args: Any, **kwargs: Any) -> Any:
            self._losses.append(loss)
            try:
                return compute(loss, *args, **kwargs)
            finally:
                self._losses.pop()

        return compute_gradients

    def _applying(self, optimizer: Any, apply: Callable[..., Any]) -> Callable[..., Any]:
        def apply_gradients(grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            graph = tf.get_default_graph()
            if tf.executing_eagerly():
                return apply(grads_and_vars, *args, **kwargs)
            grads_and_vars, pairs = _both(grads_and_vars)
            before, first = _variables(), graph._last_id
            if not self._around:
                self._context = graph._get_control_flow_context()
            step, scale = _global_step(optimizer, args, kwargs), loss_scale_of(optimizer)
            self._around.append(_Call(optimizer, step, scale))
            self._innermost = True
            try:
                done = apply(grads_and_vars, *args, **kwargs)
            finally:
                around = tuple(self._around)
                self._around.pop()
            if self._innermost:
                self._innermost = False
                application = Application(
                    optimizer,
                    tuple(call.optimizer for call in around),
                    tuple(gradients_of(pair[0] for pair in pairs)),
                    _outermost(call.global_step for call in around),
                    _outermost(call.loss_scale for call in around),
                    getattr(done, "op", done),
                    _variables() - before,
                    (first, graph._last_id),
                    self._context,
                )
                self._notes.of(graph).applications.append(application)
            return done

        return apply_gradients


def _outermost(values: Iterable[Any]) -> Optional[Any]:
    return next((value for value in values if value is not None), None)


def _both(pairs: Any) -> Tuple[Any, Iterator[Any]]:
    """The argument as it is for the optimizer, and once more to look at.

    An iterator stays one, so that a second walk over it finds nothing, as without a recorder.
    """
    if iter(pairs) is not pairs:
        return pairs, iter(pairs)
    first, second = itertools.tee(pairs)
    return first, second


def _variables() -> Set[str]:
    return {variable.name for variable in tf.global_variables()}


def _global_step(optimizer: Any, args: Tuple[Any, ...], kwargs: Any) -> Optional[Any]:
    if not isinstance(optimizer, optimizer_v1.Optimizer):
        return None
    return args[0] if args else kwargs.get("global_step")
