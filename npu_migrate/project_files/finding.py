"""What is found in a project file, before a rule gives it its words."""

from dataclasses import dataclass, field
from typing import Mapping


@dataclass(frozen=True)
class Found:
    """``details`` fill the placeholders of the rule's message and remedy."""

    rule: str
    line: int
    column: int
    symbol: str
    details: Mapping[str, str] = field(default_factory=dict)
