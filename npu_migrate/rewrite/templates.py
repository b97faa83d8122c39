"""The code of edits, with its ``$names`` filled in."""

import re
from functools import lru_cache
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Union

import libcst as cst

from npu_migrate.rewrite.errors import CannotPlace
from npu_migrate.rewrite.nodes import Node, with_children
from npu_migrate.rewrite.parentheses import fit

Line = Union[cst.EmptyLine, cst.BaseCompoundStatement, cst.SimpleStatementLine]
"""What a block is made of: statements, and the blank and comment lines between them."""

Parts = Mapping[str, cst.BaseExpression]
Copies = Mapping[str, Sequence[Line]]

_HOLE = "__part_{}__"


def expression(code: str, parts: Parts) -> cst.BaseExpression:
    """The expression ``code`` with ``parts`` filled in."""
    try:
        template = _parsed(_with_holes(code, parts))
    except cst.ParserSyntaxError as error:
        raise CannotPlace(f"not an expression: {code}") from error
    whole = _hole(template, parts)
    return _fill(template, parts) if whole is None else parts[whole]


@lru_cache(maxsize=1000)
def _parsed(code: str) -> cst.BaseExpression:
    """A tree for all places that get the same code: trees of libcst never change."""
    return cst.parse_expression(code)


def statements(code: str, parts: Parts, copies: Copies) -> List[Line]:
    """The lines of ``code`` with ``parts``, and with whole statements for ``copies``, filled in."""
    config = cst.PartialParserConfig(default_indent="    ", default_newline="\n")
    try:
        template = cst.parse_module(_with_holes(code, [*parts, *copies]), config)
    except cst.ParserSyntaxError as error:
        raise CannotPlace(f"no statements: {code}") from error
    filled = _fill(template, parts)
    return [*filled.header, *_with_copies(filled.body, copies), *filled.footer]


def blank(line: cst.CSTNode) -> bool:
    """Whether ``line`` is a line without even a comment."""
    return isinstance(line, cst.EmptyLine) and line.comment is None


def _with_holes(code: str, names: Iterable[str]) -> str:
    for name in names:
        code = re.sub(rf"\${name}\b", _HOLE.format(name), code)
    return code


def _hole(node: cst.CSTNode, names: Iterable[str]) -> Optional[str]:
    """The one of ``names`` that ``node`` stands for."""
    if not isinstance(node, cst.Name):
        return None
    return next((name for name in names if node.value == _HOLE.format(name)), None)


def _fill(node: Node, parts: Parts) -> Node:
    def change(child: cst.CSTNode, field: str) -> cst.CSTNode:
        name = _hole(child, parts)
        return _fill(child, parts) if name is None else fit(parts[name], node, field)

    return with_children(node, change)


def _with_copies(lines: Iterable[cst.CSTNode], copies: Copies) -> List[Any]:
    """``lines``, with statements for those that are the name of one alone, at any depth."""

    def change(child: cst.CSTNode, _: str) -> cst.CSTNode:
        if isinstance(child, cst.IndentedBlock):
            return child.with_changes(body=_with_copies(child.body, copies))
        return with_children(child, change)

    placed: List[Any] = []
    for line in lines:
        name = _copied(line, copies)
        placed.extend([with_children(line, change)] if name is None else copies[name])
    return placed


def _copied(line: cst.CSTNode, copies: Copies) -> Optional[str]:
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    statement = line.body[0]
    return _hole(statement.value, copies) if isinstance(statement, cst.Expr) else None
