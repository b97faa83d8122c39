"""The table of all quantities, as words; `step 3@1` is step 3 on rank 1."""

from dataclasses import dataclass
from typing import List, Sequence, Tuple

from npu_migrate.verify.comparison import NEITHER, ROUNDED, Compared, Comparison
from npu_migrate.verify.quantities import STATE
from npu_migrate.verify.words import both, distance

HEAD = ("quantity", "", "first at", "original", "migrated", "apart", "tolerance", "repeats")
NUMBERS = (2, 3, 4, 5, 6, 7)
"""Columns that hold numbers."""


@dataclass(frozen=True)
class Row:
    """One quantity; `status` is `same`, `differs` or `left out`."""

    status: str
    cells: Tuple[str, ...]


def rows(comparison: Comparison) -> List[Row]:
    """A row for each quantity that is of interest."""
    several = comparison.ranks > 1
    return [_row(compared, several) for compared in comparison.quantities if _is_told(compared)]


def _is_told(compared: Compared) -> bool:
    is_unusual = compared.quantity == STATE and compared.left_out == NEITHER
    return compared.left_out != ROUNDED and not is_unusual


def columns(shown: Sequence[Row]) -> List[int]:
    """The columns that have something to show."""
    return [n for n in range(len(HEAD)) if n < 2 or any(row.cells[n] for row in shown)]


def _row(compared: Compared, several: bool) -> Row:
    title, repeats = compared.quantity.title, _repeats(compared)
    if compared.left_out or not compared.values:
        what = "none in either" if compared.left_out == NEITHER else "not compared"
        return Row("left out", (title, what, "", "", "", "", "", repeats))
    tolerance = "exact" if compared.quantity.is_exact else distance(compared.rtol)
    first = compared.first
    if first is None:
        apart = "" if compared.quantity.is_exact else distance(compared.largest)
        return Row("same", (title, "same", "", "", "", apart, tolerance, repeats))
    place = f"step {first.step}" + (f"@{first.rank}" if several else "")
    original, migrated = both(first.quantity, first.original, first.migrated)
    if first.allowed > compared.rtol:
        tolerance = distance(first.allowed)
    apart = distance(first.apart)
    return Row("differs", (title, "differs", place, original, migrated, apart, tolerance, repeats))


def _repeats(compared: Compared) -> str:
    """How well the original repeats itself in a quantity."""
    if compared.repeatable_until == 0:
        return "not at all"
    if compared.repeatable_until is not None:
        return f"until step {compared.repeatable_until}"
    if compared.spread is None:
        return ""
    return f"to {distance(compared.spread)}" if compared.spread else "exactly"
