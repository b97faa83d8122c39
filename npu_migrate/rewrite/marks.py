"""Which edits stand on which node of libcst's tree, and which nodes lie above an edit."""

import ast
from contextlib import contextmanager
from typing import Dict, Iterable, Iterator, List, Optional, Sequence

import libcst as cst

from npu_migrate.plan import (
    AddImport,
    DropElement,
    Edit,
    EditCall,
    InsertStatements,
    MoveStatement,
    ReplaceExpression,
    ReplaceStatement,
)
from npu_migrate.rewrite.errors import CannotPlace
from npu_migrate.rewrite.pairing import Owners, Pairing

_ON_EXPRESSIONS = (ReplaceExpression, EditCall, DropElement)
_ELEMENTS = (cst.Arg, cst.Element, cst.StarredElement)
_HOLDERS = (cst.Call, cst.List, cst.Tuple, cst.Set)


class Unplaced(Exception):
    """``edit`` could not be placed."""

    def __init__(self, edit: Edit, reason: str) -> None:
        super().__init__(reason)
        self.edit = edit


@contextmanager
def answering_for(edit: Edit) -> Iterator[None]:
    """Have ``edit`` answer for what can't be placed."""
    try:
        yield
    except (CannotPlace, cst.CSTValidationError) as error:
        raise Unplaced(edit, str(error)) from error


class Marks:
    """A set of edits, by the nodes that they concern."""

    def __init__(
        self, tree: ast.Module, pairing: Pairing, owners: Owners, edits: Sequence[Edit]
    ) -> None:
        self.tree = tree
        self.pairing = pairing
        self.owners = owners
        self.edits = edits
        self.modules: List[cst.Module] = []
        self._edits: Dict[int, List[Edit]] = {}
        self._below: Dict[int, Edit] = {}
        self._by_statement: Optional[Dict[ast.stmt, List[Edit]]] = None
        for edit in edits:
            with answering_for(edit):
                for node in self._places(edit):
                    self._mark(node, edit)

    def of(self, node: cst.CSTNode) -> Sequence[Edit]:
        """The edits that concern ``node`` itself, in the order given."""
        return self._edits.get(id(node), ())

    def lie_below(self, node: cst.CSTNode) -> bool:
        """Whether there are edits of ``node`` or of what it holds."""
        return id(node) in self._below

    def first_below(self, node: cst.CSTNode) -> Edit:
        """One of the edits of ``node`` or of what it holds."""
        return self._below[id(node)]

    def changed(self, less: ReplaceStatement, more: Iterable[Edit]) -> "Marks":
        """The edits in the statement that one of them replaces, but for that one, and some more."""
        edits = [edit for edit in self._edits_in(less.node) if edit is not less]
        return Marks(self.tree, self.pairing, self.owners, [*edits, *more])

    def _edits_in(self, statement: ast.stmt) -> Sequence[Edit]:
        """The edits of a statement and of what it holds."""
        if self._by_statement is None:
            self._by_statement = {}
            for edit in self.edits:
                around = [s for place in self._homes(edit) for s in self._around(place)]
                for one in dict.fromkeys(around):
                    self._by_statement.setdefault(one, []).append(edit)
        return self._by_statement.get(statement, ())

    def _homes(self, edit: Edit) -> List[ast.stmt]:
        if isinstance(edit, _ON_EXPRESSIONS):
            return [self.owners.statement(edit.node)]
        return self._statements(edit)

    def _around(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        """A statement and those that hold it."""
        current: Optional[ast.stmt] = statement
        while current is not None:
            yield current
            current = self.owners.parent(current)

    def _mark(self, node: cst.CSTNode, edit: Edit) -> None:
        self._edits.setdefault(id(node), []).append(edit)
        above: Optional[cst.CSTNode] = node
        while above is not None and id(above) not in self._below:
            self._below[id(above)] = edit
            if isinstance(above, cst.Module):
                self.modules.append(above)
            above = self.pairing.parent(above)

    def _places(self, edit: Edit) -> List[cst.CSTNode]:
        if isinstance(edit, DropElement):
            return [self._element(edit.node)]
        if isinstance(edit, _ON_EXPRESSIONS):
            return [self._expression(edit.node)]
        return [self.pairing.statement(statement) for statement in self._statements(edit)]

    def _expression(self, expression: ast.expr) -> cst.CSTNode:
        node = self.pairing.expression(expression)
        if isinstance(node, (cst.Arg, cst.Index, cst.StarredElement)):
            raise CannotPlace("an unpacked value is no expression")
        return node

    def _element(self, expression: ast.expr) -> cst.CSTNode:
        """The argument or element that ``expression`` is all of."""
        node = self.pairing.expression(expression)
        element = node if isinstance(node, _ELEMENTS) else self.pairing.parent(node)
        if isinstance(element, _ELEMENTS) and isinstance(self.pairing.parent(element), _HOLDERS):
            return element
        raise CannotPlace("there is no list, tuple or argument list to take it out of")

    def _statements(self, edit: Edit) -> List[ast.stmt]:
        if isinstance(edit, InsertStatements):
            return [edit.anchor]
        if isinstance(edit, MoveStatement):
            return [edit.node, edit.before]
        if isinstance(edit, AddImport):
            return [edit.after or self.default_anchor]
        assert not isinstance(edit, _ON_EXPRESSIONS)
        return [edit.node]

    @property
    def default_anchor(self) -> ast.stmt:
        """The statement behind which an import goes that has no other place.

        The first statement of the file, if neither docstring nor import, has it before.
        """
        if not self.tree.body:
            raise CannotPlace("there is no statement in the file")
        count = 1 if has_docstring(self.tree) else 0
        while count < len(self.tree.body) and is_import(self.tree.body[count]):
            count += 1
        return self.tree.body[max(count - 1, 0)]


def has_docstring(tree: ast.Module) -> bool:
    """Whether the first statement of ``tree`` documents it."""
    return ast.get_docstring(tree, clean=False) is not None


def is_import(statement: ast.stmt) -> bool:
    """Whether ``statement`` is an import of either form."""
    return isinstance(statement, (ast.Import, ast.ImportFrom))


def home(edit: Edit, owners: Owners) -> Optional[ast.stmt]:
    """The statement that ``edit`` belongs to."""
    if isinstance(edit, _ON_EXPRESSIONS):
        try:
            return owners.statement(edit.node)
        except CannotPlace:
            return None
    if isinstance(edit, InsertStatements):
        return edit.anchor
    return edit.after if isinstance(edit, AddImport) else edit.node
