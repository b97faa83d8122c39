"""Python source as HTML, line by line."""

from html import escape
from typing import Dict, List

from npu_migrate.reports.visible import visible

_CLASSES: Dict[str, str] = {
    "Comment": "c",
    "Keyword": "k",
    "Literal.Number": "m",
    "Literal.String": "s",
    "Name.Builtin": "b",
    "Name.Class": "f",
    "Name.Decorator": "d",
    "Name.Function": "f",
    "Operator.Word": "k",
}
"""Start of a token's name in Pygments -> class in the page."""


def plain_lines(text: str) -> List[str]:
    """The lines of any text as HTML that is safe anywhere in a page's body."""
    return [escape(line) for line in visible(text).split("\n")]


def python_lines(source: str) -> List[str]:
    """The same of a Python source, with colours."""
    from pygments.lexers.python import PythonLexer

    lines = [""]
    for kind, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens(source):
        name = _class_of(str(kind)[len("Token.") :])
        first, *others = visible(text).split("\n")
        lines[-1] += _span(name, first)
        lines += [_span(name, other) for other in others]
    return lines


def _class_of(kind: str) -> str:
    return next((name for start, name in _CLASSES.items() if kind.startswith(start)), "")


def _span(name: str, text: str) -> str:
    if not text:
        return ""
    return f'<span class="{name}">{escape(text)}</span>' if name else escape(text)
