"""Makes all ranks start from the same variables."""

from typing import Any, Iterable, Optional

import tensorflow.compat.v1 as tf

from npu_migrate.runtime.ops_adapter.collectives import broadcast


def broadcast_variables(
    variables: Iterable[Any], root_rank: int, process_set: Any = None, inplace: bool = False
) -> tf.Operation:
    """An operation that gives every variable the value that it has on one rank.

    Args:
      variables: reference or resource variables, the same on every rank.
      root_rank: whose values count.
      process_set: only None.
      inplace: ignored.
    """
    del inplace
    sent = [
        tf.assign(var, broadcast(_value(var), root_rank, process_set=process_set))
        for var in variables
    ]
    return tf.group(*sent)


def broadcast_global_variables(root_rank: int) -> tf.Operation:
    """`broadcast_variables` of all global variables of the current graph."""
    return broadcast_variables(tf.global_variables(), root_rank)


class BroadcastGlobalVariablesHook(tf.train.SessionRunHook):
    """Broadcasts all global variables once, when the session has been made.

    Args:
      root_rank: whose values count.
      device: ignored.
    """

    def __init__(self, root_rank: int, device: str = ""):
        super().__init__()
        del device
        self._root_rank = root_rank
        self._broadcast: Optional[tf.Operation] = None

    def begin(self) -> None:
        """See base class."""
        if self._broadcast is None or self._broadcast.graph is not tf.get_default_graph():
            self._broadcast = broadcast_global_variables(self._root_rank)

    def after_create_session(self, session: tf.Session, coord: Any) -> None:
        """See base class."""
        session.run(self._broadcast)


def _value(var: Any) -> tf.Tensor:
    return var.read_value() if hasattr(var, "read_value") else tf.convert_to_tensor(var)
