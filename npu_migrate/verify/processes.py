"""Ends all processes that a run has started, wherever they went."""

import contextlib
import os
import signal
import subprocess
import time
from typing import Iterator, List

#: Variable that marks the processes of a run: they inherit it, whatever group they are in.
MARK = "NPU_VERIFY_RUN"

_PATIENCE = 5.0


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


def _marked(mark: str) -> Iterator[int]:
    """Numbers of the processes with the mark that are not over; none where there is no /proc."""
    wanted = f"{MARK}={mark}".encode()
    names = os.listdir("/proc") if os.path.isdir("/proc") else []
    for name in filter(str.isdigit, names):
        if wanted in _environment(name):
            yield int(name)


def _environment(process: str) -> List[bytes]:
    """The variables of a process; none of one that is over or another user's."""
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []
