"""The simple commands of a shell script, those in ``$(...)`` included. Nothing is run.

Words are kept as they are written, with their quotes and variables; what is quoted or stands in a
here-document is no command.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Generator, Iterator, List, Tuple

_PART = re.compile(
    r"""
    (?P<space>(?:[ \t\r]|\\\r?\n)+)
  | (?P<newline>\n)
  | (?P<here><<-?[ \t]*(?P<quote>['"]?)(?P<end>\w+)(?P=quote))
  | (?P<redirect>\d*(?:[<>]&\d*-?|<<<|>>|>\||[<>]|&>>?))
  | (?P<operator>&&|\|\||;;|[;&|()])
  | (?P<arithmetic>\$\(\()
  | (?P<substitution>\$\(|`)
  | (?P<double>")
  | (?P<plain>'[^']*'|\$\{[^}]*\}|\\.|[^\s;&|()<>"'`\\$]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_CONTINUED = re.compile(r"\\\r?\n[ \t]*")


@dataclass(frozen=True)
class Word:
    """A word as it is written; ``start`` is its place in the text."""

    text: str
    start: int

    @property
    def bare(self) -> str:
        """The word without the quotes around it."""
        text = self.text
        return text[1:-1] if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0] else text


Command = Tuple[Word, ...]


class Script:
    """The text of a shell script, or of a part of another file that is one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, start: int) -> Tuple[int, int]:
        """Line and column of a position in the text."""
        line = bisect_right(self._lines, start)
        return line, start - self._lines[line - 1] + 1

    def comments(self, pattern: "re.Pattern[str]") -> List[Tuple[str, ...]]:
        """What the groups of a pattern match on lines that it begins."""
        lines = self._text.split("\n")
        return [match.groups() for match in map(pattern.match, lines) if match]

    def commands(self) -> Iterator[Command]:
        """The commands in their order, each behind those that stand in its words."""
        return self._commands(0, len(self._text))

    def quoted(self, start: int, length: int) -> List[Command]:
        """The commands in a part of the text, as ``eval`` would find them in a string."""
        return list(self._commands(start, start + length))

    def _commands(self, position: int, end: int) -> Iterator[Command]:
        words: List[Word] = []
        here: List[str] = []
        start = -1  # of the word that is being read
        while position < end:
            if start < 0 and self._text[position] == "#":
                position = self._find("\n", position, end)
                continue
            match = _PART.match(self._text, position, end)
            assert match is not None
            kind = match.lastgroup
            if kind in ("space", "newline", "operator", "redirect", "here") and start >= 0:
                words.append(self._word(start, position))
                start = -1
            if kind in ("plain", "double", "arithmetic", "substitution") and start < 0:
                start = position
            position = match.end()
            if kind == "double":
                position = yield from self._double(position, end)
            elif kind == "arithmetic":
                position = self._closing(match.start() + 1, end)
            elif kind == "substitution":
                position = yield from self._substitution(match.start(), end)
            elif kind == "redirect":
                words.append(self._word(match.start(), position))
            elif kind == "here":
                words.append(self._word(match.start(), position))
                here.append(match.group("end"))
            elif kind in ("newline", "operator"):
                if words:
                    yield tuple(words)
                words = []
                if kind == "newline":
                    position = self._behind(here, position, end)
                    here = []
        if start >= 0:
            words.append(self._word(start, end))
        if words:
            yield tuple(words)

    def _word(self, start: int, end: int) -> Word:
        return Word(_CONTINUED.sub("", self._text[start:end]), start)

    def _double(self, position: int, end: int) -> "Generator[Command, None, int]":
        """The commands in a double-quoted string; returns the place behind it."""
        while position < end and self._text[position] != '"':
            if self._text[position] == "\\":
                position += 2
            elif self._text.startswith("$(", position) or self._text[position] == "`":
                position = yield from self._substitution(position, end)
            else:
                position += 1
        return min(position + 1, end)

    def _substitution(self, position: int, end: int) -> "Generator[Command, None, int]":
        if self._text[position] == "`":
            close = self._find("`", position + 1, end)
            yield from self._commands(position + 1, close)
            return min(close + 1, end)
        close = self._closing(position + 1, end)
        if not self._text.startswith("$((", position):
            yield from self._commands(position + 2, close - 1)
        return close

    def _closing(self, position: int, end: int) -> int:
        """The place behind the bracket that closes the one at ``position``."""
        depth = 0
        quote = ""
        while position < end:
            char = self._text[position]
            if char == "\\":
                position += 1
            elif quote:
                quote = "" if char == quote else quote
            elif char in "\"'":
                quote = char
            elif char in "()":
                depth += 1 if char == "(" else -1
                if depth == 0:
                    return position + 1
            position += 1
        return end

    def _find(self, what: str, position: int, end: int) -> int:
        found = self._text.find(what, position, end)
        return end if found < 0 else found

    def _behind(self, here: List[str], position: int, end: int) -> int:
        """The place behind the here-documents that begin at ``position``."""
        for word in here:
            match = re.compile(rf"^\t*{re.escape(word)}\r?$", re.MULTILINE).search(
                self._text, position, end
            )
            position = min(match.end() + 1, end) if match else end
        return position
