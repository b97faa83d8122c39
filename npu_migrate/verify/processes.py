"""Ends all processes that a run has started, wherever they went."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from typing import Iterator, List, Set

#: Variable that marks the processes of a run: they inherit it, whatever group they are in.
MARK = "NPU_VERIFY_RUN"

_PATIENCE = 5.0
_SET_CHILD_SUBREAPER = 36  # of prctl(2)


def end_all(first: "subprocess.Popen[str]", mark: str) -> None:
    """Kills a process, its group, and every process that carries a mark.

    Args:
      first: the process that was started.
      mark: value of the variable `MARK` in its environment.
    """
    deadline = time.monotonic() + _PATIENCE
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(first.pid, signal.SIGKILL)
    while time.monotonic() < deadline:
        running = list(_marked(mark))
        for process in running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        if not running:
            break
        time.sleep(0.05)
    with contextlib.suppress(subprocess.TimeoutExpired):
        first.wait(_PATIENCE)


@contextlib.contextmanager
def adopting_orphans() -> Iterator[None]:
    """Ends what is left at the end of the block of processes whose parents ended in it.

    A process may have left its group and its environment, and so carry no mark; Linux hands it to
    this process then. Elsewhere nothing is done.
    """
    before = _children()
    _adopt(True)
    try:
        yield
    finally:
        _adopt(False)
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            orphans = _children() - before
            for orphan in orphans:
                _kill_and_reap(orphan)
            if not orphans:
                break
            time.sleep(0.05)


def _adopt(does: bool) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(does), 0, 0, 0)


def _kill_and_reap(process: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process, os.WNOHANG)


def _children() -> Set[int]:
    """Numbers of the processes whose parent this one is."""
    return {int(name) for name in _running() if _parent(name) == os.getpid()}


def _parent(process: str) -> int:
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def _marked(mark: str) -> Iterator[int]:
    """Numbers of the processes with the mark that are not over."""
    wanted = f"{MARK}={mark}".encode()
    for name in _running():
        if wanted in _environment(name):
            yield int(name)


def _running() -> Iterator[str]:
    """The processes of this machine; none where there is no /proc."""
    return filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else [])


def _environment(process: str) -> List[bytes]:
    """The variables of a process; none of one that is over or another user's."""
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []
