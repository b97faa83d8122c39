"""Where the files of rules are."""

import os
from typing import List

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_HOMES = (
    os.path.join(_PACKAGE, "data", "rules"),
    os.path.join(os.path.dirname(_PACKAGE), "rules"),
)
"""Where the shipped rules are: in an installed package, and in a checkout."""


def shipped_rules() -> str:
    """The folder of the rules that come with the tool."""
    return next((home for home in _HOMES if os.path.isdir(home)), _HOMES[0])


def rule_files(folder: str) -> List[str]:
    """The paths of the files of rules in a folder, in order."""
    names = (name for name in os.listdir(folder) if name.endswith((".yaml", ".yml")))
    return sorted(os.path.join(folder, name) for name in names)
