"""What a verification found, and the formats that tell it."""

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


def command_of(program: Program) -> str:
    """A program and its arguments as a shell takes them."""
    import shlex

    kind = ["-m", program.name] if program.is_module else [program.name]
    return " ".join(shlex.quote(word) for word in [*kind, *program.arguments])
