"""Settles what a graph leaves open, before sessions see it."""

import threading
import traceback
import weakref
from typing import Any

from npu_migrate.verify.recorder.journal import Journal
from npu_migrate.verify.recorder.notes import Notes
from npu_migrate.verify.recorder.step_order import order_steps


class Order:
    """Adds control edges to graphs.

    Args:
      notes: of what was seen while the graphs were built.
      journal: learns of races.
    """

    def __init__(self, notes: Notes, journal: Journal):
        self._notes = notes
        self._journal = journal
        self._lock = threading.Lock()
        #: For each graph the number of operations that its sessions may have seen.
        self._seen: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def settle(self, graph: Any) -> None:
        """To be called before each run."""
        with self._lock:
            seen = self._seen.get(graph, 0)
            if seen == graph._last_id:
                return
            self._seen[graph] = graph._last_id
            notes = self._notes.of(graph)
            try:
                for race in order_steps(graph, notes, seen):
                    self._journal.fact("step_race", race)
            except Exception:
                self._journal.fact("recorder_error", traceback.format_exc())
