"""Which steps are made to overflow, and on which ranks: the values of `--inject-overflow`."""

import re
from dataclasses import dataclass
from typing import Any, Iterable, Optional, Tuple

_PART = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?$")
_RANK = re.compile(r"\d{1,9}$")


@dataclass(frozen=True)
class OverflowRange:
    """Steps in a row whose gradients become infinite before they are reduced.

    Attributes:
      first, last: numbers of steps, from 1.
      rank: the only rank where they do, or None for every rank.
    """

    first: int
    last: int
    rank: Optional[int] = None

    def __str__(self) -> str:
        steps = str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        return steps if self.rank is None else f"{steps}@{self.rank}"


@dataclass(frozen=True)
class Overflows:
    """All steps whose gradients become infinite."""

    ranges: Tuple[OverflowRange, ...] = ()

    @property
    def first(self) -> Optional[int]:
        """The first step that overflows on some rank."""
        return min((part.first for part in self.ranges), default=None)

    def here(self, step: int, rank: int) -> bool:
        """Whether the gradients of a step overflow on a rank."""
        return any(
            part.first <= step <= part.last and part.rank in (None, rank) for part in self.ranges
        )

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __str__(self) -> str:
        return " ".join(map(str, self.ranges))


def parse_overflows(text: str) -> Overflows:
    """Reads `3,7-9` or `3,7-9@RANK`.

    Raises:
      ValueError: it is neither.
    """
    steps_text, at, rank_text = text.partition("@")
    if at and not _RANK.match(rank_text):
        raise ValueError(f"after @ comes the number of a rank, not {rank_text!r}")
    rank = int(rank_text) if at else None
    return Overflows(tuple(_range(part, rank) for part in steps_text.split(",")))


def joined(several: Iterable[Overflows]) -> Overflows:
    """The overflows of several values."""
    return Overflows(tuple(part for overflows in several for part in overflows.ranges))


def overflows_of(values: Any) -> Overflows:
    """The overflows that `dataclasses.asdict` made `values` of."""
    return Overflows(tuple(OverflowRange(**part) for part in values["ranges"]))


def _range(text: str, rank: Optional[int]) -> OverflowRange:
    match = _PART.match(text.strip())
    if match is None or not int(match.group(1)):
        raise ValueError(f"steps are numbers from 1 or ranges as 7-9, not {text!r}")
    first = int(match.group(1))
    last = int(match.group(2) or first)
    if last < first:
        raise ValueError(f"the range {text} runs backwards")
    return OverflowRange(first, last, rank)
