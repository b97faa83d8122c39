"""What a verification found, and the formats that tell it."""

import re
import shlex
from dataclasses import dataclass
from typing import Tuple

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
