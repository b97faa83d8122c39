"""What became of one run of a script: its recordings, what it printed last, and how it failed."""

from dataclasses import dataclass
from enum import Enum
from typing import Optional, Tuple

from npu_migrate.verify.recording import Recording


class FailureKind(Enum):
    """Why a run tells nothing."""

    CRASHED = "crashed"
    HUNG = "hung"
    NOT_STARTED = "not started"
    NO_STEPS = "no steps"
    NO_LOSS = "no loss"
    SHARED_OUTPUT = "shared output"
    RECORDER = "recorder"


@dataclass(frozen=True)
class RunFailure:
    """Why a run tells nothing.

    Attributes:
      kind: which sort of failure.
      message: one or more sentences, which say what to do where that is known.
      rank: that failed first, if one did.
      lines: the last lines of what failed, where that is not the script.
    """

    kind: FailureKind
    message: str
    rank: Optional[int] = None
    lines: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """One run of one script on all its ranks.

    Attributes:
      recordings: of the ranks, in order.
      tails: for each rank the last lines that it printed.
      failure: None if the run ended well.
    """

    recordings: Tuple[Recording, ...]
    tails: Tuple[Tuple[str, ...], ...] = ()
    failure: Optional[RunFailure] = None
