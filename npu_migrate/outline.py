"""What the statements of a file tell without a closer look: its imports, and what is no code.

One flat pass over the statements; no expression is looked into.
"""

import ast
from typing import Iterator, List, NamedTuple, Sequence

from npu_migrate.names import ImportNode, literal

_IMPORTS = frozenset((ast.Import, ast.ImportFrom))
_SIMPLE = frozenset((ast.Assign, ast.AugAssign, ast.Return, ast.Raise, ast.Assert, ast.Pass))
_BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")


class Outline(NamedTuple):
    """What matters to the first look of the statements of a file, in their order."""

    imports: Sequence[ImportNode]
    remarks: Sequence[str]
    """Docstrings, and other strings that stand alone."""

    def code(self, data: bytes) -> bytes:
        """The bytes of the file but for the remarks; one that is written with escapes stays."""
        parts: List[bytes] = []
        end = 0
        for remark in self.remarks:
            text = remark.encode("utf-8", "replace")
            start = data.find(text, end)
            if start > 0 and _is_quoted(data, start, start + len(text)):
                parts.append(data[end:start])
                end = start + len(text)
        parts.append(data[end:])
        return b"".join(parts)


def _is_quoted(data: bytes, start: int, end: int) -> bool:
    quote = data[start - 1 : start]
    return quote in b"'\"" and data[end : end + 1] == quote


def outline(tree: ast.Module) -> Outline:
    """The outline of a file."""
    imports: List[ImportNode] = []
    remarks: List[str] = []
    pending: List[Iterator[ast.AST]] = [iter(tree.body)]
    while pending:
        for statement in pending[-1]:
            kind = type(statement)
            if kind is ast.Expr:
                text = literal(statement.value)  # type: ignore[attr-defined]
                if isinstance(text, str):
                    remarks.append(text)
            elif kind in _IMPORTS:
                imports.append(statement)  # type: ignore[arg-type]
            elif kind not in _SIMPLE:
                blocks = [getattr(statement, name, None) for name in _BLOCKS]
                pending += [iter(block) for block in reversed(blocks) if block]
                break
        else:
            pending.pop()
    return Outline(imports, remarks)
