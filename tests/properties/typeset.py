"""Sets plain code in odd ways: spaces, breaks, comments, indentation, line ends, encodings.

The plain code has one logical line a line and four spaces a level. ``¶`` in a string literal
stands for a line end. What a setting does to the code never changes what the code says.
"""

import random
import re
from dataclasses import dataclass
from typing import FrozenSet, Iterator, List, Match, Tuple, Union

from hypothesis import strategies as st

KINDS = (
    "spaces",
    "breaks",
    "comments",
    "blank lines",
    "continuations",
    "semicolons",
    "suites",
    "trailing spaces",
    "parentheses",
    "indentations",
)
"""What may be odd about a text."""

NEWLINES = ("\n", "\r\n")
ENCODINGS = ("", "utf-8", "bom", "bom utf-8", "gbk", "latin-1")
INDENTS = ("    ", "  ", "\t", "   ")


@dataclass(frozen=True)
class Setting:
    """How to set a text; ``chance`` decides where each of the odd things happens."""

    kinds: FrozenSet[str] = frozenset()
    indent: str = "    "
    newline: str = "\n"
    encoding: str = ""
    final_newline: bool = True
    chance: int = 0


def settings() -> "st.SearchStrategy[Setting]":
    """Any setting; the plain one is the simplest."""
    return st.builds(
        Setting,
        kinds=st.sets(st.sampled_from(KINDS)).map(frozenset),
        indent=st.sampled_from(INDENTS),
        newline=st.sampled_from(NEWLINES),
        encoding=st.sampled_from(ENCODINGS),
        final_newline=st.sampled_from((True, False)),
        chance=st.integers(0, 10_000),
    )


@dataclass(frozen=True)
class Suite:
    """A header with its block."""

    header: str
    body: "List[Node]"


Node = Union[str, Suite]


def tree(code: str) -> List[Node]:
    """The lines of plain code as nested suites."""
    lines = [line for line in code.split("\n") if line.strip()]
    nodes, rest = _block(lines, 0)
    assert not rest, rest
    return nodes


def _block(lines: List[str], level: int) -> Tuple[List[Node], List[str]]:
    nodes: List[Node] = []
    while lines and _level(lines[0]) == level:
        line = lines.pop(0).strip()
        if lines and _level(lines[0]) > level:
            body, lines = _block(lines, _level(lines[0]))
            nodes.append(Suite(line, body))
        else:
            nodes.append(line)
    return nodes, lines


