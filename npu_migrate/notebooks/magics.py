"""What IPython takes in a cell and Python does not: ``%magics``, ``!commands`` and ``help?``.

Each stands where a statement begins, or behind ``name =``. A call that does nothing stands for it
while the cell is migrated.
"""

import ast
import re
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

_CELL_MAGIC = re.compile(r"%%(\w*)")
_WITH_PYTHON = {"capture", "debug", "memit", "mprun", "prun", "snakeviz", "time", "timeit"}
"""Cell magics whose cell is Python in the namespace of the others."""

_STATEMENT = re.compile(r"[ \t]*(?=%{1,2}\w|!|\?{1,2}[\w%]|[,;/][A-Za-z_])")
_ASSIGNMENT = re.compile(r"[ \t]*[^\s=#'\"!%][^=#'\"]*(?<![!<>:+\-*/%@&|^])=[ \t]*(?=!|%\w)")
_HELP = re.compile(r"([ \t]*)%{0,2}[\w*][\w.*\[\]]*\?{1,2}[ \t]*$")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_INDENT = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*([ \t]*)(?=[^ \t\r\n])")
_STOP = re.compile(r"\"{3}|'{3}|[\"'#()\[\]{}]|\\[ \t]*$")
_TIMED = re.compile(
    r"([ \t]*)(%(?:time|timeit|prun|memit)[ \t]+)([A-Za-z_][^#\\\r\n]*(?:#[^\r\n]*)?)$"
)
"""Magics with a statement on their line, which is Python in the namespace of the cell."""
_TIMED_PLACE = re.compile(r"  # npu-migrate (\d+)(?=[ \t]*(?:#[^\r\n]*)?\r?\n?$)")
_NUMBER = re.compile(r"npu-migrate \d+")
_PLACE = re.compile(r'get_ipython\("npu-migrate (\d+)"\)')


@dataclass
class Python:
    """A cell as Python.

    ``head`` are the lines above the code (a cell magic), ``indent`` is the indentation of the code
    as a whole, which IPython takes away, ``lines`` has the line of the cell that each line of
    ``text`` comes from, and ``hidden`` what calls stand for.
    """

    cell: str
    head: str = ""
    indent: str = ""
    text: str = ""
    lines: List[int] = field(default_factory=list)
    hidden: Dict[str, str] = field(default_factory=dict)
    is_python: bool = True

    def restored(self, text: str) -> str:
        """The cell with its magics, once its Python has become ``text``."""
        if text == self.text:
            return self.cell
        return self.head + "".join(map(self._restored_line, _LINE.findall(text)))

    def keeps(self, text: str) -> bool:
        """Whether all magics can be restored: a statement may have become too long for a line."""
        restored = self.restored(text)
        if len(_NUMBER.findall(restored)) != len(_NUMBER.findall(self.cell)):
            return False
        return _unnumbered(to_python(restored).text) == _unnumbered(text)

    def column(self, line: int) -> int:
        """How many characters of a line of the cell stand before its Python."""
        magic = self.hidden.get(str(line - 1), "")
        is_timed = _TIMED.match(f"{magic}x") is not None
        return len(self.indent) + (len(magic) if is_timed else 0)

    def _restored_line(self, line: str) -> str:
        line = self.indent + line if line.strip() else line
        timed = _TIMED_PLACE.search(line)
        if timed is not None and timed.group(1) in self.hidden:
            code = line[: timed.start()].lstrip(" \t")
            indent = line[: timed.start()][: -len(code)] if code else ""
            return indent + self.hidden[timed.group(1)] + code + line[timed.end() :]
        found = _PLACE.search(line)
        if found is None or found.group(1) not in self.hidden:
            return line
        before = line[: found.start()]
        magic = self.hidden[found.group(1)]
        if "#" in before:  # commented out with the block that it stands in
            magic = magic.replace("\n", f"\n{before}")
        return before + magic + line[found.end() :]


def _unnumbered(text: str) -> str:
    """A script without what tells its magics apart."""
    lines = (_TIMED_PLACE.sub("", line) for line in _LINE.findall(text))
    return _NUMBER.sub("", "".join(lines))


def split_lines(cell: str) -> List[str]:
    """The lines of a cell, with their ends."""
    return _LINE.findall(cell)


