"""Which lines of a file change for which of its findings, also far from where these stand."""

import ast
from dataclasses import dataclass, replace
from enum import Enum
from typing import Dict, FrozenSet, Iterable, Iterator, List, Tuple

from npu_migrate.plan import (
    AddImport,
    DropImport,
    Edit,
    EditCall,
    Finding,
    InsertStatements,
    MoveStatement,
    Plan,
)
from npu_migrate.scripts import Script
from npu_migrate.selection import words_of

Lines = Tuple[int, int]
"""The first and the last of some lines."""


class Kind(str, Enum):
    """What changes."""

    CODE = "code"
    IMPORT = "import"
    """An import that the new code of the finding reads."""
    DROPPED_IMPORT = "dropped import"
    """An import that nothing reads once the finding is migrated."""


@dataclass(frozen=True)
class Change:
    """Lines of the original, in a cell of a notebook or in the file, that change for a finding.

    What is inserted stands beside one of them.
    """

    finding: Finding
    cell: int
    first: int
    last: int
    kind: Kind = Kind.CODE


def changes_of(plan: Plan, tree: ast.Module, script: Script) -> Tuple[Change, ...]:
    """The changes of a plan; those of imports once for each finding that they serve."""
    owned = [(plan.owners[n], edit) for n, edit in enumerate(plan.edits) if n in plan.owners]
    new_words = [(finding, words_of([edit])) for finding, edit in owned]
    old_names = [(finding, _names(edit)) for finding, edit in owned]
    found: Dict[Change, None] = {}
    for number, edit in enumerate(plan.edits):
        if number in plan.owners:
            kind, findings = Kind.CODE, [plan.owners[number]]
        elif isinstance(edit, AddImport):
            kind, findings = Kind.IMPORT, _with_word(edit.bound, new_words)
        elif isinstance(edit, DropImport):
            name = edit.alias.asname or edit.alias.name.partition(".")[0]
            kind, findings = Kind.DROPPED_IMPORT, _with_word(name, old_names)
        else:  # what only the code of a finding read goes with it
            findings = [f for name in _names(edit) for f in _with_word(name, old_names)]
            kind = Kind.CODE
        for first, last in _lines(edit, tree):
            found.update(dict.fromkeys(_change(f, first, last, kind, script) for f in findings))
    return tuple(found)


def _change(finding: Finding, first: int, last: int, kind: Kind, script: Script) -> Change:
    start, end = (script.placed(replace(finding, line=line)) for line in (first, last))
    return Change(script.placed(finding), start.cell, start.line, end.line, kind)


def _with_word(word: str, texts: Iterable[Tuple[Finding, FrozenSet[str]]]) -> List[Finding]:
    return [finding for finding, words in texts if word in words]


def _names(edit: Edit) -> FrozenSet[str]:
    """The names that stand where an edit changes something."""
    node = getattr(edit, "node", None)
    inner = ast.walk(node) if node is not None else ()
    return frozenset(part.id for part in inner if isinstance(part, ast.Name))


def _lines(edit: Edit, tree: ast.Module) -> Iterator[Lines]:
    if isinstance(edit, EditCall):
        yield from _lines_of_call(edit)
    elif isinstance(edit, AddImport):
        yield _span(edit.after) if edit.after is not None else _head(tree)
    elif isinstance(edit, InsertStatements):
        yield _span(edit.anchor)
    elif isinstance(edit, MoveStatement):
        yield _span(edit.node)
        yield edit.before.lineno, edit.before.lineno
    else:
        yield _span(edit.node)


def _lines_of_call(edit: EditCall) -> Iterator[Lines]:
    """The lines of the callee and of the arguments that change."""
    call = edit.node
    if edit.callee:
        yield _span(call.func)
    values: Dict[object, ast.expr] = {k.arg: k.value for k in call.keywords}
    values.update(enumerate(call.args))
    for argument in edit.arguments:
        if argument.at in values:
            yield _span(values[argument.at])
        else:
            last = _span(call)[1]
            yield last, last


def _head(tree: ast.Module) -> Lines:
    """The docstring and the imports that a file begins with."""
    last = 1
    for statement in tree.body:
        if not isinstance(statement, (ast.Import, ast.ImportFrom, ast.Expr)):
            break
        last = _span(statement)[1]
    return 1, last


def _span(node: ast.AST) -> Lines:
    """Python 3.7 knows no ends; the last line on which something begins is close to it."""
    lines = [inner.lineno for inner in ast.walk(node) if hasattr(inner, "lineno")]
    ends = [end for end in (getattr(node, "end_lineno", None),) if end]
    return min(lines), max(lines + ends)
