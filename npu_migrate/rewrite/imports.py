"""Import statements: what is added to them, taken out of them, and written new."""

import ast
from typing import Any, Iterable, List, NamedTuple, Sequence, Set, Union

import libcst as cst

from npu_migrate.plan import AddImport, DropImport, RemoveStatement, ReplaceImport
from npu_migrate.rewrite import blocks
from npu_migrate.rewrite.commas import Brackets, without
from npu_migrate.rewrite.marks import Marks, has_docstring, is_import
from npu_migrate.rewrite.templates import Line

_BLANK = cst.EmptyLine(indent=False)

NewImport = Union[AddImport, ReplaceImport]


class Imported(NamedTuple):
    """One name that an import binds; without ``name`` the module itself."""

    module: str
    name: str = ""
    asname: str = ""


class Imports:
    """Writes imports where a set of edits wants them."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    def edited(self, node: Any, statement: Any) -> List[Line]:
        """An import statement with names taken out, and what is imported in its place."""
        edits = [e for e in self._marks.of(node) if isinstance(e, (DropImport, ReplaceImport))]
        gone = {_alias_position(edit) for edit in edits}
        rest = _less_names(statement.body[0], gone) if gone else statement.body[0]
        new = self.behind(node)
        if rest is not None:
            return [statement.with_changes(body=[rest]), *new]
        if any(isinstance(edit, ReplaceImport) for edit in edits):
            return blocks.with_end_comment(new, statement.trailing_whitespace)
        return new

    def behind(self, node: cst.CSTNode) -> List[Line]:
        """The new imports that stand behind a statement, or in its place."""
        edits = [e for e in self._marks.of(node) if isinstance(e, (AddImport, ReplaceImport))]
        edits = [edit for edit in edits if not self._goes_first(edit)]
        lines = self._missing(edits)
        after_docstring = isinstance(node, cst.Expr) and any(_placeless(e) for e in edits)
        if not lines or not after_docstring:
            return lines
        return [_BLANK, *lines, *self._space_below_docstring()]

    def before(self, node: cst.CSTNode) -> List[Line]:
        """The new imports of a file that has neither docstring nor imports."""
        edits = [e for e in self._marks.of(node) if isinstance(e, AddImport)]
        lines = self._missing([edit for edit in edits if self._goes_first(edit)])
        return [*lines, _BLANK] if lines else []

    def _missing(self, edits: Sequence[NewImport]) -> List[Line]:
        """One import a line, sorted, but for those that stand there already."""
        if not edits:
            return []
        anchor = self._anchor(edits[0])
        run = _run_of_imports(self._marks.owners.block(anchor), anchor)
        present = _imported(run, set(self._going())) | self._asked_for(run[: run.index(anchor)])
        return [_statement(new) for new in sorted({_new(edit) for edit in edits} - present)]

    def _anchor(self, edit: NewImport) -> ast.stmt:
        if isinstance(edit, ReplaceImport):
            return edit.node
        return edit.after or self._marks.default_anchor

    def _asked_for(self, statements: Sequence[ast.stmt]) -> Set[Imported]:
        """The imports to be written behind ``statements`` or in their place."""
        return {
            _new(edit)
            for edit in self._marks.edits
            if isinstance(edit, (AddImport, ReplaceImport)) and self._anchor(edit) in statements
        }

    def _going(self) -> Iterable[int]:
        """The names that will no longer be imported, by id."""
        for edit in self._marks.edits:
            if isinstance(edit, (DropImport, ReplaceImport)):
                yield id(edit.alias)
            elif isinstance(edit, RemoveStatement):
                yield from (id(alias) for alias in getattr(edit.node, "names", ()))

    def _goes_first(self, edit: NewImport) -> bool:
        first = self._marks.tree.body[0]
        return _placeless(edit) and not is_import(first) and not has_docstring(self._marks.tree)

    def _space_below_docstring(self) -> List[Line]:
        following = self._marks.tree.body[1:2]
        if not following:
            return []
        statement: Any = self._marks.pairing.statement(following[0])
        holder = self._marks.pairing.parent(statement)
        line = holder if isinstance(holder, cst.SimpleStatementLine) else statement
        return [] if any(one.comment is None for one in line.leading_lines) else [_BLANK]


def _placeless(edit: NewImport) -> bool:
    return isinstance(edit, AddImport) and edit.after is None


def _new(edit: NewImport) -> Imported:
    return Imported(edit.module, edit.name, edit.asname)


def _run_of_imports(block: Sequence[ast.stmt], anchor: ast.stmt) -> Sequence[ast.stmt]:
    """``anchor`` with the imports right before and behind it."""
    first = block.index(anchor)
    last = first + 1
    while first > 0 and is_import(block[first - 1]):
        first -= 1
    while last < len(block) and is_import(block[last]):
        last += 1
    return block[first:last]


def _imported(statements: Sequence[ast.stmt], going: Set[int]) -> Set[Imported]:
    """What ``statements`` import and will go on to import."""
    found: Set[Imported] = set()
    for statement in statements:
        if isinstance(statement, ast.Import):
            names = [(alias, alias.name, "") for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            module = "." * statement.level + (statement.module or "")
            names = [(alias, module, alias.name) for alias in statement.names]
        else:
            continue
        found.update(
            Imported(module, name, alias.asname or "")
            for alias, module, name in names
            if id(alias) not in going
        )
    return found


def _less_names(statement: Any, gone: Set[int]) -> Any:
    """``statement`` without the names at the positions ``gone``; ``None`` if none is left."""
    if isinstance(statement.names, cst.ImportStar) or len(gone) == len(statement.names):
        return None
    if not getattr(statement, "lpar", None):
        names, _ = without(statement.names, gone, Brackets())
        return statement.with_changes(names=names)
    spaces = Brackets(statement.lpar.whitespace_after, statement.rpar.whitespace_before)
    names, spaces = without(statement.names, gone, spaces)
    lpar = statement.lpar.with_changes(whitespace_after=spaces.opening)
    rpar = statement.rpar.with_changes(whitespace_before=spaces.closing)
    return statement.with_changes(names=names, lpar=lpar, rpar=rpar)


def _alias_position(edit: Union[DropImport, ReplaceImport]) -> int:
    return next(n for n, alias in enumerate(edit.node.names) if alias is edit.alias)


def _statement(imported: Imported) -> cst.SimpleStatementLine:
    asname = cst.AsName(cst.Name(imported.asname)) if imported.asname else None
    alias = cst.ImportAlias(_dotted(imported.name or imported.module), asname)
    if not imported.name:
        return cst.SimpleStatementLine([cst.Import([alias])])
    path = imported.module.lstrip(".")
    dots = [cst.Dot() for _ in range(len(imported.module) - len(path))]
    module = _dotted(path) if path else None
    return cst.SimpleStatementLine([cst.ImportFrom(module, [alias], relative=dots)])


def _dotted(path: str) -> Union[cst.Name, cst.Attribute]:
    first, *others = path.split(".")
    node: Union[cst.Name, cst.Attribute] = cst.Name(first)
    for name in others:
        node = cst.Attribute(node, cst.Name(name))
    return node
