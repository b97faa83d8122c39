"""Trains the original twice and the migrated script once, under the same conditions."""

import os
import tempfile
import time
from dataclasses import dataclass, replace
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

import npu_migrate
from npu_migrate.launch.job import ending_together
from npu_migrate.launch.script import Program
from npu_migrate.sources import is_inside
from npu_migrate.verify.comparison import Trainings, compare
from npu_migrate.verify.known import adjustments
from npu_migrate.verify.outcome import FailureKind, Outcome, RunFailure
from npu_migrate.verify.overflows import Overflows
from npu_migrate.verify.processes import adopting_orphans
from npu_migrate.verify.progress import Tell, keep_silent
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
    """What became of the runs.

    Attributes:
      original: the first run of the original.
      repeated: its second run, which tells how repeatable the original is.
      migrated: the run of the migrated script.
      shaken: a run of the original from weights that are changed in their last bit; only where the
        migrated training is near the original, but not the same to the last bit. If there is an
        adjusted one, it is that one which is meant.
      adjusted: a run of the original with the known differences of the migration made in it; only
        where there are such and the migrated training is another one.
    """

    original: Outcome
    repeated: Outcome
    migrated: Outcome
    shaken: Outcome = Outcome(())  # noqa: RUF009  frozen
    adjusted: Outcome = Outcome(())  # noqa: RUF009  frozen

    @property
    def trainings(self) -> Trainings:
        """What was recorded."""
        runs = (self.original, self.migrated, self.repeated, self.shaken)
        return Trainings(*(outcome.recordings for outcome in runs))

    @property
    def adjusted_trainings(self) -> Trainings:
        """The same, with the adjusted original in the place of the original."""
        return replace(self.trainings, adjusted=self.adjusted.recordings)


RUNS = ("original", "repeated", "migrated")


def run_experiment(
    request: Request, runs: Sequence[str] = RUNS, tell: Tell = keep_silent
) -> Experiment:
    """Runs original, original again and migrated, each in a working copy of its own.

    Failures of the scripts are in the outcomes; once one run failed, the others may be missing
    (without recordings and failure).

    Args:
      request: what to run.
      runs: which of the three; the others are missing.
      tell: is told now and then how far they are.

    Raises:
      Interrupted: Ctrl-C, or a signal to terminate; all processes were ended.
    """
    with tempfile.TemporaryDirectory(prefix="npu-verify-") as folder, adopting_orphans():
        experimenter = _Experimenter(request, folder, tell)
        outcomes = _each_by_itself(experimenter.run(runs), request)
        done = Experiment(*(outcomes.get(name, _NOT_RUN) for name in RUNS))
        names = adjustments(done.trainings) if _is_apart(done) else ()
        if names:
            done = replace(done, adjusted=experimenter.run(("adjusted",), names)["adjusted"])
        if not _is_near(done):
            return done
        shaken = experimenter.run(("shaken",), names)["shaken"]
    return done if shaken.failure is not None else replace(done, shaken=shaken)


_NOT_RUN = Outcome(())


def _is_near(experiment: Experiment) -> bool:
    """Whether the trainings are as alike as rounding may leave them, but not the same."""
    reference = experiment.adjusted if experiment.adjusted.recordings else experiment.original
    runs = (reference, experiment.repeated, experiment.migrated)
    if any(outcome.failure is not None or not outcome.recordings for outcome in runs):
        return False
    comparison = compare(experiment.adjusted_trainings)
    is_near = comparison.is_same and not comparison.is_bitwise
    return is_near and comparison.repeatable_until != 0


def _is_apart(experiment: Experiment) -> bool:
    """Whether the migrated training is another one."""
    comparison = compare(experiment.trainings)
    return comparison.first is not None or comparison.length is not None


