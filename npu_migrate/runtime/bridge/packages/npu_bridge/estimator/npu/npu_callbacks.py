"""Stand-in for the vendor's module of this name: callbacks for Keras."""

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.keras import backend

from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.ops_adapter import broadcast_variables


class NPUBroadcastGlobalVariablesCallback(tf.keras.callbacks.Callback):
    """Broadcasts the variables of Keras's session, before the first batch.

    Args:
      root_rank: whose values count.
    """

    def __init__(self, root_rank: int):
        super().__init__()
        self._root_rank = root_rank
        self._done = False

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """See base class."""
        if self._done:
            return
        self._done = True
        if current_ranks().size > 1:
            session = backend.get_session()  # initialises the variables
            variables = backend._get_variables(backend.get_graph())
            variables = sorted(variables, key=lambda var: var.name)  # the same order on every rank
            ready = [var for var in variables if getattr(var, "_keras_initialized", False)]
            session.run(broadcast_variables(ready, self._root_rank))
