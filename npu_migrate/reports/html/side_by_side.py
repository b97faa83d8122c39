"""A file before and after, side by side, cut down to what there is to see."""

import difflib
from dataclasses import dataclass
from typing import Iterator, List, Sequence, Set, Tuple

from npu_migrate.changes import Change, Kind
from npu_migrate.findings import Finding

CONTEXT = 3
"""Lines shown around what changes, and around what is found."""
_ALIKE = 0.5
_MOST_PAIRS = 1000


@dataclass(frozen=True)
class Row:
    """One line of each side, from 0; -1 where a side has none. ``changed`` where they differ."""

    left: int
    right: int
    changed: bool


@dataclass(frozen=True)
class Hunk:
    """Rows that are shown together, the findings on them, and what else changes them."""

    rows: Tuple[Row, ...]
    findings: Tuple[Finding, ...]
    others: Tuple[Change, ...]
    """Changes for findings that stand elsewhere, such as an import that their new code needs."""


def hunks_of(
    before: Sequence[str],
    after: Sequence[str],
    findings: Sequence[Finding],
    changes: Sequence[Change] = (),
) -> List[Hunk]:
    """What changes, and the lines of findings that change nothing."""
    rows = list(_rows(before, after))
    at = {row.left: number for number, row in enumerate(rows) if row.left >= 0}
    of_line = {id(found): at[found.line - 1] for found in findings if found.line - 1 in at}
    seen = {number for number, row in enumerate(rows) if row.changed} | set(of_line.values())
    hunks = []
    for first, last in _windows(sorted(seen), len(rows)):
        own = tuple(f for f in findings if first <= of_line.get(id(f), -1) < last)
        others = _reaching(changes, _changed_lines(rows, first, last))
        foreign = tuple(change for change in others if change.finding not in own)
        hunks.append(Hunk(tuple(rows[first:last]), own, foreign))
    return hunks


def _changed_lines(rows: Sequence[Row], first: int, last: int) -> Set[int]:
    """The lines of the original, from 1, that change in some rows, or that new ones adjoin."""
    lines = set()
    for number in range(first, last):
        if rows[number].changed:
            lines.add(next((row.left + 1 for row in rows[number::-1] if row.left >= 0), 1))
            if rows[number].left < 0:
                lines |= {row.left + 1 for row in rows[number : number + 2] if row.left >= 0}
    return lines


def _reaching(changes: Sequence[Change], lines: Set[int]) -> List[Change]:
    """The changes of some lines; those of the next ones where there is none."""
    for margin in (0, 1):
        found = [change for change in changes if any(_reaches(change, n, margin) for n in lines)]
        if found:
            return found
    return []


def _reaches(change: Change, line: int, margin: int) -> bool:
    """A new import stands below its place, in front of the next line."""
    below = margin or int(change.kind is Kind.IMPORT)
    return change.first - margin <= line <= change.last + below


def _rows(before: Sequence[str], after: Sequence[str]) -> Iterator[Row]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, left, left_end, right, right_end in matcher.get_opcodes():
        if kind == "equal":
            yield from (Row(left + n, right + n, False) for n in range(left_end - left))
            continue
        for one, other in _paired(before[left:left_end], after[right:right_end]):
            yield Row(left + one if one >= 0 else -1, right + other if other >= 0 else -1, True)


def _paired(before: Sequence[str], after: Sequence[str]) -> List[Tuple[int, int]]:
    """Lines that are like each other beside each other, in order; the others have no other side."""
    if not before or not after or len(before) * len(after) > _MOST_PAIRS:
        longest = range(max(len(before), len(after)))
        return [(n if n < len(before) else -1, n if n < len(after) else -1) for n in longest]
    best = _best_pairs(before, after)
    pairs: List[Tuple[int, int]] = []
    left = right = 0
    for one, other in [*best, (len(before), len(after))]:
        pairs += _beside(range(left, one), range(right, other))
        pairs.append((one, other))
        left, right = one + 1, other + 1
    return pairs[:-1]


def _beside(left: Sequence[int], right: Sequence[int]) -> List[Tuple[int, int]]:
    """Lines without likeness: beside each other where as many come as go."""
    if len(left) == len(right):
        return list(zip(left, right))
    return [(n, -1) for n in left] + [(-1, n) for n in right]


def _best_pairs(before: Sequence[str], after: Sequence[str]) -> List[Tuple[int, int]]:
    """The pairs, in order, that are most like each other on the whole."""
    rows, columns = len(before), len(after)
    worth = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    alike = [[_likeness(one, other) for other in after] for one in before]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            together = worth[i + 1][j + 1] + alike[i][j]
            worth[i][j] = max(together, worth[i + 1][j], worth[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < rows and j < columns:
        if alike[i][j] and worth[i][j] == worth[i + 1][j + 1] + alike[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif worth[i][j] == worth[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _likeness(one: str, other: str) -> float:
    """How much two lines are alike, from 0 to 1; 0 where it is not worth a word."""
    matcher = difflib.SequenceMatcher(None, one.strip(" \t#"), other.strip(" \t#"), autojunk=False)
    if matcher.real_quick_ratio() < _ALIKE or matcher.quick_ratio() < _ALIKE:
        return 0.0
    ratio = matcher.ratio()
    return ratio if ratio >= _ALIKE else 0.0


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
