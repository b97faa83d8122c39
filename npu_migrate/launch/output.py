"""What the ranks print, under their numbers."""

import collections
import sys
import threading
from typing import Deque, Dict, List

_TAIL = 20


class RankOutput:
    """Prints each line after the number of its rank, and remembers the last ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tails: Dict[int, Deque[str]] = collections.defaultdict(
            lambda: collections.deque(maxlen=_TAIL)
        )

    def line(self, rank: int, text: str, is_error: bool) -> None:
        """Prints one line of a rank, to standard error or standard output."""
        with self._lock:
            self._tails[rank].append(text)
            print(f"[{rank}] {text}", file=sys.stderr if is_error else sys.stdout, flush=True)

    def tail(self, rank: int) -> List[str]:
        """The last lines of a rank."""
        with self._lock:
            return list(self._tails[rank])
