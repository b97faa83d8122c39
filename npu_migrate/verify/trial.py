"""One run of one script on all its ranks, with a recorder in each, watched from outside."""

import collections
import os
import re
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, replace
from typing import Callable, Dict, List, Mapping, Optional, Tuple

from npu_migrate.launch.horovod_job import launcher_command, line_handler
from npu_migrate.launch.job import FirstFailure, signal_name
from npu_migrate.launch.script import Program
from npu_migrate.verify.last_words import LastWords
from npu_migrate.verify.outcome import FailureKind, Outcome, RunFailure
from npu_migrate.verify.processes import MARK, end_all
from npu_migrate.verify.recorder.settings import Settings
from npu_migrate.verify.recording import Recording, read_recording

_RECORDER = "npu_migrate.verify.recorder.process"
_LONGEST_ENTRY = 4096
_LAUNCHER = -1
_NO_LOSS = "no loss was found ({}); name its tensor with --loss"
_NO_SUCH_LOSS = "what --loss names is not computed: {}"
_END = '"kind": "end"'
_NUMBER = re.compile(r'"kind": "step", "number": (\d+)')
#: Seconds that a script gets to be gone after its last rank said that it had ended.
_FAREWELL = 5.0

_Start = Callable[..., "subprocess.Popen[str]"]


@dataclass(frozen=True)
class Trial:
    """What to run.

    Attributes:
      name: `original`, `repeated` or `migrated`.
      program: script or module, with arguments that fit the working copy.
      folder: working copy of the current folder.
      settings: of the recorders.
      processes: how many ranks.
      timeout: seconds without a step after which the run counts as hung.
      python: interpreter; None for the one of this process.
      environment: variables besides those of this process.
      before: tells what of its output means in words of the user, who knows no working copy.
    """

    name: str
    program: Program
    folder: str
    settings: Settings
    processes: int
    timeout: float
    python: Optional[str]
    environment: Mapping[str, str]
    before: Callable[[str], str] = str

    @property
    def _command(self) -> List[str]:
        python = self.python or sys.executable
        kind = ["-m"] if self.program.is_module else []
        recorder = [python, "-m", _RECORDER, self.settings.to_json()]
        command = [*recorder, *kind, self.program.name, *self.program.arguments]
        if self.processes == 1:
            return command
        return launcher_command(command, self.processes, python=self.python)


