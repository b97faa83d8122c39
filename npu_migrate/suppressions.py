"""Comments that suppress findings.

``# npu-migrate: ignore`` suppresses what is found on its line, ``ignore[NPU101,NPU2]`` only what
has these codes or starts of codes. Of a statement over several lines, the first and the last speak
for all. ``# npu-migrate: ignore-file``, alone on a line at the top level, speaks for its file.

In files of other languages a comment alone on a line speaks for the command below it, since many
lines there can't take one: a backslash at the end of a line continues the command.
"""

import difflib
import io
import re
import tokenize
from dataclasses import dataclass, replace
from typing import Iterator, List, Sequence, Tuple

from npu_migrate.findings import Finding
from npu_migrate.rules import Rule, Rules, UnknownCode
from npu_migrate.sources import decode

_MARK = "npu-migrate"
_SIGN = re.compile(rb"#[ \t]*(?i:npu[-_]?migrate)\b")

OWN_FAMILY = "NPU0"
"""How the codes start of findings about the comments themselves, which comments don't suppress."""

UNUSED, UNCLEAR = "unused-suppression", "unclear-suppression"

LINE_END = re.compile("\r\n|\r|\n")

_COMMENT = re.compile(
    r"#\s*(?P<mark>npu[-_]?migrate\b)[ \t]*(?P<colon>:?)\s*"
    r"(?P<word>[\w-]+)[ \t]*(?P<codes>\[[^\]#]*(?P<closed>\])?)?",
    re.IGNORECASE,
)
_MISPLACED = re.compile(r"[ \t]*(?:[({<:=]|[A-Za-z]+\d{3}\b)")
"""What looks like codes without brackets."""
_ESCAPE, _TEXT, _HASH = (
    r"\\[\s\S]",
    r"'{3}[\s\S]*?'{3}|\"{3}[\s\S]*?\"{3}",
    r"(?<![^\s;&|()])#[^\n]*",
)
_PARTS = rf"{_TEXT}|{_ESCAPE}|'[^'\n]*'|\"(?:\\.|[^\"\\\n])*\"|{_HASH}"
_SHELL_PARTS = (
    rf"(?m){_ESCAPE}|'[^']*'|\"(?:\\[\s\S]|[^\"\\])*\"|{_HASH}"
    r"|<<-?[ \t]*(['\"]?)(?P<end>\w+)\1[^\n]*\n(?:[^\n]*\n)*?[ \t]*(?P=end)[ \t]*$"
)
"""Strings, here-documents and comments."""
_LINE, _FILE = "ignore", "ignore-file"
_LIKE = (_LINE, _FILE, "ignored", "ignores", "noqa", "nolint", "disable", "skip", "suppress")
_LAYOUT = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)

Span = Tuple[int, int]
"""The first and the last line of a statement, or of its header."""


@dataclass(frozen=True)
class Suppression:
    """One comment; without ``codes`` it speaks of all, with a ``problem`` of none."""

    line: int
    column: int
    text: str
    codes: Tuple[str, ...] = ()
    is_for_file: bool = False
    problem: str = ""

    def speaks_of(self, code: str) -> bool:
        if self.problem or code.startswith(OWN_FAMILY):
            return False
        return not self.codes or code.startswith(self.codes)


@dataclass(frozen=True)
class Suppressions:
    """What is suppressed in one file: by its comments, and ``everywhere`` in it."""

    comments: Tuple[Suppression, ...] = ()
    spans: Tuple[Span, ...] = ()
    everywhere: Tuple[str, ...] = ()
    """Starts of codes that the configuration ignores in this file."""

    def suppress(self, code: str, line: int) -> bool:
        """Whether a finding on a line is suppressed."""
        return code.startswith(self.everywhere) or any(self._of(code, line))

    def holds(self, finding: Finding) -> bool:
        return self.suppress(finding.code, finding.line)

    def _of(self, code: str, line: int) -> Iterator[Suppression]:
        for comment in self.comments:
            if comment.speaks_of(code) and (comment.is_for_file or self._reaches(comment, line)):
                yield comment

    def _reaches(self, comment: Suppression, line: int) -> bool:
        return comment.line == line or any(
            first <= line <= last and comment.line in (first, last) for first, last in self.spans
        )

    # What is wrong with the comments themselves -------------------------------------------------

    def judged(
        self, path: str, found: Sequence[Finding], chosen: Rules, known: Rules
    ) -> List[Finding]:
        """Findings about the comments, once ``found`` is what was suppressed.

        A comment about rules that are not ``chosen`` may be of use in another run.
        """
        rules = {rule.name: rule for rule in chosen.by_code.values()}
        findings: List[Finding] = []
        for comment in self.comments:
            problems = _problems(comment, known)
            if UNCLEAR in rules:
                findings += [_finding(path, comment, rules[UNCLEAR], text) for text in problems]
            if UNUSED in rules and not problems:
                unused = self._unused(comment, found, chosen, known)
                findings += [_finding(path, comment, rules[UNUSED], text) for text in unused]
        return [finding for finding in findings if not self.holds(finding)]

    def _unused(
        self, comment: Suppression, found: Sequence[Finding], chosen: Rules, known: Rules
    ) -> Iterator[str]:
        """What a comment says to no purpose."""
        mine = [f.code for f in found if comment in self._of(f.code, f.line)]
        for start in comment.codes or ("",):
            is_used = any(code.startswith(start) for code in mine)
            is_lasting = start not in known.by_code or not known.by_code[start].once
            if not is_used and is_lasting and _are_chosen(start, chosen, known):
                yield start or comment.text


