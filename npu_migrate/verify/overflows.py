"""Which steps are made to overflow, and on which ranks: the value of `--inject-overflow`."""

import re
from dataclasses import dataclass
from typing import List, Optional, Tuple

_PART = re.compile(r"(\d+)(?:-(\d+))?$")


@dataclass(frozen=True)
class Overflows:
    """Steps whose gradients become infinite before they are reduced.

    Attributes:
      steps: numbers of steps, from 1.
      rank: the only rank where they do, or None for every rank.
    """

    steps: Tuple[int, ...] = ()
    rank: Optional[int] = None

    def here(self, step: int, rank: int) -> bool:
        """Whether the gradients of a step overflow on a rank."""
        return step in self.steps and self.rank in (None, rank)

    def __str__(self) -> str:
        steps = ",".join(map(str, self.steps))
        return steps if self.rank is None else f"{steps}@{self.rank}"


def parse_overflows(text: str) -> Overflows:
    """Reads `3,7-9` or `3,7-9@RANK`.

    Raises:
      ValueError: it is neither.
    """
    steps_text, at, rank_text = text.partition("@")
    if at and not rank_text.isdigit():
        raise ValueError(f"after @ comes the number of a rank, not {rank_text!r}")
    steps: List[int] = []
    for part in steps_text.split(","):
        match = _PART.match(part.strip())
        if match is None or not int(match.group(1)):
            raise ValueError(f"steps are numbers from 1 or ranges as 7-9, not {part!r}")
        first = int(match.group(1))
        last = int(match.group(2) or first)
        if last < first:
            raise ValueError(f"the range {part} runs backwards")
        steps += range(first, last + 1)
    return Overflows(tuple(sorted(set(steps))), int(rank_text) if at else None)
