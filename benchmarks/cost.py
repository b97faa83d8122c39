"""What processes cost, measured in pairs: other load of the machine meets both of a pair alike."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Callable, List, Sequence, Tuple

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Cost:
    """What a process and those that it started took: seconds, and megabytes at most at a time."""

    wall: float
    processor: float
    memory: float


Measure = Callable[[], Cost]
Pairs = Sequence[Tuple[Cost, Cost]]


def pairs(ours: Measure, rival: Measure, count: int) -> Pairs:
    """Costs of both, in turns, once each has filled the caches of the disk and of Python."""
    ours(), rival()  # noqa: B018
    measured: List[Tuple[Cost, Cost]] = []
    for number in range(count):
        if number % 2:
            mine = ours()
            measured.append((mine, rival()))
        else:
            other = rival()
            measured.append((ours(), other))
    return measured


def middle(measured: Pairs, kind: str) -> Tuple[float, float, float]:
    """The medians of ours, of the rival's, and of the ratio in each pair."""
    both = [(getattr(mine, kind), getattr(other, kind)) for mine, other in measured]
    ours, rival = zip(*both)
    return median(ours), median(rival), median(mine / other for mine, other in both)


def run(python: str, *arguments: object) -> Cost:
    """The cost of a process of its own; 1, which says that something is left, is no failure."""
    command = [python, *map(str, arguments)]
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed tool is compiled
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)[:300]} failed ({process.returncode})")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def migrate(python: str, *arguments: object) -> Cost:
    """The cost of a run of the tool."""
    return run(python, "-m", "npu_migrate", "--no-config", *arguments)
