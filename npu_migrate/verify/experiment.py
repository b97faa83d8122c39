"""Trains the original twice and the migrated script once, under the same conditions."""

import os
import tempfile
import time
from dataclasses import dataclass, replace
from typing import Dict, Mapping, Optional, Sequence, Tuple

import npu_migrate
from npu_migrate.launch.job import ending_together
from npu_migrate.launch.script import Program
from npu_migrate.verify.outcome import FailureKind, Outcome, RunFailure
from npu_migrate.verify.overflows import Overflows
from npu_migrate.verify.recorder.settings import Settings
from npu_migrate.verify.trial import RunningTrial, Trial
from npu_migrate.verify.workspace import Project, TooMuchToCopy, Workspace

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
      project: what the programs have outside of the current folder.
      own: the same for the migrated program where npu-migrate makes it; None where it is given.
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
    project: Project = Project()
    own: Optional[Project] = None


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


RUNS = ("original", "repeated", "migrated")


def run_experiment(request: Request, runs: Sequence[str] = RUNS) -> Experiment:
    """Runs original, original again and migrated, each in a working copy of its own.

    Failures of the scripts are in the outcomes; once one run failed, the others may be missing
    (without recordings and failure).

    Args:
      request: what to run.
      runs: which of the three; the others are missing.

    Raises:
      Interrupted: Ctrl-C, or a signal to terminate; all processes were ended.
    """
    with tempfile.TemporaryDirectory(prefix="npu-verify-") as folder:
        experimenter = _Experimenter(request, folder)
        outcomes = experimenter.run(runs)
    original, repeated, migrated = (outcomes.get(name, _NOT_RUN) for name in RUNS)
    return Experiment(original, _from_the_start(original, repeated), migrated)


_NOT_RUN = Outcome(())


class _Experimenter:
    """Runs the trials of a request, several at a time if there are cores for them.

    Args:
      request: what to run.
      folder: an empty folder to work in.
    """

    def __init__(self, request: Request, folder: str):
        self._request = request
        self._folder = folder
        self._at_once = max(1, (os.cpu_count() or 1) // request.processes)
        os.mkdir(os.path.join(folder, _TOOL))
        os.symlink(_PACKAGE, os.path.join(folder, _TOOL, os.path.basename(_PACKAGE)))
        self._count = 0

    def run(self, runs: Sequence[str]) -> Dict[str, Outcome]:
        """Outcomes by name; after a failure no more runs are started, and the others are ended."""
        waiting = list(runs)
        running: Dict[str, RunningTrial] = {}
        outcomes: Dict[str, Outcome] = {}
        with ending_together() as start:
            try:
                while waiting or running:
                    while waiting and len(running) < self._at_once:
                        running[waiting[0]] = RunningTrial(self._trial(waiting[0]), start)
                        del waiting[0]
                    for name in [name for name, trial in running.items() if trial.poll()]:
                        outcomes[name] = running.pop(name).end()
                    failed = [name for name in outcomes if outcomes[name].failure is not None]
                    if failed and not (running and _is_crash(outcomes[failed[0]])):
                        return outcomes
                    if failed:  # perhaps for another that ran beside it: for a port, say
                        _end(running)
                        outcomes = {n: one for n, one in outcomes.items() if one.failure is None}
                        waiting = [name for name in runs if name not in outcomes]
                        self._at_once = 1
                    time.sleep(_POLL)
            except TooMuchToCopy as error:
                failure = RunFailure(FailureKind.NOT_STARTED, str(error))
                return {"original": Outcome((), failure=failure)}
            finally:
                _end(running)
        return outcomes

    def _trial(self, name: str) -> Trial:
        request = self._request
        self._count += 1
        folder = os.path.join(self._folder, f"{name}{self._count}")
        is_original = name != "migrated"
        project = request.project if is_original else request.own or request.project
        workspace = Workspace(folder, os.getcwd(), request.outputs, project)
        settings = Settings(
            workspace.recordings,
            is_original=is_original,
            steps=request.steps,
            overflows=request.overflows,
            loss=request.loss,
            tree=workspace.tree,
            roots=workspace.roots,
        )
        return Trial(
            name,
            workspace.program(request.original if is_original else request.migrated),
            workspace.folder,
            settings,
            request.processes,
            request.timeout,
            request.python,
            _environment(self._folder, workspace),
            workspace.before,
        )


def _is_crash(outcome: Outcome) -> bool:
    return outcome.failure is not None and outcome.failure.kind is FailureKind.CRASHED


def _end(running: Dict[str, RunningTrial]) -> None:
    for name in list(running):
        running.pop(name).end()


def _from_the_start(original: Outcome, repeated: Outcome) -> Outcome:
    """The repeated run, which failed if it went on where the first had ended."""
    for one, other in zip(original.recordings, repeated.recordings):
        firsts = [recording.steps[0].global_step for recording in (one, other) if recording.steps]
        if len(firsts) == 2 and None not in firsts and firsts[0] != firsts[1]:
            failure = RunFailure(FailureKind.SHARED_OUTPUT, _SHARED.format(*firsts))
            return replace(repeated, failure=repeated.failure or failure)
    return repeated


_SHARED = (
    "original: its first run started at step {} and its second at step {}: it leaves checkpoints "
    "at a place that is neither below the current folder nor named by an argument, where all runs "
    "find them. Have the place named by an argument."
)


_TOOL = "tool"
_PACKAGE = os.path.dirname(npu_migrate.__file__)


def _environment(folder: str, workspace: Workspace) -> Mapping[str, str]:
    """What a run finds besides the variables of this process.

    This package is put on the path alone: the interpreter may not be the one of this process.
    """
    path = [os.path.join(folder, _TOOL)]
    if os.environ.get("PYTHONPATH"):
        path.append(workspace.python_path(os.environ["PYTHONPATH"]))
    return {
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "HOROVOD_FUSION_THRESHOLD": "0",  # what is added up in which order is left to chance else
        "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2"),
    }
