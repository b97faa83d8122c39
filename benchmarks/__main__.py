"""Measures what the tool costs, and prints a table of ratios.

    python -m benchmarks [TREE]... [--python PYTHON]... [--pairs N] [--only WORD]...

Trees are folders of scripts besides TensorFlow 1.15's ``contrib``, which is measured where it is
installed. Each ratio is the median of pairs that are measured in turns. The exit status is 1 where
a ratio is above its limit.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List, Tuple

from benchmarks.cost import ROOT, middle, pairs
from benchmarks.rows import Row, rows
from benchmarks.trees import contrib, copied

_LINE = "{:8} {:30} {:32} {:12} {:>10} {:>10} {:>6} {:>7}  {}"


def main() -> int:
    options = _options()
    print(_LINE.format("python", "what", "against", "over", "", "", "ratio", "at most", ""))
    missed = 0
    with tempfile.TemporaryDirectory() as temporary:
        trees = [copied(tree.resolve(), Path(temporary)) for tree in options.trees]
        for python in options.python:
            version = _version(python)
            home = Path(temporary) / ".".join(map(str, version))
            home.mkdir()
            for row in rows(python, version, trees, home):
                if _is_wanted(row, options.only):
                    missed += _measured(row, version, options.pairs)
    print(f"medians of {options.pairs} pairs; {missed} above their limits")
    return 1 if missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("trees", nargs="*", type=Path, help="folders of scripts, besides contrib")
    parser.add_argument("--contrib", type=Path, help="the folder of tensorflow.contrib")
    parser.add_argument("--python", action="append", help="an interpreter to time (repeatable)")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--only", action="append", help="rows that hold this word (repeatable)")
    options = parser.parse_args()
    first = options.contrib or contrib()
    options.trees = ([first] if first else []) + options.trees
    options.python = options.python or _interpreters()
    if not options.trees or not all(tree.is_dir() for tree in options.trees):
        parser.error("TensorFlow 1.15 is not installed here: name folders of scripts")
    return options


def _interpreters() -> List[str]:
    """The Pythons of the project's environments, or the running one."""
    found = [ROOT / name / "bin" / "python" for name in (".venv", ".venv37")]
    return [str(python) for python in found if python.exists()] or [sys.executable]


def _version(python: str) -> Tuple[int, ...]:
    command = [python, "-c", "import platform; print(platform.python_version())"]
    shown = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()
    return tuple(map(int, shown.strip().split(".")))


def _is_wanted(row: Row, words: "List[str]") -> bool:
    return not words or any(word in f"{row.what} {row.against} {row.tree}" for word in words)


def _measured(row: Row, version: Tuple[int, ...], count: int) -> bool:
    """Measure a row and print it; whether it is above its limit."""
    ours, rival, ratio = middle(pairs(row.ours, row.rival, count), row.kind)
    unit = "MB" if row.kind == "memory" else "s"
    verdict = "" if ratio <= row.limit else "MISSED"
    print(
        _LINE.format(
            ".".join(map(str, version)),
            row.what,
            row.against,
            row.tree,
            f"{ours:.3g} {unit}",
            f"{rival:.3g} {unit}",
            f"{ratio:.2f}",
            row.limit,
            verdict,
        ),
        flush=True,
    )
    return bool(verdict)


if __name__ == "__main__":
    sys.exit(main())
