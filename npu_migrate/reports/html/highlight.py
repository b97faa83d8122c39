"""Sources as HTML, line by line."""

from functools import lru_cache
from html import escape
from typing import Any, Dict, List, Optional

from npu_migrate.reports.visible import visible

PYTHON = "script.py"
"""A name for text that is Python, wherever it stands."""

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


def coloured_lines(path: str, text: str, count: Optional[int] = None) -> List[str]:
    """The lines of a file as HTML that is safe anywhere in a body; ``count`` of them suffice."""
    lexer = _lexer(path)
    if lexer is None:
        return [escape(line) for line in visible(text).split("\n")]
    lines = [""]
    for kind, part in lexer.get_tokens(text):
        if count is not None and len(lines) > count:
            break
        name = _class_of(kind)
        first, *others = visible(part).split("\n")
        lines[-1] += _span(name, first)
        lines += [_span(name, other) for other in others]
    return lines


def _lexer(path: str) -> Any:
    """Pygments' lexer for a file, by its name alone; ``None`` where it knows none."""
    if path.endswith(".py"):
        from pygments.lexers.python import PythonLexer

        return PythonLexer(stripnl=False, ensurenl=False)
    from pygments.lexers import get_lexer_for_filename
    from pygments.util import ClassNotFound

    try:
        return get_lexer_for_filename(path, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=None)
def _class_of(kind: Any) -> str:
    path = str(kind)[len("Token.") :]
    return next((name for start, name in _CLASSES.items() if path.startswith(start)), "")


def _span(name: str, text: str) -> str:
    if not text:
        return ""
    return f'<span class="{name}">{escape(text)}</span>' if name else escape(text)
