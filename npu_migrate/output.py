"""Writes the migrated tree below another folder and leaves the original alone."""

import contextlib
import os
import shutil
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from npu_migrate.ignored import Ignored
from npu_migrate.results import FileResult
from npu_migrate.sources import SourceError, is_inside, replace, unusable

_LEFT_OUT = {".git", ".hg", ".svn", "__pycache__"}


def overlap(paths: Sequence[str], folder: str) -> str:
    """Why the trees of ``paths`` cannot be written below ``folder``, or nothing."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        return f"{folder} is not a folder"
    for path in paths:
        real = os.path.realpath(path)
        for place in (_place(other, paths, folder) for other in paths):
            if is_inside(place, real) or is_inside(real, place):
                return f"{folder} would mix with {path}; choose a folder beside it"
    return ""


def write_tree(
    paths: Sequence[str], folder: str, results: Sequence[FileResult]
) -> List[SourceError]:
    """Copy the files of ``paths`` below ``folder``, the changed ones as they became.

    What a ``.gitignore`` leaves out, such as data and checkpoints, is not copied.
    """
    changed = {
        os.path.realpath(result.path): result.after for result in results if result.is_changed
    }
    errors: List[SourceError] = []
    for path in paths:
        for file, place in _files(os.path.normpath(path), _place(path, paths, folder)):
            try:
                _put(file, place, os.path.realpath(folder), changed)
            except OSError as error:
                errors.append(unusable(place, error, "written"))
    return errors


def _place(path: str, paths: Sequence[str], folder: str) -> str:
    """Where the tree or file ``path`` goes: ``folder`` stands for what ``paths`` have in common."""
    tops = [os.path.abspath(path) for path in paths]
    common = os.path.commonpath(
        [top if os.path.isdir(top) else os.path.dirname(top) for top in tops]
    )
    relative = os.path.relpath(os.path.abspath(path), common)
    return os.path.normpath(os.path.join(os.path.realpath(folder), relative))


def _files(
    path: str, place: str, holders: Tuple[str, ...] = (), ignored: Optional[Ignored] = None
) -> Iterator[Tuple[str, str]]:
    """All files at and below ``path``, each with its place; links are followed, loops are not."""
    real = os.path.realpath(path)
    if os.path.isfile(path):
        yield path, place
    elif os.path.isdir(path) and real not in holders and not _is_left_out(path):
        with contextlib.suppress(OSError):  # The search has named an unreadable folder already.
            names = sorted(os.listdir(path))
            ignored = (ignored or Ignored.around(real)).inside(real, names)
            for name in names:
                inner, inner_place = os.path.join(path, name), os.path.join(place, name)
                if not ignored.leaves_out(os.path.join(real, name), os.path.isdir(inner)):
                    yield from _files(inner, inner_place, (*holders, real), ignored)


def _is_left_out(folder: str) -> bool:
    return os.path.basename(folder) in _LEFT_OUT or os.path.exists(
        os.path.join(folder, "pyvenv.cfg")
    )


def _put(file: str, place: str, top: str, changed: Dict[str, bytes]) -> None:
    parent = os.path.dirname(place)
    os.makedirs(parent, exist_ok=True)
    if not is_inside(os.path.realpath(parent), top):
        raise OSError(0, f"a link leads out of {top}")
    after = changed.get(os.path.realpath(file))
    if after is not None:
        replace(place, after, like=file)
        return
    if os.path.islink(place):
        os.unlink(place)
    shutil.copy2(file, place)
