"""Stand-in for the vendor's module of this name: callbacks for Keras."""

from typing import Any

from npu_migrate.runtime.ops_adapter.keras.callbacks import BroadcastGlobalVariablesCallback


class NPUBroadcastGlobalVariablesCallback(BroadcastGlobalVariablesCallback):
    """Broadcasts the variables of Keras's session, before the first batch.

    Args:
      root_rank: whose values count.
    """

    def __init__(self, root_rank: int):
        super().__init__(root_rank)

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """See base class."""
        self.broadcast()
