"""The shell commands of a notebook: ``!`` lines, ``%env``, and cells in the shell's language."""

import re
from typing import Iterator, List, Mapping, Tuple

from npu_migrate.notebooks.document import Document
from npu_migrate.notebooks.magics import split_lines, to_python

_SHELL_CELL = re.compile(r"\s*%%(?:bash|sh|shell|script[ \t]+(?:ba|z)?sh)\b")
_COMMAND = re.compile(r"!{1,2}")
_ENVIRONMENT = re.compile(r"%(?:set_)?env\b")
_WITH_SPACE = re.compile(r"^([ \t]*\w+)[ \t]+(?=[^\s=])", re.MULTILINE)
"""``%env NAME value``, which is ``%env NAME=value``."""


def shell_cells(path: str, data: bytes) -> Iterator[Tuple[int, str, str]]:
    """Number, shell script and sign of each cell that has commands.

    In the script each command stands where it stands in the cell; the sign is what a command of the
    cell begins with.
    """
    for code in Document(path, data).cells:
        shell = _SHELL_CELL.match(code.text)
        if shell:
            line_end = code.text.find("\n", shell.end())
            head = code.text[: line_end + 1] if line_end >= 0 else code.text
            yield code.number, "\n" * head.count("\n") + code.text[len(head) :], ""
            continue
        hidden = to_python(code.text).hidden
        for sign, start in (("!", _COMMAND), ("%env ", _ENVIRONMENT)):
            script = _only(start, split_lines(code.text), hidden)
            if start is _ENVIRONMENT:
                script = _WITH_SPACE.sub(r"\1=", script)
            if script.strip():
                yield code.number, script, sign


def _only(start: "re.Pattern[str]", lines: List[str], hidden: Mapping[str, str]) -> str:
    """The magics that begin in one way, without that beginning; other lines go blank."""
    kept = ["\n"] * len(lines)
    for number, magic in hidden.items():
        match = start.match(magic)
        if match is None:
            continue
        first, *others = magic.split("\n")
        column = lines[int(number)].rindex(first) + match.end()
        kept[int(number)] = " " * column + first[match.end() :] + "\n"
        for line, text in enumerate(others, int(number) + 1):
            kept[line] = text + "\n"
    return "".join(kept)
