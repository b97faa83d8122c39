"""Stand-in for the vendor's module of this name."""

import os
from typing import Any, Dict, List

import tensorflow.compat.v1 as tf

from npu_migrate.launch.environment import RankEnvironmentError
from npu_migrate.runtime.log import log

_values: Dict[str, Any] = {}


def get_ranksize() -> str:
    """How many processes train together, as a string, from RANK_SIZE or CM_WORKER_SIZE.

    Raises:
      ValueError: both are set.
    """
    if "RANK_SIZE" in os.environ and "CM_WORKER_SIZE" in os.environ:
        raise RankEnvironmentError("RANK_SIZE and CM_WORKER_SIZE are both set: unset one of them")
    return os.environ.get("RANK_SIZE") or os.environ.get("CM_WORKER_SIZE", "1")


def global_dict_init() -> None:
    """Forgets all values."""
    _values.clear()


def set_value(key: str, value: Any) -> None:
    """Remembers a value."""
    _values[key] = value


def get_value(key: str, def_value: Any = None) -> Any:
    """A value remembered before, or the default."""
    return _values.get(key, def_value)


def set_iteration_per_loop(
    sess: tf.Session, train_op: tf.Operation, iterations_per_loop: int = 1
) -> tf.Operation:
    """The training operation under the name that the NPU repeats in each `session.run`.

    Here it runs once in each `session.run`, which a warning says.
    """
    del sess
    check_positive_integer(iterations_per_loop, "iterations_per_loop")
    return train_op if iterations_per_loop == 1 else _once(train_op, iterations_per_loop)


class IterationPerLoop:
    """The two steps of `set_iteration_per_loop`, for sessions that are made later."""

    def __init__(self) -> None:
        self._train_op = None

    def create_iteration_per_loop_var(self, train_op: tf.Operation) -> tf.Operation:
        """The training operation under the name that the NPU repeats."""
        return tf.group(train_op, name="IterationOp")

    def load_iteration_per_loop_var(self, sess: tf.Session, iterations_per_loop: int = 1) -> None:
        """Sets how often the NPU repeats it."""
        del sess
        check_positive_integer(iterations_per_loop, "iterations_per_loop")
        if iterations_per_loop > 1:
            _warn_of_iterations(iterations_per_loop)


def variable_initializer_in_host(var_list: List[Any]) -> tf.Operation:
    """Initialises variables on the host."""
    return tf.initializers.variables(var_list, name="var_in_host")


def check_positive_integer(value: Any, name: str) -> None:
    """Raises TypeError or ValueError unless the value is a whole number above zero."""
    if not isinstance(value, int):
        raise TypeError(f"{name} must be int, not {type(value).__name__}")
    if value <= 0:
        raise ValueError(f"{name} must be positive, not {value}")


def _once(train_op: tf.Operation, iterations_per_loop: int) -> tf.Operation:
    _warn_of_iterations(iterations_per_loop)
    return tf.group(train_op, name="IterationOp")


def _warn_of_iterations(iterations_per_loop: int) -> None:
    log.warning(
        "iterations_per_loop is %d: on the NPU each session.run trains so many steps, here one",
        iterations_per_loop,
    )
