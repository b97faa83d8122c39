"""Colour for terminals. Everything else gets plain text."""

from typing import Callable

Paint = Callable[[str, str], str]
"""Makes a text of a text and a style (``bold red``)."""


def plain(text: str, style: str) -> str:
    return text


def coloured(text: str, style: str) -> str:
    from rich.color import ColorSystem
    from rich.style import Style

    return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)