def _are_chosen(start: str, chosen: Rules, known: Rules) -> bool:
    """Whether a run looks for all that a start stands for, but for what is off by default."""
    meant = [rule for rule in known.by_code.values() if rule.code.startswith(start)]
    wanted = [rule for rule in meant if rule.default] or meant
    return all(rule.code in chosen.by_code for rule in wanted)


def _problems(comment: Suppression, known: Rules) -> List[str]:
    if comment.problem:
        return [comment.problem]
    problems = []
    for start in comment.codes:
        try:
            known.starts([start])
        except UnknownCode as error:
            problems.append(str(error))
    return problems


def _finding(path: str, comment: Suppression, rule: Rule, subject: str) -> Finding:
    return Finding(
        code=rule.code,
        name=rule.name,
        path=path,
        line=comment.line,
        column=comment.column,
        symbol="",
        status=rule.status,
        message=rule.message.format(subject=subject),
        remedy=rule.remedy.format(subject=subject),
    )


# Reading ------------------------------------------------------------------------------------------


def are_in(data: bytes) -> bool:
    """Whether a file may hold such comments; others are never tokenised."""
    return _SIGN.search(data) is not None


def of_script(path: str, data: bytes, everywhere: Tuple[str, ...]) -> Suppressions:
    """What comments in a script suppress, and the configuration ``everywhere`` in it."""
    comments = read(decode(data, path)) if are_in(data) else Suppressions()
    return replace(comments, everywhere=everywhere)


def read(text: str) -> Suppressions:
    """The suppressions of a script."""
    comments: List[Suppression] = []
    spans: List[Span] = []
    start, decorators = 0, 0
    is_decorator, last = False, 0
    for token in tokens(text):
        (line, column), end = token.start, token.end[0]
        if token.type == tokenize.COMMENT:
            comments += _read(token.string, line, column, last < line)
        elif token.type == tokenize.NEWLINE:
            spans += [(start, line), (decorators or start, line)]
            decorators = (decorators or start) if is_decorator else 0
            start = 0
        elif token.type not in _LAYOUT:
            if not start:
                start, is_decorator = line, token.string == "@"
            last = end
    return Suppressions(tuple(comments), tuple({s: 0 for s in spans if s[0] < s[1]}))


def read_lines(text: str, is_shell: bool) -> Suppressions:
    """The suppressions of a file in another language whose comments begin with ``#``."""
    comments: List[Suppression] = []
    lines = LINE_END.split(text)
    text = "\n".join(lines)
    for part in re.finditer(_SHELL_PARTS if is_shell else _PARTS, text):
        match = _COMMENT.search(part.group()) if part.group().startswith("#") else None
        if match:
            start = part.start() + match.start()
            before = text[text.rfind("\n", 0, start) + 1 : start]
            number = text.count("\n", 0, start) + 1
            rest = part.group()[match.start() :]
            comments += _read(rest, number, len(before), not before.strip())
    return Suppressions(tuple(comments), tuple(_with_comments(lines)))


def commands(lines: Sequence[str]) -> Iterator[Span]:
    """The commands of a file that is no script, each with the lines that it is continued on."""
    start = 0
    for number, line in enumerate(lines, 1):
        is_comment = _is_comment(line)
        if is_comment and not start:
            continue
        start = start or number
        if is_comment or not line.endswith("\\"):
            yield start, number
            start = 0


def _with_comments(lines: Sequence[str]) -> Iterator[Span]:
    """The commands, and each with the lines right above it that are comments."""
    for first, last in commands(lines):
        yield first, last
        while first > 1 and _is_comment(lines[first - 2]):
            first -= 1
            yield first, last


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens of a script that can be parsed, its lines counted as ``ast`` counts them."""
    lines = "\n".join(LINE_END.split(text)) + "\n"
    try:
        yield from tokenize.generate_tokens(io.StringIO(lines).readline)
    except (tokenize.TokenError, SyntaxError):
        return


def _read(comment: str, line: int, column: int, is_alone: bool) -> Iterator[Suppression]:
    for match in _COMMENT.finditer(comment):
        if is_alone and match.start():  # code that was commented out
            return
        yield from _meant(match, line, column + match.start(), is_alone)


def _meant(match: "re.Match[str]", line: int, at: int, is_alone: bool) -> Iterator[Suppression]:
    word, codes, text = match.group("word"), match.group("codes"), match.group().rstrip()
    misspelt = match.group("mark").lower() != _MARK or not match.group("colon")
    if misspelt:
        if word.lower() in (_LINE, _FILE) and (codes or match.group("colon")):
            problem = f"it is written # {_MARK}: {word.lower()}"
            yield Suppression(line, at + 1, text, problem=problem)
        return
    if word.lower() in (_LINE, _FILE):
        word = word.lower()
        given = (part.strip().upper() for part in (codes or "").strip("[]").split(","))
        starts = tuple("" if start == "ALL" else start for start in given if start)
        problem = _problem(word, codes, match.group("closed"), starts, is_alone and not at)
        if not codes and _MISPLACED.match(match.string, match.end("word")):
            problem = f"codes stand in brackets, as in {word}[NPU101]"
        yield Suppression(line, at + 1, text, starts, word == _FILE, problem)
    elif (
        codes
        or word.lower().startswith(_LINE)
        or difflib.get_close_matches(word.lower(), _LIKE, cutoff=0.75)
    ):
        problem = f"{word} is neither {_LINE} nor {_FILE}"
        yield Suppression(line, at + 1, text, problem=problem)


def _problem(word: str, codes: str, closed: str, starts: Sequence[str], is_at_top: bool) -> str:
    if codes and not closed:
        return "the bracket is not closed"
    if codes and not starts:
        return "no code stands in the brackets"
    if word == _FILE and not is_at_top:
        return f"{_FILE} does not stand alone on a line at the top level"
    return ""
