"""What a verification found, and the formats that tell it."""

import re
import shlex
from dataclasses import dataclass

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


_COPY = re.compile(r"[^\s\"']*/npu-verify-[^/]+/(?:original|repeated|migrated)\d*/[^/]+/")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def readable(line: str) -> str:
    """A line of output without colours, and with paths as they are outside of the working copy."""
    return _COPY.sub("", _ESCAPES.sub("", line))


def command_of(program: Program) -> str:
    """A program and its arguments as a shell takes them."""
    kind = ["-m", program.name] if program.is_module else [program.name]
    return " ".join(shlex.quote(word) for word in [*kind, *program.arguments])
