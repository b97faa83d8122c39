"""What a verification found, and the formats that tell it."""

import re
import shlex
from dataclasses import dataclass
from typing import Optional, Tuple

from npu_migrate.launch.script import Program
from npu_migrate.verify.experiment import Experiment, Request
from npu_migrate.verify.migration import Migration
from npu_migrate.verify.verdict import Verdict


@dataclass(frozen=True)
class Verification:
    """What was run, what became of it, and what it says."""

    request: Request
    experiment: Experiment
    migration: Migration
    verdict: Verdict

    @property
    def own_changes(self) -> Optional[Tuple[int, int]]:
        """How many changes in how many files npu-migrate made; None where it did not migrate."""
        if self.request.own is None:
            return None
        return len(self.migration.migrated), len(self.migration.changed)


def own_changes_text(verification: Verification) -> str:
    """The same for people; nothing where npu-migrate did not migrate."""
    if verification.own_changes is None:
        return ""
    changes, files = verification.own_changes
    if not files:
        return "npu-migrate changed nothing: the same script was trained again."
    made = "one change" if changes == 1 else f"{changes} changes"
    return f"npu-migrate made {made} in {'one file' if files == 1 else f'{files} files'}."


_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def readable(line: str) -> str:
    """A line of output without colours and tabs."""
    return _ESCAPES.sub("", line).expandtabs()


def commands(request: Request) -> Tuple[str, str]:
    """The original and the migrated program, with their arguments."""
    migrated = command_of(request.migrated)
    is_own = request.own is not None
    return command_of(request.original), f"{migrated} (by npu-migrate)" if is_own else migrated


def command_of(program: Program) -> str:
    """A program and its arguments as a shell takes them."""
    kind = ["-m", program.name] if program.is_module else [program.name]
    return " ".join(shlex.quote(word) for word in [*kind, *program.arguments])
