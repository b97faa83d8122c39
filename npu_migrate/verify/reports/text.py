"""The verdict for people at a terminal: a paragraph, a table, and where to look."""

import io
import os
import re
from typing import IO, Iterator, List, Tuple

from npu_migrate.findings import Finding
from npu_migrate.reports.visible import visible_line
from npu_migrate.verify.migration import Departure
from npu_migrate.verify.reports import Verification, own_changes_text, readable
from npu_migrate.verify.reports.rows import HEAD, NUMBERS, columns, rows
from npu_migrate.verify.verdict import Answer, Verdict

_STYLES = {
    Answer.SAME: "bold green",
    Answer.DIFFERENT: "bold red",
    Answer.KNOWN: "bold yellow",
    Answer.WRONG: "bold red",
    Answer.UNKNOWN: "bold yellow",
}
_MARKS = {"same": "green", "differs": "red", "left out": "dim"}
_MOST = 5
"""Findings that are named; the page has all."""
_WIDTH = 100
"""Characters of a line where no terminal says it."""
_LONGEST = 160
"""Characters of code that are shown."""
_LEAD = 40
"""Characters of them before what differs."""
_KNOWN_ALIKE = "Known differences of this migration, which change nothing here:"
_KNOWN_BESIDES = "Known differences of this migration, which do not explain it:"
_TAIL = 15
"""Lines of a failed run that are shown."""


def write(verification: Verification, stream: IO[str]) -> None:
    """Writes the verdict; in colour on terminals."""
    from rich.console import Console
    from rich.text import Text

    is_terminal = stream.isatty()
    console = Console(
        file=io.StringIO(),
        force_terminal=is_terminal,
        width=None if is_terminal else _WIDTH,
        highlight=False,
    )
    verdict = verification.verdict
    console.print(Text(verdict.answer.value.upper(), style=_STYLES[verdict.answer]))
    console.print(Text(visible_line(verdict.paragraph)))
    changes = own_changes_text(verification)
    if changes:
        console.print(Text(changes))
    if verdict.comparison.steps:
        console.print(_table(verdict))
    for title, lines in _sections(verdict):
        console.print(Text(f"\n{title}", style="bold"))
        for line in lines:
            console.print(Text(f"  {visible_line(line)}"), soft_wrap=True)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    stripped = "\n".join(line.rstrip() for line in printed.split("\n"))
    stream.write(re.sub(r"\n{3,}", "\n\n", stripped).rstrip() + "\n")


def _table(verdict: Verdict) -> object:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown = rows(verdict.comparison)
    for column in columns(shown):
        is_number = column in NUMBERS
        table.add_column(HEAD[column], justify="right" if is_number else "left")
    for row in shown:
        style = _MARKS[row.status]
        table.add_row(*(Text(row.cells[n], style=style if n == 1 else "") for n in columns(shown)))
    return table


_Section = Tuple[str, List[str]]


def _sections(verdict: Verdict) -> Iterator[_Section]:
    """What there is besides the table: title and lines."""
    for failed in verdict.last_words:
        tail = [readable(line) for line in failed.tail[-_TAIL:]]
        yield f"Last lines of the {failed.run}:", tail or ["(none)"]
    for title, lines in (
        ("Where the migrated script is not what npu-migrate writes:", _departures(verdict)),
        ("What npu-migrate finds in the migrated script:", _named(verdict.wrong)),
        ("What there was to migrate, and concerns this:", _named(verdict.concerned)),
        (
            _KNOWN_ALIKE if verdict.answer is Answer.SAME else _KNOWN_BESIDES,
            [f"{each.title}. {each.explanation}" for each in verdict.known_besides],
        ),
        (
            "Faults that the original has too:",
            [f"{f.title} ({f.detail}). {f.consequence}" for f in verdict.faults if f.is_original],
        ),
        ("Mind:", list(verdict.cautions)),
    ):
        if lines:
            yield title, lines


def _departures(verdict: Verdict) -> List[str]:
    return [_departure(departure) for departure in verdict.departures]


def _departure(departure: Departure) -> str:
    texts = departure.text, departure.ours
    alike = len(os.path.commonprefix(texts))
    start = alike - _LEAD if alike > _LONGEST // 2 else 0
    theirs, ours = (_around(text, start) for text in texts)
    return (
        f"{departure.path}:{departure.line}: {theirs or '(nothing)'}"
        f"  (npu-migrate: {ours or 'nothing'})"
    )


def _named(findings: Tuple[Finding, ...]) -> List[str]:
    lines = [f"{f.place} {f.code} {_start(f.message)}" for f in findings[:_MOST]]
    left = len(findings) - _MOST
    return [*lines, f"and {left} more"] if left > 0 else lines


def _around(code: str, start: int) -> str:
    """Code, or of code that is too long what there is from some place on."""
    start = min(start, max(0, len(code) - _LONGEST))
    end = start + _LONGEST
    return f"{'... ' if start else ''}{code[start:end]}{' ...' if end < len(code) else ''}"


def _start(message: str) -> str:
    """What a message begins with; what follows is on the page."""
    return " ".join(message.partition("; ")[0].split())
