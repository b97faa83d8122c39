"""A scalar that the session remembers between runs, and nothing else knows of."""

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import resource_variable_ops


class UnsavedScalar:
    """State of a graph that stands in no collection of variables.

    No initialiser has to run before its first use, no checkpoint mentions it, no broadcast sends
    it, and each session has its own.

    Args:
      name: name of the state, unique in its graph.
      default: value until the first assignment.
      dtype: type of the value.
    """

    def __init__(self, name: str, default: float, dtype: tf.DType):
        self._name = name
        self._default = default
        self._dtype = dtype

    def read(self) -> tf.Tensor:
        """The value now; a scalar tensor."""
        handle = self._handle()
        return tf.cond(
            resource_variable_ops.var_is_initialized_op(handle),
            lambda: resource_variable_ops.read_variable_op(handle, self._dtype),
            lambda: tf.constant(self._default, self._dtype),
        )

    def assign(self, value: Any) -> tf.Operation:
        """An operation that stores a value."""
        value = tf.convert_to_tensor(value, self._dtype)
        return resource_variable_ops.assign_variable_op(self._handle(), value)

    def _handle(self) -> tf.Tensor:
        with tf.device("/cpu:0"):
            return resource_variable_ops.var_handle_op(
                dtype=self._dtype, shape=[], shared_name=self._name
            )
