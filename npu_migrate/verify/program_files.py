"""The files of a program, as far as its imports tell."""

import ast
import os
from typing import Dict, Iterator, List, Sequence, Tuple


def root_of(script: str) -> str:
    """The folder that imports of a script start from: above its package, if it imports that."""
    home, above = _homes(script)
    return home if program_files(script) == _reached(script, [home]) else above


def program_files(script: str) -> List[str]:
    """The script and what it imports from beside it, directly or not, as absolute paths."""
    return _reached(script, _homes(script))


def _homes(script: str) -> Tuple[str, str]:
    """The folder of a script, and the one above all packages that hold it."""
    home = above = os.path.dirname(os.path.abspath(script))
    while os.path.isfile(os.path.join(above, "__init__.py")):
        above = os.path.dirname(above)
    return home, above


def _reached(script: str, homes: Sequence[str]) -> List[str]:
    found: Dict[str, None] = {}
    pending = [os.path.abspath(script)]
    while pending:
        path = pending.pop(0)
        if path not in found:
            found[path] = None
            pending += _imported(path, homes)
    return list(found)


def _imported(path: str, homes: Sequence[str]) -> Iterator[str]:
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(alias.name.split("."), homes)
        elif isinstance(node, ast.ImportFrom):
            names = node.module.split(".") if node.module else []
            starts = [_above(path, node.level)] if node.level else homes
            for parts in (names, *([*names, alias.name] for alias in node.names)):
                yield from _files(parts, starts)


def _above(path: str, level: int) -> str:
    for _ in range(level):
        path = os.path.dirname(path)
    return path


def _files(parts: Sequence[str], homes: Sequence[str]) -> Iterator[str]:
    """The file of a dotted name, and those of the packages around it."""
    for home in homes:
        for end in range(1, len(parts) + 1):
            place = os.path.join(home, *parts[:end])
            for file in (place + ".py", os.path.join(place, "__init__.py")):
                if os.path.isfile(file):
                    yield file
