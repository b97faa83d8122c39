"""Migrates a script into another folder, with all that it finds beside it."""

import os
from typing import Dict, List, Sequence

from npu_migrate.results import FileResult
from npu_migrate.verify.program_files import program_files, root_of

_LEFT_OUT = ("__pycache__", ".git", ".hg", ".svn")


def migrate_into(script: str, folder: str) -> str:
    """Migrates a script and the project that it belongs to; what is no source is linked.

    Args:
      script: path of the original.
      folder: an empty folder.

    Returns:
      Path of the migrated script.

    Raises:
      ValueError: a file of the program could not be migrated; the message says which and why.
    """
    root = root_of(script)
    if root != os.path.dirname(os.path.abspath(script)):
        raise ValueError(
            f"{script} imports its own package by name, which would be the one that is not "
            "migrated: migrate the project with npu-migrate -o, and name both scripts"
        )
    texts = {os.path.realpath(r.path): r.after for r in _results(script, root) if r.is_changed}
    _mirror(root, folder, texts)
    return os.path.join(folder, os.path.relpath(os.path.abspath(script), root))


def _results(script: str, root: str) -> List[FileResult]:
    from npu_migrate.engine import migrate
    from npu_migrate.options import Options
    from npu_migrate.rules import load
    from npu_migrate.sources import Source, find

    program = program_files(script)
    if len(program) == 1:
        results = migrate([Source(program[0])], load(), Options())
    else:
        sources, _ = find([root])
        results = migrate(sources, load(), Options())
    needed = {os.path.realpath(path) for path in program}
    for result in results:
        if result.error is not None and os.path.realpath(result.path) in needed:
            raise ValueError(str(result.error))
    return results


def _mirror(root: str, folder: str, texts: Dict[str, bytes]) -> None:
    for home, folders, files in os.walk(root):
        folders[:] = _kept(home, folders, folder)
        target = os.path.join(folder, os.path.relpath(home, root))
        os.makedirs(target, exist_ok=True)
        for name in files:
            _put(os.path.join(home, name), os.path.join(target, name), texts)


def _kept(home: str, folders: Sequence[str], target: str) -> List[str]:
    """Folders to go into: no environments, no caches, and not the one that is written."""
    return [
        name
        for name in folders
        if name not in _LEFT_OUT
        and not os.path.exists(os.path.join(home, name, "pyvenv.cfg"))
        and not os.path.samefile(os.path.join(home, name), target)
    ]


def _put(path: str, target: str, texts: Dict[str, bytes]) -> None:
    """A source is written, so that it is found where it was migrated; others are linked."""
    text = texts.get(os.path.realpath(path))
    if text is None and path.endswith(".py") and os.path.isfile(path):
        with open(path, "rb") as file:
            text = file.read()
    if text is None:
        os.symlink(os.path.abspath(path), target)
        return
    with open(target, "wb") as file:
        file.write(text)
