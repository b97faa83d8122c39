"""The trees of scripts that are measured: copies with nothing but what the tool reads."""

import importlib.util
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional

from benchmarks.cost import ROOT


@dataclass(frozen=True)
class Tree:
    """A copy of a tree, with the lists of files that rivals take."""

    name: str
    folder: Path
    files: List[Path]
    """The Python files that can be parsed."""
    listing: Path
    changing: Path
    """The list of those that the tool changes."""
    largest: Path
    """A folder that holds the largest file alone."""


def contrib() -> Optional[Path]:
    """The folder of ``tensorflow.contrib``; TensorFlow is not imported."""
    spec = importlib.util.find_spec("tensorflow_core")
    if spec is not None and spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))) / "contrib"
    found = sorted(ROOT.glob(".venv37/lib/python*/site-packages/tensorflow_core/contrib"))
    return found[0] if found else None


def copied(original: Path, home: Path) -> Tree:
    """A copy of a tree below ``home``."""
    folder, largest = home / original.name, home / f"largest of {original.name}"
    copies = _copies(original, folder)
    report = json.loads(_report(folder))
    broken = {error["path"] for error in report["errors"]}
    files = [path for path in copies if path.suffix == ".py" and str(path) not in broken]
    biggest = max(files, key=lambda path: path.stat().st_size)
    largest.mkdir()
    shutil.copy(str(biggest), str(largest))
    listing = _list(home / f"files of {original.name}", files)
    changed = {finding["path"] for finding in report["findings"] if finding["status"] == "migrated"}
    changing = _list(home / f"changing of {original.name}", [f for f in files if str(f) in changed])
    return Tree(original.name, folder, files, listing, changing, largest)


def multiplied(tree: Tree, count: int, home: Path) -> Path:
    """A folder of that many files: copies of a tree, one beside the other."""
    for number in range(count):
        path = tree.files[number % len(tree.files)]
        copy = home / f"copy_{number // len(tree.files)}" / path.relative_to(tree.folder.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(str(path), str(copy))
    return home


def _copies(original: Path, folder: Path) -> List[Path]:
    sys.path.insert(0, str(ROOT))
    from npu_migrate.sources import find

    sources, _ = find([str(original)])
    copies = []
    for source in sources:
        copy = folder / Path(source.path).relative_to(original)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.path, str(copy))
        copies.append(copy)
    return copies


def _report(folder: Path) -> bytes:
    command = [sys.executable, "-m", "npu_migrate", "--no-config", "--no-cache", "--check"]
    command += ["--format", "json", str(folder)]
    return subprocess.run(command, stdout=subprocess.PIPE, cwd=str(ROOT)).stdout


def _list(place: Path, files: List[Path]) -> Path:
    place.write_text("".join(f"{path}\n" for path in files), encoding="utf-8")
    return place
