"""Writes comments that suppress findings: at the ends of lines of Python, above other commands."""

import re
import tokenize
from collections import defaultdict
from typing import Dict, Iterable, List, Set

from npu_migrate.findings import Finding
from npu_migrate.selection import STAYING
from npu_migrate.sources import decode, encode
from npu_migrate.suppressions import OWN_FAMILY, Span, Suppression, commands, read, tokens

_LINE = re.compile("([^\r\n]*)(\r\n|\r|\n|\\Z)")


def can_be_ignored(finding: Finding) -> bool:
    """Whether a comment may be written for a finding.

    Where a program waits for a finding, to suppress it would let the rest go without it.
    """
    return not finding.code.startswith(OWN_FAMILY) and finding.name not in STAYING


def with_ignores(data: bytes, path: str, findings: Iterable[Finding]) -> bytes:
    """A script with comments that suppress all of ``findings``, which are its own."""
    text = decode(data, path)
    lines = _LINE.findall(text)
    suppressions = read(text)
    closed = _closed(text)
    codes: Dict[int, Set[str]] = defaultdict(set)
    for finding in findings:
        codes[_line(finding.line, closed, suppressions.spans)].add(finding.code)
    comments = {c.line: c for c in suppressions.comments if not (c.is_for_file or c.problem)}
    for line, added in codes.items():
        code, end = lines[line - 1]
        lines[line - 1] = _commented(code, added, comments.get(line)), end
    return encode("".join(code + end for code, end in lines), data, path)


def with_ignores_above(data: bytes, findings: Iterable[Finding]) -> bytes:
    """A file of another language with comments above the commands that are left for a person."""
    lines = _LINE.findall(data.decode("utf-8", "surrogateescape"))
    starts = {
        line: first
        for first, last in commands([code for code, _ in lines])
        for line in range(first, last + 1)
    }
    codes: Dict[int, Set[str]] = defaultdict(set)
    for finding in findings:
        codes[starts[finding.line]].add(finding.code)
    for start in sorted(codes, reverse=True):
        code, end = lines[start - 1]
        indentation = " " * (
            len(code) - len(code.lstrip(" "))
        )  # a tab makes a recipe of a Makefile
        comment = f"{indentation}# npu-migrate: ignore[{_listed(codes[start])}]"
        lines.insert(start - 1, (comment, end or "\n"))
    return "".join(code + end for code, end in lines).encode("utf-8", "surrogateescape")


def _commented(line: str, codes: Set[str], comment: "Suppression | None") -> str:
    if comment is None:
        return f"{line.rstrip()}  # npu-migrate: ignore[{_listed(codes)}]"
    start = comment.column - 1
    end = start + len(comment.text)
    return f"{line[:start]}# npu-migrate: ignore[{_listed({*comment.codes, *codes})}]{line[end:]}"


def _listed(codes: Set[str]) -> str:
    return ",".join(sorted(codes))


def _line(line: int, closed: Set[int], spans: Iterable[Span]) -> int:
    """Where a comment on what stands on a line can stand: there, or where the statement ends."""
    if line not in closed:
        return line
    return min(last for first, last in spans if first <= line <= last and last not in closed)


def _closed(text: str) -> Set[int]:
    """The lines that end in a string, or that a backslash continues."""
    lines: List[str] = [code for code, _ in _LINE.findall(text)]
    closed = {number for number, line in enumerate(lines, 1) if line.endswith("\\")}
    string = 0
    for token in tokens(text):
        name = tokenize.tok_name[token.type]
        if name == "COMMENT":
            closed.discard(token.start[0])
        elif name == "STRING":
            closed.update(range(token.start[0], token.end[0]))
        elif name in ("FSTRING_START", "TSTRING_START"):
            string = string or token.start[0]
        elif name in ("FSTRING_END", "TSTRING_END"):
            closed.update(range(string, token.end[0]))
            string = 0
    return closed
