"""Which node of libcst's tree is which node of ``ast``: by structure, never by position.

Statements are paired by their order in a block, each part of ``a = 1; b = 2`` for itself.
Expressions are paired within their statement: the n-th call of one tree is the n-th call of the
other, provided that both have the same number of calls, and names and attributes the same text.
Where they differ nothing is guessed: :class:`CannotPlace`.
"""

import ast
import bisect
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

import libcst as cst

from npu_migrate.rewrite.document import Document
from npu_migrate.rewrite.errors import CannotPlace
from npu_migrate.rewrite.source_order import Kind, ast_expressions, cst_expressions

_STATEMENT_NAMES = {
    "AsyncFor": "For",
    "AsyncFunctionDef": "FunctionDef",
    "AsyncWith": "With",
    "Delete": "Del",
}


class Owners:
    """The statement that each expression lies in, and the block that each statement lies in."""

    def __init__(self, tree: ast.Module) -> None:
        self._statements: List[ast.stmt] = []
        self._blocks: Dict[int, List[ast.stmt]] = {}
        self._parents: Dict[int, Optional[ast.stmt]] = {}
        self._owners: Dict[int, ast.stmt] = {}
        self._expressions: Dict[int, List[Tuple[ast.AST, Kind]]] = {}
        self._read_block(tree.body, None)
        self._lines = [statement.lineno for statement in self._statements]

    def statement(self, expression: ast.AST) -> ast.stmt:
        """The innermost statement that ``expression`` belongs to."""
        for statement in self._likely_first(expression):
            if id(expression) in self._owners:
                break
            self.expressions(statement)
        try:
            return self._owners[id(expression)]
        except KeyError:
            raise CannotPlace("the expression has no place of its own in the text") from None

    def expressions(self, statement: ast.stmt) -> List[Tuple[ast.AST, Kind]]:
        """The expressions that belong to a statement itself, in source order."""
        known = self._expressions.get(id(statement))
        if known is None:
            known = self._expressions[id(statement)] = list(ast_expressions(statement))
            self._owners.update((id(node), statement) for node, _ in known)
        return known

    def block(self, statement: ast.stmt) -> List[ast.stmt]:
        """The list of statements that ``statement`` is one of."""
        try:
            return self._blocks[id(statement)]
        except KeyError:
            raise CannotPlace("the statement is not part of the file") from None

    def parent(self, statement: ast.stmt) -> Optional[ast.stmt]:
        """The compound statement around ``statement``; ``None`` at the top level."""
        self.block(statement)
        return self._parents[id(statement)]

    def _read_block(self, block: List[ast.stmt], parent: Optional[ast.stmt]) -> None:
        for statement in block:
            self._statements.append(statement)
            self._blocks[id(statement)] = block
            self._parents[id(statement)] = parent
            for inner in ast_blocks(statement):
                self._read_block(inner, statement)

    def _likely_first(self, expression: ast.AST) -> Iterator[ast.stmt]:
        """All statements, but first the one that starts on the line or next above it.

        Lines are no more than a hint: those of decorators and in formatted strings mislead.
        """
        line = getattr(expression, "lineno", 0)
        position = bisect.bisect_right(self._lines, line)
        yield from self._statements[max(position - 1, 0) : position]
        yield from self._statements


def ast_blocks(statement: Any) -> Iterator[List[ast.stmt]]:
    """The lists of statements right inside a compound statement."""
    for clause in _clauses(statement):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(clause, field, None)
            if block and isinstance(block, list):
                yield block


def _clauses(statement: Any) -> Iterator[Any]:
    yield statement
    yield from getattr(statement, "handlers", ())
    yield from getattr(statement, "cases", ())


