"""The processes of one job on this machine: started together, ended together."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from npu_migrate.launch.output import RankOutput
from npu_migrate.launch.script import FAILURE_MARK

#: Seconds that a process gets to end by itself before it is killed.
GRACE = 5.0
#: Seconds that a rank which said that it failed gets to be gone.
FAREWELL = 15.0

_Handler = Callable[[str], None]
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that ask a job to end: from others, or as the terminal is closed."""
_Start = Callable[..., "subprocess.Popen[str]"]


class Failure(NamedTuple):
    """The first rank that failed, and its exit code."""

    rank: int
    exit_code: int


class Interrupted(Exception):
    """Someone asked `npu-run` to end: Ctrl-C, or a signal to terminate."""


class FirstFailure:
    """Finds out which rank failed first, from what is heard of several.

    A rank that still can prints a mark when it fails, at once, and ends later; so marks come in the
    order of the failures, and exits do not. A rank that ends without a mark died of something
    worse, and is what the others fail for.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._marks: Dict[int, int] = {}
        self._exit: Optional[Failure] = None
        self._since: Optional[float] = None

    def is_mark(self, rank: int, text: str) -> bool:
        """Whether a line of output is a mark, which is then remembered."""
        if not text.startswith(FAILURE_MARK):
            return False
        with self._lock:
            self._since = self._since or time.monotonic()
            self._marks.setdefault(rank, int(text[len(FAILURE_MARK) :]))
        return True

    def exited(self, rank: int, exit_code: int) -> None:
        """Remembers that a rank ended badly; only the first counts."""
        with self._lock:
            self._since = self._since or time.monotonic()
            self._exit = self._exit or Failure(rank, exit_code)

    def is_marked(self, rank: int) -> bool:
        """Whether a rank said that it failed."""
        with self._lock:
            return rank in self._marks

    def get(self) -> Optional[Failure]:
        """The first failure, if there was one."""
        with self._lock:
            if self._marks and (self._exit is None or self._exit.rank in self._marks):
                return Failure(*next(iter(self._marks.items())))
            return self._exit

    def is_overdue(self) -> bool:
        """Whether the job had long enough to end since the first failure."""
        with self._lock:
            return self._since is not None and time.monotonic() - self._since > FAREWELL


def run_ranks(command: List[str], environments: Dict[int, Dict[str, str]]) -> Optional[Failure]:
    """Runs a command once for each rank, and ends all when one fails.

    Args:
      command: what each rank runs.
      environments: for each rank of this machine its variables, besides those of this process.

    Returns:
      The first failure, or None if all ranks ended well.

    Raises:
      Interrupted: the job was asked to end, and has.
    """
    output, first = RankOutput(), FirstFailure()
    processes: Dict[int, subprocess.Popen[str]] = {}
    with ending_together() as start:
        for rank, variables in sorted(environments.items()):
            processes[rank] = start(command, variables, *_handlers(rank, output, first))
        _wait(processes, first)
    failure = first.get()
    if failure is not None:
        explain(failure, output)
    return failure


@contextlib.contextmanager
def ending_together() -> Iterator[_Start]:
    """Ends what is started in the block when the block does, however it does.

    SIGTERM and SIGHUP, unless it is ignored as `nohup` has it, are like Ctrl-C.

    Yields:
      A function that starts a command: `start(command, variables, on_output, on_error, folder)`,
      with variables besides those of this process, what to do with each line that it prints, and
      the folder to work in, by default that of this process.

    Raises:
      Interrupted: Ctrl-C, or a signal to terminate.
    """
    processes: List[subprocess.Popen[str]] = []
    readers: List[threading.Thread] = []

    def start(
        command: List[str],
        variables: Dict[str, str],
        on_output: _Handler,
        on_error: _Handler,
        folder: Optional[str] = None,
    ) -> "subprocess.Popen[str]":
        process = _start(command, variables, folder)
        processes.append(process)
        readers.append(_pump(process.stdout, on_output))
        readers.append(_pump(process.stderr, on_error))
        return process

    before = {number: signal.getsignal(number) for number in _ENDING}
    heard = [number for number in _ENDING if before[number] is not signal.SIG_IGN]
    _handle(heard, _interrupt)
    try:
        yield start
    except KeyboardInterrupt:
        raise Interrupted from None
    finally:
        _handle(heard, signal.SIG_IGN)
        _end(processes)
        for number in heard:
            signal.signal(number, before[number])
    for reader in readers:
        reader.join(GRACE)


def _interrupt(number: int, frame: Any) -> None:
    """Ends the job, once: a terminal that closes and its shell both say so."""
    _handle([one for one in _ENDING if signal.getsignal(one) is _interrupt], signal.SIG_IGN)
    signal.default_int_handler(number, frame)


def _handle(numbers: Iterable[int], handler: Any) -> None:
    for number in numbers:
        signal.signal(number, handler)


def explain(failure: Failure, output: RankOutput) -> None:
    """Says on standard error which rank failed first, and shows its last lines."""
    lines = "".join(f"    {line}\n" for line in output.tail(failure.rank))
    name = signal_name(failure.exit_code)
    print(
        f"npu-run: rank {failure.rank} failed first, with exit code {failure.exit_code}"
        f"{f' ({name})' if name else ''}; the others were ended. Its last lines:\n{lines}",
        file=sys.stderr,
        end="",
        flush=True,
    )


def _start(
    command: List[str], variables: Dict[str, str], folder: Optional[str]
) -> "subprocess.Popen[str]":
    """Starts a command in a process group of its own, with its output in pipes."""
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        errors="replace",
        start_new_session=True,
    )


def _pump(stream: Any, handle: _Handler) -> threading.Thread:
    """Hands each line of a stream to a function, in a thread of its own."""

    def read() -> None:
        with stream:
            for line in stream:
                handle(line.rstrip("\n"))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def _handlers(rank: int, output: RankOutput, first: FirstFailure) -> Tuple[_Handler, _Handler]:
    def handle_error(text: str) -> None:
        if not first.is_mark(rank, text):
            output.line(rank, text, is_error=True)

    return lambda text: output.line(rank, text, is_error=False), handle_error


def _wait(processes: Dict[int, "subprocess.Popen[str]"], first: FirstFailure) -> None:
    running = dict(processes)
    while running and not first.is_overdue():
        for rank, process in list(running.items()):
            code = process.poll()
            if code is None:
                continue
            del running[rank]
            if code:
                first.exited(rank, code if code > 0 else 128 - code)
                return
        time.sleep(0.05)


def _end(processes: List["subprocess.Popen[str]"]) -> None:
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + GRACE
        for process in processes:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal_number)
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))


def signal_name(exit_code: int) -> str:
    """The signal that ended a process, as its exit code has it; nothing where none did.

    Args:
      exit_code: of a process of this one, negative then, or as shells and launchers tell it.
    """
    number = -exit_code if exit_code < 0 else exit_code - 128
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return ""