class RunningTrial:
    """A run that goes on.

    Args:
      trial: what to run.
      start: of `ending_together`.
    """

    def __init__(self, trial: Trial, start: _Start):
        self._trial = trial
        self._mark = uuid.uuid4().hex
        self._first = FirstFailure()
        self._words: Dict[int, LastWords] = collections.defaultdict(LastWords)
        self.steps = 0
        """How many steps the rank that is furthest has done."""
        self._sizes: Tuple[int, ...] = ()
        self._moved = time.monotonic()
        self._ended: Optional[float] = None
        self._most: Optional[int] = None
        self._is_outrun = False
        self._failure: Optional[RunFailure] = None
        on_output, on_error = self._handlers()
        variables = {**trial.environment, MARK: self._mark}
        self._process = start(trial._command, variables, on_output, on_error, trial.folder)

    def limit(self, steps: int) -> None:
        """Has the run be over once all ranks went on after so many steps."""
        self._most = steps

    def poll(self) -> bool:
        """Whether the run is over; to be asked now and then."""
        now = time.monotonic()
        code = self._process.poll()
        sizes = tuple(_size(path) for path in self._paths())
        if sizes != self._sizes:
            self._sizes, self._moved = sizes, now
            self.steps = max([self.steps, *map(_last_number, self._paths())])
        if self._ended is None and all(_has_ended(path) for path in self._paths()):
            self._ended = now
        if code is not None or self._first.is_overdue():
            return True
        if self._most is not None and all(map(self._is_beyond, self._paths())):
            self._is_outrun = True
            return True
        if self._ended is not None:
            return all(self._is_stopped()) or now - self._ended > _FAREWELL
        if now - self._moved > self._trial.timeout:
            self._failure = self._hung()
            return True
        return False

    def end(self) -> Outcome:
        """Ends all that still runs, and tells what became of it."""
        code = self._process.poll()
        end_all(self._process, self._mark)
        self._read_to_the_end()
        recordings = tuple(_read(path) for path in self._paths())
        if self._is_outrun:
            recordings = tuple(replace(one, end=one.end or "stopped") for one in recordings)
        failure = self._failure or self._failed(code, recordings)
        ranks = range(self._trial.processes)
        return Outcome(recordings, tuple(self._words[rank].lines for rank in ranks), failure)

    def _handlers(self) -> Tuple[Callable[[str], None], Callable[[str], None]]:
        def note(rank: int, text: str, is_error: bool) -> None:
            if self._first.is_marked(rank):
                self._words[rank].end()
            self._words[rank].line(self._trial.before(text), is_error)

        def note_error(text: str) -> None:
            if not self._first.is_mark(0, text):
                note(0, text, True)

        if self._trial.processes == 1:
            return lambda text: note(0, text, False), note_error
        handle = line_handler(self._first, note, lambda text: note(_LAUNCHER, text, True))
        return handle, handle

    def _read_to_the_end(self) -> None:
        """Waits until what was printed last is read, which closes the streams."""
        deadline = time.monotonic() + _FAREWELL
        streams = (self._process.stdout, self._process.stderr)
        while time.monotonic() < deadline and not all(s is None or s.closed for s in streams):
            time.sleep(0.02)

    def _paths(self) -> List[str]:
        return [self._trial.settings.recording(rank) for rank in range(self._trial.processes)]

    def _is_stopped(self) -> List[bool]:
        return ['"stopped"' in _last_line(path) for path in self._paths()]

    def _is_beyond(self, path: str) -> bool:
        return _last_number(path) > (self._most or 0)

    def _hung(self) -> RunFailure:
        silent = [rank for rank, path in enumerate(self._paths()) if not _has_ended(path)]
        ranks = f" (rank {', '.join(map(str, silent))})" if self._trial.processes > 1 else ""
        return RunFailure(
            FailureKind.HUNG,
            f"{self._trial.name}: no step for {self._trial.timeout:g} seconds{ranks}; it was ended",
            silent[0] if silent else None,
        )

    def _failed(
        self, code: Optional[int], recordings: Tuple[Recording, ...]
    ) -> Optional[RunFailure]:
        name = self._trial.name
        steps = max((len(recording.steps) for recording in recordings), default=0)
        first = self._first.get()
        exit_code = first.exit_code if first is not None else code
        for recording in recordings:
            for fact in recording.facts:
                if fact.name == "recorder_error":
                    lines = tuple(fact.detail.splitlines())
                    message = f"{name}: npu-verify itself failed: {lines[-1]}"
                    return RunFailure(FailureKind.RECORDER, message, recording.rank, lines)
        if exit_code and first is None and self._trial.processes > 1:
            words = self._words[_LAUNCHER]
            message = f"{name}: Horovod's launcher failed{_said(words.reason)}"
            return RunFailure(FailureKind.NOT_STARTED, message, lines=words.lines)
        if exit_code:
            rank = first.rank if first is not None else 0
            who = f"rank {rank} of it" if self._trial.processes > 1 else "it"
            how = _how(exit_code, self._words[rank])
            message = f"{name}: {who} failed {_after(steps)}, {how}"
            return RunFailure(FailureKind.CRASHED, message, rank)
        if not steps:
            return RunFailure(
                FailureKind.NO_STEPS, f"{name}: it ended without a step that computes gradients"
            )
        if all(step.loss is None for recording in recordings for step in recording.steps):
            details = [f.detail for r in recordings for f in r.facts if f.name == "no_loss"]
            is_named = self._trial.settings.loss is not None
            message = (_NO_SUCH_LOSS if is_named else _NO_LOSS).format(details[0])
            return RunFailure(FailureKind.NO_LOSS, f"{name}: {message}")
        return None


def _how(exit_code: int, words: LastWords) -> str:
    signal = signal_name(exit_code)
    if signal:
        return f"ended by {signal}{_said(words.exception)}"
    return f"with exit code {exit_code}{_said(words.reason)}"


def _said(reason: str) -> str:
    return f": {reason.strip()}" if reason else ""


def _after(steps: int) -> str:
    if not steps:
        return "before its first step"
    return "after one step" if steps == 1 else f"after {steps} steps"


def _read(path: str) -> Recording:
    if not os.path.exists(path):
        return Recording(0, 1, ())
    with open(path, encoding="utf-8") as lines:
        return read_recording(lines)


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0


def _has_ended(path: str) -> bool:
    return _END in _last_line(path)


def _last_number(path: str) -> int:
    """The number of the last step; 0 where there is none."""
    numbers = _NUMBER.findall(_end_of(path))
    return int(numbers[-1]) if numbers else 0


def _last_line(path: str) -> str:
    return _end_of(path).rstrip("\n").rpartition("\n")[2]


def _end_of(path: str) -> str:
    if not os.path.exists(path):
        return ""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - _LONGEST_ENTRY))
        return file.read().decode("utf-8", "replace")
