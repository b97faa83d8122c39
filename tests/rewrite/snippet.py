"""A small script whose nodes are found by their text."""

import ast
from typing import Any, Callable, List, Sequence

from npu_migrate.plan import Edit
from npu_migrate.rewrite import rewrite


class Snippet:
    """Source text, its tree, and its nodes by what they look like."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tree = ast.parse(source)

    def expr(self, text: str, nth: int = 0) -> Any:
        """The n-th expression, in source order, that is written like ``text``."""
        wanted = dump(ast.parse(text, mode="eval").body)
        found = [n for n in _preorder(self.tree) if isinstance(n, ast.expr) and dump(n) == wanted]
        return found[nth]

    def stmt(self, text: str, nth: int = 0) -> Any:
        """The n-th statement whose line begins with ``text``, whatever its block holds."""
        wanted = _header(text)
        found = [n for n in _preorder(self.tree) if isinstance(n, ast.stmt) and _is(n, wanted)]
        return found[nth]

    def edited(self, *edits: Edit) -> str:
        """The source after ``edits``, each of which must have found its place."""
        result = rewrite(self.source.encode(), self.tree, edits)
        assert result.failed == ()
        return result.data.decode()


Edits = Callable[[Snippet], Sequence[Edit]]


def both(*several: Edits) -> Edits:
    return lambda s: [edit for edits in several for edit in edits(s)]


def dump(node: ast.AST) -> str:
    """A tree as text, whether it is read, written or deleted."""
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()").replace("ctx=Del()", "ctx=Load()")


def _preorder(node: ast.AST) -> List[ast.AST]:
    return [node, *(inner for child in ast.iter_child_nodes(node) for inner in _preorder(child))]


def _header(text: str) -> ast.stmt:
    holder = f"try:\n {text} pass\nfinally: pass" if text.endswith(":") else text
    body: Any = ast.parse(holder).body[0]
    return body.body[0] if text.endswith(":") else body


def _is(node: Any, wanted: Any) -> bool:
    if type(node) is not type(wanted):
        return False
    if not hasattr(wanted, "body"):
        return dump(node) == dump(wanted)
    parts = ("test", "name", "iter", "items")
    return all(_part(node, part) == _part(wanted, part) for part in parts)


def _part(node: Any, field: str) -> Any:
    value = getattr(node, field, None)
    if isinstance(value, list):
        return [dump(item) for item in value]
    return dump(value) if isinstance(value, ast.AST) else value