def to_python(cell: str) -> Python:
    """A cell with calls in place of all that only IPython understands."""
    lines = split_lines(cell)
    head = _head(lines)
    result = Python(cell, "".join(lines[:head]))
    if any(magic not in _WITH_PYTHON for magic in _cell_magics(lines[:head])):
        result.is_python = False
        return result
    lines, result.indent = _dedented(lines, head)
    where = _Where()
    number = head
    while number < len(lines):
        prefix, end = _magic(lines, number) if where.begins_statement else ("", number)
        timed = _timed(lines[number]) if end > number else None
        result.lines.append(number + 1)
        if timed is not None:
            indent, magic, code = timed
            line_end = lines[number][len(lines[number].rstrip("\r\n")) :]
            result.text += f"{indent}{code}  # npu-migrate {number}{line_end}"
            result.hidden[str(number)] = magic
            number += 1
        elif end > number:
            magic = "".join(lines[number:end])[len(prefix) :]
            bare = magic.rstrip("\r\n")
            result.text += f'{prefix}get_ipython("npu-migrate {number}"){magic[len(bare) :]}'
            result.hidden[str(number)] = bare
            number = end
        else:
            where.pass_over(lines[number])
            result.text += lines[number]
            number += 1
    return result


def _head(lines: List[str]) -> int:
    """How many lines precede the code: cell magics, and what is blank above them."""
    number = 0
    while number < len(lines) and not lines[number].strip():
        number += 1
    if number == len(lines) or not _CELL_MAGIC.match(lines[number]):
        return 0
    while number < len(lines) and _CELL_MAGIC.match(lines[number]):
        number = _continued(lines, number)
    return number


def _dedented(lines: List[str], head: int) -> Tuple[List[str], str]:
    """The lines without the indentation of the first line of code, and that indentation."""
    match = _INDENT.match("".join(lines[head:]))
    indent = match.group(1) if match else ""
    return [_without(indent, line) for line in lines], indent


def _without(indent: str, line: str) -> str:
    """A blank line keeps what it has, since it gets no indentation back."""
    return line[len(indent) :] if line.startswith(indent) and line.strip() else line


def _cell_magics(lines: List[str]) -> List[str]:
    return [match.group(1) for match in map(_CELL_MAGIC.match, lines) if match]


def _magic(lines: List[str], number: int) -> Tuple[str, int]:
    """What stands before a magic that begins on a line, and the line behind it."""
    line = lines[number].rstrip("\r\n")
    for pattern in (_STATEMENT, _ASSIGNMENT):
        match = pattern.match(line)
        if match:
            return match.group(), _continued(lines, number)
    match = _HELP.match(line)
    return (match.group(1), number + 1) if match else ("", number)


def _timed(line: str) -> Optional[Tuple[str, str, str]]:
    """Indentation, magic and statement of a line such as ``%time train()``."""
    match = _TIMED.match(line.rstrip("\r\n"))
    if match is None:
        return None
    indent, magic, code = match.groups()
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        return None
    return indent, magic, code


def _continued(lines: List[str], number: int) -> int:
    """The line behind one that backslashes may continue."""
    while number < len(lines) - 1 and lines[number].rstrip("\r\n").endswith("\\"):
        number += 1
    return number + 1


class _Where:
    """Whether the next line begins a statement, or goes on with a string or an expression."""

    def __init__(self) -> None:
        self._quote = ""
        self._depth = 0
        self._joined = False

    @property
    def begins_statement(self) -> bool:
        return not (self._quote or self._depth or self._joined)

    def pass_over(self, line: str) -> None:
        position = 0
        self._joined = False
        while position < len(line):
            if self._quote:
                position = self._end_of_string(line, position)
                continue
            stop = _STOP.search(line.rstrip("\r\n"), position)
            if stop is None or stop.group() == "#":
                break
            position = stop.end()
            self._pass_stop(stop.group())
        if len(self._quote) == 1 and not line.rstrip("\r\n").endswith("\\"):
            self._quote = ""  # a string that is not closed: Python will say so

    def _pass_stop(self, stop: str) -> None:
        if stop[0] in "\"'":
            self._quote = stop
        elif stop in "([{":
            self._depth += 1
        elif stop in ")]}":
            self._depth = max(self._depth - 1, 0)
        else:
            self._joined = True

    def _end_of_string(self, line: str, position: int) -> int:
        while position < len(line):
            if line[position] == "\\":
                position += 2
            elif line.startswith(self._quote, position):
                position += len(self._quote)
                self._quote = ""
                return position
            else:
                position += 1
        return position