class Pairing:
    """Finds the counterparts of ``ast`` nodes on demand, and knows what each of them lies in."""

    def __init__(self, document: Document, owners: Owners) -> None:
        self._document = document
        self._owners = owners
        self._counterparts: Dict[int, cst.CSTNode] = {}
        self._paired_statements: Set[int] = set()
        self._parents: Dict[int, cst.CSTNode] = {}

    def parent(self, node: cst.CSTNode) -> Optional[cst.CSTNode]:
        """The node that holds ``node``; ``None`` for a module."""
        return self._parents.get(id(node))

    def module(self, node: cst.CSTNode) -> cst.Module:
        """The module that ``node`` lies in."""
        while not isinstance(node, cst.Module):
            node = self._parents[id(node)]
        return node

    def statement(self, statement: ast.stmt) -> cst.CSTNode:
        """The counterpart of a statement: a compound one, or one of a line's simple ones."""
        if id(statement) not in self._counterparts:
            self._pair_block(statement)
        return self._counterparts[id(statement)]

    def expression(self, expression: ast.AST) -> cst.CSTNode:
        """The counterpart of an expression."""
        statement = self._owners.statement(expression)
        node = self.statement(statement)
        if id(statement) not in self._paired_statements:
            self._pair_expressions(statement, node)
            self._paired_statements.add(id(statement))
        try:
            return self._counterparts[id(expression)]
        except KeyError:
            raise CannotPlace("the expression is not found for certain in the text") from None

    def _pair_block(self, statement: ast.stmt) -> None:
        parent = self._owners.parent(statement)
        if parent is None:
            chunk = self._document.chunk(statement)
            self._pair(chunk.statements, _flat(chunk.module, self._parents))
        else:
            for statements, body in _bodies(parent, self.statement(parent), self._parents):
                if any(one is statement for one in statements):
                    self._pair(statements, body)

    def _pair(self, statements: Sequence[ast.stmt], nodes: Sequence[cst.CSTNode]) -> None:
        if len(statements) != len(nodes):
            raise CannotPlace("the statements of the block differ")
        for statement, node in zip(statements, nodes):
            name = type(statement).__name__
            if _STATEMENT_NAMES.get(name, name) != type(node).__name__:
                raise CannotPlace("the statements of the block differ")
        self._counterparts.update((id(s), n) for s, n in zip(statements, nodes))

    def _pair_expressions(self, statement: ast.stmt, node: cst.CSTNode) -> None:
        theirs = _by_name(cst_expressions(node, self._parents))
        for name, ours in _by_name(self._owners.expressions(statement)).items():
            others = theirs.get(name, [])
            if [kind for _, kind in ours] == [kind for _, kind in others]:
                pairs = zip(ours, others)
                self._counterparts.update((id(mine), other) for (mine, _), (other, _) in pairs)


def _by_name(nodes: Iterable[Tuple[Any, Kind]]) -> Dict[str, List[Tuple[Any, Kind]]]:
    found: Dict[str, List[Tuple[Any, Kind]]] = {}
    for node, kind in nodes:
        found.setdefault(kind.name, []).append((node, kind))
    return found


def _bodies(
    statement: Any, node: Any, parents: Dict[int, cst.CSTNode]
) -> Iterator[Tuple[List[ast.stmt], List[cst.CSTNode]]]:
    """Pairs of blocks of a compound statement, ``elif`` as the lone statement of an ``else``."""

    def body(holder: cst.CSTNode, outer: cst.CSTNode) -> List[cst.CSTNode]:
        if holder is not outer:
            parents[id(holder)] = outer
        if isinstance(holder, cst.If) and holder is not outer:
            return [holder]
        suite: cst.CSTNode = holder.body  # type: ignore[attr-defined]
        parents[id(suite)] = holder
        return _flat(suite, parents)

    if hasattr(node, "body"):
        yield statement.body, body(node, node)
    for handler, other in zip(getattr(statement, "handlers", ()), getattr(node, "handlers", ())):
        yield handler.body, body(other, node)
    for case, other in zip(getattr(statement, "cases", ()), getattr(node, "cases", ())):
        yield case.body, body(other, node)
    if getattr(node, "orelse", None) is not None:
        yield statement.orelse, body(node.orelse, node)
    if getattr(node, "finalbody", None) is not None:
        yield statement.finalbody, body(node.finalbody, node)


def _flat(block: Any, parents: Dict[int, cst.CSTNode]) -> List[cst.CSTNode]:
    """The statements of a block, those that share a line one by one."""
    flat: List[cst.CSTNode] = []
    for line in block.body:
        parents[id(line)] = block
        if isinstance(line, cst.SimpleStatementLine):
            for small in line.body:
                parents[id(small)] = line
                flat.append(small)
        else:
            flat.append(line)
    return flat