def _level(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def typeset(code: str, setting: Setting) -> bytes:
    """The bytes of a file with that code."""
    setter = _Setter(setting)
    lines = list(setter.lines(tree(code), ""))
    encoding = setting.encoding
    bom = b"\xef\xbb\xbf" if encoding.startswith("bom") else b""
    name = encoding[4:] if encoding.startswith("bom") else encoding
    if name:
        lines.insert(0, f"# -*- coding: {name} -*-")
    text = "\n".join(lines).replace("¶", "\n") + ("\n" if setting.final_newline else "")
    data = text.replace("\n", setting.newline).encode(name or "utf-8")
    return bom + data


_TOKEN = re.compile(
    r"""[rRbBuUfF]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    r"""|[^\W\d]\w*|\d[\w.]*(?:(?<=e)[-+]\d+)?|\*\*=?|//=?|->|[-+*/%<>=!]=|\S"""
)
_COMMENTS = ("# note", "#", "#!odd", "# x = f(y)  ;", "#\ttab", "# npu", "# " + "long " * 40)
_FOREIGN = {"gbk": "# 损失缩放", "latin-1": "# Größe", "": "# 損失 é 🙂", "utf-8": "# 損失 é 🙂"}
_ALONE = re.compile(r"@|(?:if|elif|else|for|while|with|def|class|async|try|except|finally)\b")
"""How lines start that share their line with no other."""


class _Setter:
    """Sets the lines of one text."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.random = random.Random(setting.chance)
        foreign = _FOREIGN[setting.encoding.replace("bom", "").strip()]
        self.comments = (*_COMMENTS, foreign, foreign)

    def odd(self, kind: str, chance: float) -> bool:
        return kind in self.setting.kinds and self.random.random() < chance

    def lines(self, nodes: List[Node], indent: str) -> Iterator[str]:
        """A block, line by line (a broken line is one, with its breaks)."""
        place = 0
        while place < len(nodes):
            yield from self.between(indent)
            node = nodes[place]
            place += 1
            if isinstance(node, Suite):
                yield from self.suite(node, indent)
                continue
            line = self.code(node)
            while place < len(nodes) and self.joins(node, nodes[place]):
                node = str(nodes[place])
                place += 1
                line += self.semicolon() + self.code(node)
            if not _ALONE.match(node) and self.odd("semicolons", 0.1):
                line += " ;"
            yield indent + line + self.end()
        if self.odd("comments", 0.1):
            yield indent + self.random.choice(self.comments)

    def joins(self, node: str, following: Node) -> bool:
        if isinstance(following, Suite) or _ALONE.match(node) or _ALONE.match(following):
            return False
        return self.odd("semicolons", 0.25)

    def semicolon(self) -> str:
        return self.random.choice(("; ", ";", " ; "))

    def between(self, indent: str) -> Iterator[str]:
        """Blank lines and comments before a statement."""
        if self.odd("blank lines", 0.3):
            for _ in range(self.random.randint(1, 3)):
                yield self.random.choice(("", indent, indent + " ", "\t", "      "))
        if self.odd("comments", 0.3):
            aside = self.random.random() < 0.2
            yield (self.random.choice(("", "  ", indent + "  ")) if aside else indent) + (
                self.random.choice(self.comments)
            )

    def suite(self, node: Suite, indent: str) -> Iterator[str]:
        header = self.code(node.header)
        simple = [one for one in node.body if isinstance(one, str)]
        whole = len(simple) == len(node.body) and not any(_ALONE.match(one) for one in simple)
        if whole and len(simple) < 4 and self.odd("suites", 0.5):
            body = self.semicolon().join(self.code(one) for one in simple)
            yield f"{indent}{header}{self.random.choice((' ', '', '  '))}{body}{self.end()}"
            return
        yield indent + header + self.end()
        inner = self.setting.indent
        if self.odd("indentations", 0.3):
            inner = "\t" if inner == "\t" else self.random.choice((" ", "  ", "     "))
        yield from self.lines(node.body, indent + inner)

    def end(self) -> str:
        """What stands behind the code of a line."""
        end = ""
        if self.odd("comments", 0.2):
            end += self.random.choice(("  ", " ", "")) + self.random.choice(self.comments)
        if self.odd("trailing spaces", 0.3):
            end += self.random.choice((" ", "   ", "\t"))
        return end

    def code(self, text: str) -> str:
        """One logical line."""
        if self.odd("parentheses", 0.15):
            text = _parenthesised(text)
        tokens = list(_TOKEN.finditer(text))
        line = tokens[0].group()
        depth = 0
        for before, after in zip(tokens, tokens[1:]):
            depth += before.group() in "([{"
            depth -= before.group() in ")]}"
            gap = text[before.end() : after.start()]
            if not _defeats_libcst(tokens[0].group(), before.group(), after):
                gap = self.gap(gap, before.group(), after.group(), depth)
            line += gap + after.group()
        return line

    def gap(self, gap: str, before: str, after: str, depth: int) -> str:
        """The space between two tokens."""
        if depth and self.odd("breaks", 0.12):
            comment = "  " + self.random.choice(self.comments) if self.odd("comments", 0.3) else ""
            space = self.random.choice(("", " "))
            return f"{space}{comment}\n{' ' * self.random.randint(0, 12)}"
        if not depth and self.odd("continuations", 0.03):
            return " \\\n" + " " * self.random.randint(0, 8)
        if self.odd("spaces", 0.15):
            if gap and _is_word(before[-1]) and _is_word(after[0]):
                return self.random.choice((" ", "  ", "\t"))
            if before[-1].isdigit() or after[0] in "\"'":
                return gap
            return self.random.choice(("", " ", "  "))
        return gap


def _defeats_libcst(first: str, before: str, after: "Match[str]") -> bool:
    """Where libcst loses a blank (``except E :``) or does not parse a break (``async`` ``for``)."""
    at_end = after.end() == len(after.string)
    return before == "async" or (first == "except" and after.group() == ":" and at_end)


def _is_word(character: str) -> bool:
    return character.isalnum() or character in "_\"'"


_VALUE = re.compile(r"^(return |[\w.]+ = )(?![\w.]+ = |yield)([^;]+)$")


def _parenthesised(text: str) -> str:
    """The value of an assignment or return in parentheses."""
    return _VALUE.sub(r"\1(\2)", text)
