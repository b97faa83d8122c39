"""A file before and after, side by side, cut down to what there is to see."""

import difflib
from dataclasses import dataclass
from typing import Iterator, List, Sequence, Tuple

from npu_migrate.plan import Finding

CONTEXT = 3
"""Lines shown around what changes, and around what is found."""


@dataclass(frozen=True)
class Row:
    """One line of each side, from 0; -1 where a side has none. ``changed`` where they differ."""

    left: int
    right: int
    changed: bool


@dataclass(frozen=True)
class Hunk:
    """Rows that are shown together, and the findings that they answer."""

    rows: Tuple[Row, ...]
    findings: Tuple[Finding, ...]


def hunks_of(
    before: Sequence[str], after: Sequence[str], findings: Sequence[Finding]
) -> List[Hunk]:
    """What changes, and the lines of findings that change nothing.

    A finding belongs to the hunk that shows its line. What changes far from every finding, such as
    an import that the new code needs, is a hunk without one.
    """
    rows = list(_rows(before, after))
    at = {row.left: number for number, row in enumerate(rows) if row.left >= 0}
    of_line = {id(found): at[found.line - 1] for found in findings if found.line - 1 in at}
    seen = {number for number, row in enumerate(rows) if row.changed} | set(of_line.values())
    return [
        Hunk(
            tuple(rows[first:last]),
            tuple(f for f in findings if first <= of_line.get(id(f), -1) < last),
        )
        for first, last in _windows(sorted(seen), len(rows))
    ]


def _rows(before: Sequence[str], after: Sequence[str]) -> Iterator[Row]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, left, left_end, right, right_end in matcher.get_opcodes():
        for offset in range(max(left_end - left, right_end - right)):
            yield Row(
                left + offset if left + offset < left_end else -1,
                right + offset if right + offset < right_end else -1,
                kind != "equal",
            )


def _windows(numbers: Sequence[int], end: int) -> List[Tuple[int, int]]:
    """The numbers with their context, what touches joined."""
    windows: List[Tuple[int, int]] = []
    for number in numbers:
        first, last = max(number - CONTEXT, 0), min(number + CONTEXT + 1, end)
        if windows and first <= windows[-1][1]:
            windows[-1] = windows[-1][0], last
        else:
            windows.append((first, last))
    return windows
