"""Where scalars of a training can be read: a number, a variable, or a tensor of the graph."""

from typing import Any, Optional, Tuple

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import tensor_util
from tensorflow.python.keras.optimizer_v2 import optimizer_v2

from npu_migrate.verify.recorder.closure import closure, is_unconditional, may_join
from npu_migrate.verify.recorder.gradients import storage

_PASSING_ON = ("Identity", "ReadVariableOp", "Cast", "Enter", "Switch", "RefSwitch")
_RATES = ("_learning_rate_tensor", "_lr_t", "learning_rate", "_learning_rate", "_lr", "lr")


def loss_scale_of(optimizer: Any) -> Optional[Any]:
    """The loss scale of an optimizer: a number, a variable or a tensor; None without one."""
    manager = vars(optimizer).get("_loss_scale_manager")
    if manager is not None:
        return manager.get_loss_scale()
    loss_scale = vars(optimizer).get("_loss_scale")
    for name in ("_current_loss_scale", "_loss_scale_value"):
        if hasattr(loss_scale, name):
            return getattr(loss_scale, name)
    return None


def readable(scale: Any) -> Optional[Any]:
    """A number, a variable, or a tensor that can be computed of variables alone, if it is one."""
    found = _number_or_variable(scale)
    if found is None and isinstance(scale, tf.Tensor):
        needs_nothing = all(map(may_join, closure([scale.op])))
        return scale if needs_nothing and is_unconditional(scale.op) else None
    return found


def learning_rates_of(optimizer: Any) -> Tuple[Any, ...]:
    """Numbers, variables or tensors, the best first."""
    if isinstance(optimizer, optimizer_v2.OptimizerV2):
        found = [optimizer._hyper.get("learning_rate")]
    else:
        found = [vars(optimizer).get(name) for name in _RATES]
    kinds = (int, float, tf.Tensor, tf.Variable)
    return tuple(rate for rate in map(_single, found) if isinstance(rate, kinds))


def global_step_of(graph: Any, optimizer: Any, given: Optional[Any]) -> Optional[Any]:
    """The variable that counts the steps of a graph."""
    if isinstance(optimizer, optimizer_v2.OptimizerV2):
        return _single(optimizer.iterations)
    # Without a collection that names it, the graph knows only the tensor of that name.
    of_graph = _number_or_variable(tf.train.get_global_step(graph))
    return _single(given) if of_graph is None else of_graph


def _single(value: Any) -> Any:
    """The first variable of those that a distribution strategy keeps, one a device."""
    return getattr(value, "primary", value)


def _number_or_variable(value: Any) -> Optional[Any]:
    if isinstance(value, (int, float, tf.Variable)):
        return value
    if not isinstance(value, tf.Tensor):
        return None
    constant = tensor_util.constant_value(value)
    if constant is not None:
        return float(constant)
    operation = value.op
    while operation.type in _PASSING_ON:
        operation = operation.inputs[0].op
    for variable in operation.graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES):
        if storage(variable) is operation:
            return variable
    return None
