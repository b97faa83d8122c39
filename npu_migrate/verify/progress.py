"""A sign of life while scripts train: which runs go on, and how far they are."""

import contextlib
import time
from typing import IO, Callable, Iterator, Mapping, Optional

Tell = Callable[[Mapping[str, int]], None]
"""Is told the runs that go on, by name, and how many steps each has done."""

_RARELY = 60.0
"""Seconds between lines where no terminal can rewrite one."""
_RUNS = {
    "original": "the original",
    "repeated": "the original again",
    "migrated": "the migrated script",
    "shaken": "the original with rounding",
    "adjusted": "the original with what is known to differ",
}


def keep_silent(running: Mapping[str, int]) -> None:
    """Tells nobody."""


@contextlib.contextmanager
def progress(
    stream: IO[str], steps: Optional[int] = None, rarely: float = _RARELY
) -> Iterator[Tell]:
    """Tells it on a terminal in one line that is rewritten, elsewhere in a line now and then.

    Args:
      stream: standard error.
      steps: after how many each run is stopped.
      rarely: seconds between lines where no terminal can rewrite one.
    """
    if not stream.isatty():
        yield _in_lines(stream, steps, rarely)
        return
    from rich.console import Console
    from rich.text import Text

    with Console(file=stream).status("Starting") as status:
        yield lambda running: status.update(Text(_line(running, steps)))


def _in_lines(stream: IO[str], steps: Optional[int], rarely: float) -> Tell:
    told = time.monotonic()

    def tell(running: Mapping[str, int]) -> None:
        nonlocal told
        if time.monotonic() - told >= rarely:
            told = time.monotonic()
            print(f"npu-verify: {_line(running, steps)}", file=stream, flush=True)

    return tell


def _line(running: Mapping[str, int], steps: Optional[int]) -> str:
    parts = [f"{_RUNS[name]}, {_done(number, steps)}" for name, number in running.items()]
    return f"Training: {'; '.join(parts)}" if parts else "Training"


def _done(number: int, steps: Optional[int]) -> str:
    if not number:
        return "starting"
    if steps is not None:
        return f"{number} of {steps} steps"
    return "one step" if number == 1 else f"{number} steps"
