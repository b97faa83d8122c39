"""What was found in a file, and what becomes of it."""

from dataclasses import dataclass, replace
from enum import Enum


class Status(str, Enum):
    """What became of a finding."""

    MIGRATED = "migrated"
    """The edits of the finding do all that is needed."""
    MANUAL = "manual"
    """A person must decide; the message says what and how."""
    UNSUPPORTED = "unsupported"
    """The NPU has no counterpart."""
    NOTE = "note"
    """Worth knowing, but there is nothing to do."""

    @property
    def is_left(self) -> bool:
        """Whether a person has something to do."""
        return self in (Status.MANUAL, Status.UNSUPPORTED)


@dataclass(frozen=True)
class Finding:
    """One thing in one place that concerns the move to the NPU.

    ``line`` counts from 1, ``column`` from 1 in characters. ``symbol`` is the qualified name that
    the finding rests on (``tensorflow.contrib.mixed_precision.LossScaleOptimizer``). ``assumed``
    says that the name was taken by convention or that only some of its values are known.
    ``remedy`` tells a person what to do; empty where nothing is left to do.
    """

    code: str
    name: str
    path: str
    line: int
    column: int
    symbol: str
    status: Status
    message: str
    assumed: bool = False
    remedy: str = ""
    cell: int = 0
    """The cell of a notebook, from 1 among all its cells; ``line`` counts in it."""

    @property
    def place(self) -> str:
        """Path, cell, line and column, as editors and terminals take it."""
        return f"{place(self.path, self.cell)}:{self.line}:{self.column}"

    def left(self, reason: str, remedy: str = "make this change by hand") -> "Finding":
        """The finding where its edits can't be made after all; what was left anyway stays so."""
        if self.status is not Status.MIGRATED:
            return self
        message = f"{self.message} (not done: {reason})"
        return replace(self, status=Status.MANUAL, message=message, remedy=remedy)


def place(path: str, cell: int) -> str:
    """A file, or a cell of a notebook."""
    return f"{path}:cell {cell}" if cell else path
