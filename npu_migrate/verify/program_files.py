"""The files of a program, as far as its imports tell, and the folders that they are found in."""

import ast
import os
import tempfile
from dataclasses import dataclass
from typing import Dict, Iterable, Iterator, List, Sequence, Tuple

from npu_migrate.names.syntax import literal
from npu_migrate.neighbours import is_top
from npu_migrate.sources import is_inside

_LIBRARIES = ("site-packages", "dist-packages")
_OF_NPU = ("npu_bridge.", "hccl.", "npu_migrate.runtime.")
_CLIMB = 3
"""How many folders above its own a script is taken to import from."""


@dataclass(frozen=True)
class ProgramFiles:
    """A script and what it imports from its project, directly or not.

    Attributes:
      files: absolute paths, the script first.
      roots: the folders that its imports start from and that hold a file of it, none in another.
      is_for_npu: whether a file of it needs what only migrated scripts do.
    """

    files: Tuple[str, ...]
    roots: Tuple[str, ...]
    is_for_npu: bool = False


def program_files(script: str) -> ProgramFiles:
    """The files of a script that is started from here.

    Imports are looked for beside the script, on PYTHONPATH, in the current folder, in what the
    files add to their path, and in the folders above the script.
    """
    script = os.path.abspath(script)
    homes = dict.fromkeys(map(os.path.realpath, _homes(os.path.dirname(script))))
    found: Dict[str, None] = {}
    used: Dict[str, None] = {os.path.realpath(os.path.dirname(script)): None}
    pending = [script]
    is_for_npu = False
    while pending:
        path = pending.pop(0)
        if path not in found:
            found[path] = None
            tree = _parsed(path)
            is_for_npu = is_for_npu or any(map(_is_of_npu, _needed(tree)))
            homes.update(dict.fromkeys(map(os.path.realpath, _added(path, tree))))
            for home, imported in _imported(path, tree, list(homes)):
                used[home] = None
                pending.append(imported)
    return ProgramFiles(tuple(found), outermost(used), is_for_npu)


def outermost(folders: Iterable[str]) -> Tuple[str, ...]:
    """The folders that lie in none of the others."""
    each = tuple(dict.fromkeys(folders))
    return tuple(
        folder
        for folder in each
        if not any(other != folder and is_inside(folder, other) for other in each)
    )


def _homes(folder: str) -> Iterator[str]:
    """Where the imports of a script in a folder may start from."""
    yield folder
    for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        if entry and os.path.isdir(entry) and not any(name in entry for name in _LIBRARIES):
            yield entry
    yield os.getcwd()
    yield from _above(folder)


def _above(folder: str) -> Iterator[str]:
    """The folders above one, up to the top of its project."""
    shared = {os.path.realpath(os.path.expanduser("~")), os.path.realpath(tempfile.gettempdir())}
    for _ in range(_CLIMB):
        is_package = os.path.exists(os.path.join(folder, "__init__.py"))
        if is_top(folder) and not is_package:
            return
        folder = os.path.dirname(folder)
        if os.path.realpath(folder) in shared or folder == os.path.dirname(folder):
            return
        yield folder


def _needed(tree: ast.Module) -> Iterator[str]:
    """The modules without which a file can't be imported."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_of_npu(module: str) -> bool:
    return f"{module}.".startswith(_OF_NPU)


def _parsed(path: str) -> ast.Module:
    """The tree of a file; an empty one where there is none."""
    try:
        with open(path, "rb") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ast.parse("")


def _added(path: str, tree: ast.AST) -> Iterator[str]:
    """Folders that a file seems to add to `sys.path`: those that the names in such a call lead to.

    They start in the current folder, or in one above the file.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _adds_to_path(node.func):
            words = [word for word in map(literal, ast.walk(node)) if isinstance(word, str)]
            starts = [os.getcwd(), *_folders_of(path)]
            folders = [os.path.join(start, *words) for start in starts if words]
            yield from [folder for folder in folders if os.path.isdir(folder)][:2]


def _adds_to_path(function: ast.AST) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and function.attr in ("append", "insert", "extend")
        and isinstance(function.value, ast.Attribute)
        and function.value.attr == "path"
    )


def _folders_of(path: str) -> Iterator[str]:
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        yield path


def _imported(path: str, tree: ast.AST, homes: Sequence[str]) -> Iterator[Tuple[str, str]]:
    """The files that a file imports, each with the folder where the import starts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _found(alias.name.split("."), homes)
        elif isinstance(node, ast.ImportFrom):
            names = node.module.split(".") if node.module else []
            for parts in (names, *([*names, alias.name] for alias in node.names)):
                if node.level:
                    yield from _beside(path, node.level, parts)
                else:
                    yield from _found(parts, homes)


def _found(parts: Sequence[str], homes: Sequence[str]) -> Iterator[Tuple[str, str]]:
    """The files of a dotted name in the first folder that has any."""
    for home in homes:
        files = _files(parts, home)
        if files:
            yield from ((home, file) for file in files)
            return


def _beside(path: str, level: int, parts: Sequence[str]) -> Iterator[Tuple[str, str]]:
    """The files of a relative import, which starts where its package does."""
    start = path
    for _ in range(level):
        start = os.path.dirname(start)
    home = os.path.realpath(start)
    while os.path.isfile(os.path.join(home, "__init__.py")):
        home = os.path.dirname(home)
    yield from ((home, file) for file in _files(parts, start))


def _files(parts: Sequence[str], home: str) -> List[str]:
    """The file of a dotted name, and those of the packages around it."""
    places = [os.path.join(home, *parts[:end]) for end in range(1, len(parts) + 1)]
    files = [file for at in places for file in (at + ".py", os.path.join(at, "__init__.py"))]
    return [file for file in files if os.path.isfile(file)]
