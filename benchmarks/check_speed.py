"""How long ``npu-migrate --check`` takes, as a multiple of ``ast.parse`` of the same files.

    python benchmarks/check_speed.py [FOLDER] [--python PYTHON]... [--pairs N] [--limit X]

Both are whole processes, started in turn and timed in pairs; the table shows medians. The folder
is ``contrib`` of an installed TensorFlow 1.15 unless one is given. The exit status is 1 where a
ratio is above the limit.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parent.parent
PARSE = """
import ast, sys, warnings
warnings.simplefilter("ignore")
with open(sys.argv[1]) as listing:
    for path in listing.read().splitlines():
        with open(path, "rb") as source:
            ast.parse(source.read())
"""


class Cost(NamedTuple):
    """What a process took, in seconds."""

    wall: float
    processor: float


def main() -> int:
    options = _options()
    files = python_files(options.folder)
    print(f"{len(files)} files below {options.folder}, {options.pairs} pairs")
    print(f"{'python':8} {'ast.parse':>10} {'--check':>10} {'ratio':>7} {'(wall)':>7}")
    worst = 0.0
    for python in options.python:
        parse, check = zip(*pairs(python, options.folder, files, options.pairs))
        ratio = _ratio(parse, check, "processor")
        print(
            f"{_version(python):8} {_median(parse):9.2f}s {_median(check):9.2f}s {ratio:7.2f} "
            f"{_ratio(parse, check, 'wall'):7.2f}"
        )
        worst = max(worst, ratio)
    print(f"processor time; at most {options.limit} is wanted")
    return 1 if worst > options.limit else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="what to check")
    parser.add_argument("--python", action="append", help="an interpreter to time (repeatable)")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--limit", type=float, default=2.5)
    options = parser.parse_args()
    options.folder = options.folder or contrib()
    if options.folder is None or not options.folder.is_dir():
        parser.error("TensorFlow 1.15 is not installed here: name a folder")
    options.python = options.python or interpreters()
    return options


def contrib() -> Optional[Path]:
    """The folder of ``tensorflow.contrib``; TensorFlow is not imported."""
    spec = importlib.util.find_spec("tensorflow_core")
    if spec is not None and spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))) / "contrib"
    found = sorted(ROOT.glob(".venv37/lib/python*/site-packages/tensorflow_core/contrib"))
    return found[0] if found else None


def interpreters() -> List[str]:
    """The Pythons of the project's environments, or the running one."""
    found = [ROOT / name / "bin" / "python" for name in (".venv", ".venv37")]
    return [str(python) for python in found if python.exists()] or [sys.executable]


def python_files(folder: Path) -> List[str]:
    """What the tool would read, in its order."""
    sys.path.insert(0, str(ROOT))
    from npu_migrate.sources import find

    sources, errors = find([str(folder)])
    for error in errors:
        print(error, file=sys.stderr)
    return [source.path for source in sources if source.path.endswith(".py")]


def pairs(python: str, folder: Path, files: Sequence[str], count: int) -> "List[Tuple[Cost, Cost]]":
    """Costs of parsing and of checking, each pair measured in one go."""
    with tempfile.TemporaryDirectory() as temporary:
        listing = Path(temporary) / "files"
        listing.write_text("\n".join(files))
        commands = {
            "parse": [python, "-c", PARSE, str(listing)],
            "check": [python, "-m", "npu_migrate", "--check", "--quiet", str(folder)],
        }
        for command in commands.values():
            _run(command)  # fills the caches of the disk, and of compiled modules
        measured = []
        for number in range(count):
            order = list(commands) if number % 2 else list(commands)[::-1]
            costs: Dict[str, Cost] = {name: _run(commands[name]) for name in order}
            measured.append((costs["parse"], costs["check"]))
        return measured


def _run(command: Sequence[str]) -> Cost:
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed tool is compiled
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.WEXITSTATUS(status)
    if process.returncode > 1:  # 1 says that there is something to migrate
        raise SystemExit(f"{' '.join(command)[:200]} failed")
    return Cost(wall, usage.ru_utime + usage.ru_stime)


def _ratio(parse: Sequence[Cost], check: Sequence[Cost], kind: str) -> float:
    return median(getattr(c, kind) / getattr(p, kind) for p, c in zip(parse, check))


def _median(costs: Sequence[Cost]) -> float:
    return median(cost.processor for cost in costs)


def _version(python: str) -> str:
    command = [python, "-c", "import platform; print(platform.python_version())"]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode().strip()


if __name__ == "__main__":
    sys.exit(main())
