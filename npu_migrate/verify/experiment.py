"""Trains the original twice and the migrated script once, under the same conditions."""

import os
import tempfile
import time
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Tuple

import npu_migrate
from npu_migrate.launch.job import ending_together
from npu_migrate.launch.script import Program
from npu_migrate.verify.outcome import Outcome
from npu_migrate.verify.overflows import Overflows
from npu_migrate.verify.recorder.settings import Settings
from npu_migrate.verify.trial import RunningTrial, Trial
from npu_migrate.verify.workspace import Workspace

_POLL = 0.1


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
    with tempfile.TemporaryDirectory(prefix="npu-verify-") as folder:
        trials = _trials(request, folder)
        outcomes = _run(trials, at_once=_at_once(request.processes))
    return Experiment(*(outcomes.get(trial.name, _NOT_RUN) for trial in trials))


_NOT_RUN = Outcome(())


def _trials(request: Request, folder: str) -> List[Trial]:
    environment = _environment(folder)
    programs = {
        "original": request.original,
        "repeated": request.original,
        "migrated": request.migrated,
    }
    trials = []
    for name, program in programs.items():
        workspace = Workspace(os.path.join(folder, name), os.getcwd(), request.outputs)
        settings = Settings(
            workspace.recordings,
            is_original=name != "migrated",
            steps=request.steps,
            overflows=request.overflows,
            loss=request.loss,
        )
        trials.append(
            Trial(
                name,
                workspace.program(program),
                workspace.folder,
                settings,
                request.processes,
                request.timeout,
                request.python,
                environment,
            )
        )
    return trials


def _environment(folder: str) -> Mapping[str, str]:
    """What the runs find besides the variables of this process.

    This package is put on the path alone: the interpreter may not be the one of this process.
    """
    tool = os.path.join(folder, "tool")
    os.mkdir(tool)
    os.symlink(os.path.dirname(npu_migrate.__file__), os.path.join(tool, "npu_migrate"))
    path = [tool, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2"),
    }


def _at_once(processes: int) -> int:
    return max(1, (os.cpu_count() or 1) // processes)


def _run(trials: List[Trial], at_once: int) -> Dict[str, Outcome]:
    """Runs trials; after a failure no more are started, and those that run are ended."""
    waiting = list(trials)
    running: Dict[str, RunningTrial] = {}
    outcomes: Dict[str, Outcome] = {}
    with ending_together() as start:
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    trial = waiting.pop(0)
                    running[trial.name] = RunningTrial(trial, start)
                for name in [name for name, trial in running.items() if trial.poll()]:
                    outcomes[name] = running.pop(name).end()
                    if outcomes[name].failure is not None:
                        return outcomes
                time.sleep(_POLL)
        finally:
            for going_on in running.values():
                going_on.end()
    return outcomes
