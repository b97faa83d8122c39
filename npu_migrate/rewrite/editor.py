"""From a file and its edits to the new file."""

import ast
import warnings
from typing import Dict, List, Sequence, Set, Tuple

import libcst as cst

from npu_migrate.plan import Edit
from npu_migrate.rewrite.document import Document
from npu_migrate.rewrite.errors import RewriteError
from npu_migrate.rewrite.marks import Marks, Unplaced, home
from npu_migrate.rewrite.pairing import Owners, Pairing
from npu_migrate.rewrite.statements import Statements


def carry_out(data: bytes, tree: ast.Module, edits: Sequence[Edit]) -> Tuple[bytes, List[Edit]]:
    """The new content, and the edits that found no place."""
    todo = _distinct(edits)
    failed: List[Edit] = []
    owners = Owners(tree)
    document = Document(data, tree)
    pairing = Pairing(document, owners)
    while True:
        try:
            modules = _edited_modules(Marks(tree, pairing, owners, todo))
            break
        except Unplaced as unplaced:
            lost = _lost_with(unplaced.edit, todo, owners)
            todo = [edit for edit in todo if id(edit) not in lost]
            failed = [edit for edit in edits if not any(edit is one for one in todo)]
    new = document.render(modules) if modules else data
    _check(new)
    return new, failed


def _distinct(edits: Sequence[Edit]) -> List[Edit]:
    """The edits, each once; two of one node alone can be the same."""
    distinct: List[Edit] = []
    of_node: Dict[int, List[Edit]] = {}
    for edit in edits:
        node = getattr(edit, "node", getattr(edit, "anchor", None))
        others = of_node.setdefault(id(node), [])
        if edit not in others:
            others.append(edit)
            distinct.append(edit)
    return distinct


def _edited_modules(marks: Marks) -> Dict[int, cst.Module]:
    statements = Statements(marks)
    modules = {id(module): statements.module(module) for module in marks.modules}
    statements.check_moves()
    return modules


def _lost_with(edit: Edit, edits: Sequence[Edit], owners: Owners) -> Set[int]:
    """The edits of the statement that ``edit`` belongs to, by id."""
    statement = home(edit, owners)
    lost = {id(one) for one in edits if statement is not None and home(one, owners) is statement}
    return lost | {id(edit)}


def _check(data: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(data)
        except (SyntaxError, ValueError) as error:
            raise RewriteError(f"the result would not parse: {error}") from error
