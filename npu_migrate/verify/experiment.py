"""Trains the original twice and the migrated script once, under the same conditions."""

from dataclasses import dataclass
from typing import Optional, Tuple

from npu_migrate.launch.script import Program
from npu_migrate.verify.outcome import Outcome
from npu_migrate.verify.overflows import Overflows


@dataclass(frozen=True)
class Request:
    """What to run, and how.

    Attributes:
      original: script or module, with its arguments.
      migrated: likewise; usually with the same arguments.
      processes: how many ranks train together.
      steps: after how many steps to stop; None to let the scripts end by themselves.
      overflows: steps that are made to overflow.
      loss: name of the tensor to take for the loss; None to find it.
      outputs: further paths, besides those that look like it, that the scripts write to.
      timeout: seconds without a step after which a run counts as hung.
      python: interpreter that has TensorFlow 1.15; None for the one of this process.
    """

    original: Program
    migrated: Program
    processes: int = 1
    steps: Optional[int] = None
    overflows: Overflows = Overflows()
    loss: Optional[str] = None
    outputs: Tuple[str, ...] = ()
    timeout: float = 600.0
    python: Optional[str] = None


@dataclass(frozen=True)
class Experiment:
    """What became of the three runs.

    Attributes:
      original: the first run of the original.
      repeated: its second run, which tells how repeatable the original is.
      migrated: the run of the migrated script.
    """

    original: Outcome
    repeated: Outcome
    migrated: Outcome


def run_experiment(request: Request) -> Experiment:
    """Runs original, original again and migrated, each in a working copy of its own.

    Failures of the scripts are in the outcomes; once one run failed, the others may be missing
    (without recordings and failure).

    Raises:
      Interrupted: Ctrl-C, or a signal to terminate; all processes were ended.
    """
    raise NotImplementedError
