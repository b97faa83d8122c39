"""Text of a script or a path as it can be shown: no character does anything but stand there."""

import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufeff]"
)
"""Characters that move the cursor, turn the direction of writing, or can't be seen."""

_IN_A_LINE = re.compile(_HIDDEN.pattern[:-1] + "\t\n]")


def visible(text: str) -> str:
    """A text of lines in which nothing hides: marks of direction can make code look like other
    code, and control characters drive a terminal."""
    return _HIDDEN.sub(_named, text)


def visible_line(text: str) -> str:
    """The same of what must stay on one line, such as a path."""
    return _IN_A_LINE.sub(_named, text)


def _named(match: "re.Match[str]") -> str:
    return f"\u27e8U+{ord(match.group()):04X}\u27e9"