class _Experimenter:
    """Runs the trials of a request, several at a time if there are cores for them.

    Args:
      request: what to run.
      folder: an empty folder to work in.
      tell: is told now and then how far the runs are.
    """

    def __init__(self, request: Request, folder: str, tell: Tell):
        self._request = request
        self._folder = folder
        self._tell = tell
        self._at_once = max(1, (os.cpu_count() or 1) // request.processes)
        os.mkdir(os.path.join(folder, _TOOL))
        os.symlink(_PACKAGE, os.path.join(folder, _TOOL, os.path.basename(_PACKAGE)))
        self._count = 0

    def run(self, runs: Sequence[str], adjusted: Sequence[str] = ()) -> Dict[str, Outcome]:
        """Outcomes by name; after a failure that tells nothing the others are ended.

        Args:
          runs: names.
          adjusted: names of facts whose known differences are made in these runs.
        """
        waiting = list(runs)
        running: Dict[str, RunningTrial] = {}
        outcomes: Dict[str, Outcome] = {}
        with ending_together() as start:
            try:
                while waiting or running:
                    while waiting and len(running) < self._at_once:
                        running[waiting[0]] = RunningTrial(self._trial(waiting[0], adjusted), start)
                        del waiting[0]
                    for name in [name for name, trial in running.items() if trial.poll()]:
                        outcomes[name] = running.pop(name).end()
                    self._tell({name: trial.steps for name, trial in running.items()})
                    _limit(running, outcomes.get("original"))
                    failed = [name for name in outcomes if outcomes[name].failure is not None]
                    if any(not _is_crash(outcomes[name]) for name in failed):
                        return outcomes
                    if failed and running and self._at_once > 1:
                        # Perhaps it failed for another that ran beside it: for a port, say.
                        _end(running)
                        outcomes = {n: one for n, one in outcomes.items() if one.failure is None}
                        waiting = [name for name in runs if name not in outcomes]
                        self._at_once = 1
                    elif any(not _has_steps(outcomes[name]) for name in failed):
                        return outcomes
                    time.sleep(_POLL)
            except TooMuchToCopy as error:
                failure = RunFailure(FailureKind.NOT_STARTED, str(error))
                return {"original": Outcome((), failure=failure)}
            finally:
                _end(running)
        return outcomes

    def _trial(self, name: str, adjusted: Sequence[str]) -> Trial:
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
            is_shaken=name == "shaken",
            adjustments=tuple(adjusted),
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


def _has_steps(outcome: Outcome) -> bool:
    """Whether there is something to compare before a crash."""
    return any(recording.steps for recording in outcome.recordings)


def _limit(running: Dict[str, RunningTrial], original: Optional[Outcome]) -> None:
    """Lets no other run go on for ever where the original has ended by itself."""
    if original is None or any(recording.end is None for recording in original.recordings):
        return
    steps = max((len(recording.steps) for recording in original.recordings), default=0)
    for trial in running.values():
        trial.limit(steps)


def _end(running: Dict[str, RunningTrial]) -> None:
    for name in list(running):
        running.pop(name).end()


def _each_by_itself(outcomes: Dict[str, Outcome], request: Request) -> Dict[str, Outcome]:
    """The outcomes; of runs that did not start alike only that one did not."""
    for name in (name for name in ("repeated", "migrated", "original") if name in outcomes):
        place = _shared(name, outcomes)
        if place is not None:
            message = f"{name}: {_SHARED.format(place or 'some place', _remedy(place, request))}"
            failure = RunFailure(FailureKind.SHARED_OUTPUT, message)
            return {name: Outcome((), failure=failure)}
    return outcomes


def _shared(name: str, outcomes: Mapping[str, Outcome]) -> Optional[str]:
    """The folder with what a run found of another one; nothing of it is known but that it is."""
    read = {file for recording in outcomes[name].recordings for file in recording.read}
    others = [one for other, one in outcomes.items() if other != name]
    wrote = {file for one in others for recording in one.recordings for file in recording.wrote}
    if read & wrote:
        return os.path.dirname(min(read & wrote).rsplit(" ", 2)[0])
    if name == "repeated" and "original" in outcomes:
        firsts = [_first_steps(outcomes[run]) for run in ("original", "repeated")]
        if any(None not in pair and pair[0] != pair[1] for pair in zip(*firsts)):
            return ""
    return None


def _first_steps(outcome: Outcome) -> List[Optional[int]]:
    """The global step of each rank after its first step."""
    return [r.steps[0].global_step if r.steps else None for r in outcome.recordings]


def _remedy(place: str, request: Request) -> str:
    if not place:
        return _NAME_IT
    words = [word.rpartition("=")[2] for word in request.original.arguments]
    named = [w for w in words if os.sep in w and is_inside(place, os.path.realpath(w))]
    return f"Say --output {named[0]}, and each has its own." if named else _NAME_IT


_SHARED = (
    "it went on from what another run of this comparison had left in {}, so that they can't be "
    "compared. {}"
)
_NAME_IT = (
    "Have the script take that folder from an argument, such as --model_dir, and each run gets one "
    "of its own; a folder below the current one will do as well."
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
