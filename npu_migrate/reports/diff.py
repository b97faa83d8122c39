"""The changes of a run as a unified diff, which ``git apply`` and ``patch -p1`` take."""

import codecs
import difflib
import io
import os
import re
from typing import Iterator, List

from npu_migrate.reports import Run
from npu_migrate.reports.style import Paint, plain
from npu_migrate.reports.visible import visible_line
from npu_migrate.results import FileResult
from npu_migrate.sources import decode

_STYLES = {"---": "bold", "+++": "bold", "@@": "cyan", "-": "red", "+": "green"}
_IN_QUOTES = re.compile(r'["\\]')
_NO_NEWLINE = "\n\\ No newline at end of file\n"


def render(run: Run, paint: Paint = plain) -> str:
    """Files that are not in UTF-8 are shown decoded."""
    return "".join(
        _painted(line, paint)
        for result in run.results
        if result.is_changed
        for line in _lines(result)
    )


def _lines(result: FileResult) -> Iterator[str]:
    path = result.path.replace(os.sep, "/").lstrip("/")
    before, after = (_split(result.path, data) for data in (result.before, result.after))
    for line in difflib.unified_diff(before, after, _name(f"a/{path}"), _name(f"b/{path}")):
        yield line if line.endswith("\n") else line + _NO_NEWLINE


def _name(path: str) -> str:
    """A name as git writes it: with escapes where it would not stand on its line as it is."""
    if visible_line(path) == path and not _IN_QUOTES.search(path):
        return path + ("\t" if " " in path else "")
    escaped = (_escaped(character) for character in path)
    return '"' + "".join(escaped) + '"'


def _escaped(character: str) -> str:
    if _IN_QUOTES.match(character):
        return "\\" + character
    if visible_line(character) == character:
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))


def _split(path: str, data: bytes) -> List[str]:
    """Lines that end with a line feed alone: what ``patch`` calls a line."""
    mark = "\ufeff" if data.startswith(codecs.BOM_UTF8) else ""
    return list(io.StringIO(mark + decode(data, path), newline="\n"))


def _painted(line: str, paint: Paint) -> str:
    style = next((style for start, style in _STYLES.items() if line.startswith(start)), "")
    return paint(line.rstrip("\n"), style) + "\n" if style else line
