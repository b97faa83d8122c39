"""The rows of the table: what is measured against what, and how much it may cost."""

import itertools
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Sequence, Tuple

from benchmarks.cost import ROOT, Cost, Measure, migrate, run
from benchmarks.trees import Tree, multiplied

RIVALS = ROOT / "benchmarks" / "rivals"
FEW, MANY = 1000, 10_000


@dataclass(frozen=True)
class Row:
    """A ratio, of ``kind`` (a field of a cost), that is to be ``limit`` at most."""

    what: str
    against: str
    tree: str
    limit: float
    kind: str
    ours: Measure
    rival: Measure


def rows(python: str, version: Tuple[int, ...], trees: Sequence[Tree], home: Path) -> Iterator[Row]:
    """All rows for an interpreter; ``home`` is an empty folder to write to."""
    for tree in trees:
        yield from _of_tree(python, version, tree, home)
    yield from _of_starts(python, home)
    yield _of_many(python, trees[0], home)


def _of_tree(python: str, version: Tuple[int, ...], tree: Tree, home: Path) -> Iterator[Row]:
    folders = (home / f"{tree.name}_{number}" for number in itertools.count())

    def cold(*options: str) -> Cost:
        """A check that knows nothing yet, and remembers what it finds."""
        cache = next(folders)
        cost = migrate(python, "-q", "--check", "--cache-dir", cache, *options, tree.folder)
        shutil.rmtree(str(cache), ignore_errors=True)
        return cost

    kept = next(folders)

    def again() -> Cost:
        return migrate(python, "-q", "--check", "--cache-dir", kept, tree.folder)

    def migrated() -> Cost:
        target = next(folders)
        cost = migrate(python, "-q", "-o", target, tree.folder)
        shutil.rmtree(str(target))
        return cost

    def check(folder: Path) -> Measure:
        return lambda: migrate(python, "-q", "--check", "--no-cache", folder)

    def parsed() -> Cost:
        return run(python, RIVALS / "parse.py", tree.listing)

    def regenerated() -> Cost:
        return run(python, RIVALS / "regenerate.py", tree.listing, tree.changing)

    again()
    name, limit = tree.name, 1.8 if version >= (3, 8) else 2.3
    yield Row("--check, cold, one job", "ast.parse", name, limit, "processor", cold, parsed)
    yield Row("--check, cold, two jobs", "one job", name, 0.6, "wall", lambda: cold("-j2"), cold)
    yield Row("--check, nothing changed", "cold", name, 0.25, "processor", again, cold)
    against = "ast.parse, libcst where changed"
    yield Row("migrate, one job", against, name, 1.5, "processor", migrated, regenerated)
    against = "its largest file"
    whole, largest = check(tree.folder), check(tree.largest)
    yield Row("peak memory, whole tree", against, name, 2, "memory", whole, largest)


def _of_starts(python: str, home: Path) -> Iterator[Row]:
    folder, cache = home / "one line", home / "cache of one line"
    folder.mkdir()
    script = folder / "one.py"
    script.write_text("x = 1\n")

    def click() -> Cost:
        return run(python, "-c", "import click")

    def version() -> Cost:
        return migrate(python, "--version")

    def first() -> Cost:
        return migrate(python, "--check", "--no-cache", script)

    def again() -> Cost:
        return migrate(python, "--check", "--cache-dir", cache, script)

    against = "import click"
    yield Row("start-up: --version", against, "", 2, "processor", version, click)
    yield Row("start-up: --check of one line", against, "known", 2, "processor", again, click)
    yield Row("start-up: --check of one line", against, "cold", 2, "processor", first, click)


def _of_many(python: str, tree: Tree, home: Path) -> Row:
    few = multiplied(tree, FEW, home / "few")
    many = multiplied(tree, MANY, home / "many")

    def check(folder: Path) -> Measure:
        return lambda: migrate(python, "-q", "--check", "--no-cache", folder)

    what, against = f"--check of {MANY:,} files", f"of {FEW:,} files"
    return Row(what, against, tree.name, 11, "processor", check(many), check(few))
