"""Edits of statements and of the blocks that they stand in."""

from typing import Any, List, Optional, Sequence, Set, Tuple

import libcst as cst

from npu_migrate.plan import (
    Edit,
    InsertStatements,
    MoveStatement,
    RemoveStatement,
    ReplaceStatement,
)
from npu_migrate.rewrite import blocks, templates
from npu_migrate.rewrite.errors import CannotPlace
from npu_migrate.rewrite.expressions import Expressions
from npu_migrate.rewrite.imports import Imports
from npu_migrate.rewrite.marks import Marks, Unplaced, answering_for
from npu_migrate.rewrite.nodes import Change, with_children
from npu_migrate.rewrite.templates import Line

_CLAUSES = tuple(
    getattr(cst, name)
    for name in ("Else", "Finally", "ExceptHandler", "ExceptStarHandler", "MatchCase")
    if hasattr(cst, name)
)


class Statements:
    """Rebuilds blocks that edits lie in.

    What is inserted before a statement, or moved there, comes above the comments that are attached
    to it and below the blank lines above those.

    Of several edits of a statement, removing it wins over replacing it, and that over what is to
    be done inside; what is inserted around it appears in any case.
    """

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._expressions = Expressions(marks)
        self._imports = Imports(marks)
        self._underway: Set[int] = set()
        self._arrived: Set[int] = set()

    def module(self, module: cst.Module) -> cst.Module:
        """``module`` with the edits in it done."""
        lines = self._lines(module.body)
        body, footer = blocks.assemble(lines, module.footer, may_be_empty=True)
        moved = bool(module.body) and self._marks.lie_below(module.body[0])
        header = [] if moved else module.header  # it is among the lines
        return module.with_changes(header=header, body=body, footer=footer)

    def check_moves(self) -> None:
        """See to it that what left its place has arrived in another."""
        for edit in self._marks.edits:
            if isinstance(edit, MoveStatement) and id(edit) not in self._arrived:
                raise Unplaced(edit, "the place to move to is gone")

    # --- blocks ------------------------------------------------------------------------------

    def _lines(self, body: Sequence[Any]) -> List[Line]:
        lines: List[Line] = []
        for line in body:
            if not self._marks.lie_below(line):
                lines.append(line)
            elif isinstance(line, cst.SimpleStatementLine):
                lines.extend(self._line(line))
            else:
                lines.extend(self._placed(line, line))
        return lines

    def _line(self, line: cst.SimpleStatementLine) -> List[Line]:
        """A line; what is done to one of several statements on it is done on lines of its own."""
        if len(line.body) == 1:
            return self._placed(line.body[0], line)
        detached, attached = self._leading(line)
        lines: List[Line] = [*detached, *attached]
        if not any(self._marks.of(small) for small in line.body):
            return [*lines, self._inside(blocks.bare(line))]
        if all(self._is_removed(small) for small in line.body):
            return [*lines, *self._removed(line.body[0], blocks.bare(line))]
        run: List[cst.BaseSmallStatement] = []
        for small in line.body:
            last = small is line.body[-1]
            if self._is_removed(small):
                lines.extend(self._removed(small, blocks.alone(small, line, False)))
            elif not self._marks.of(small):
                run.append(self._expressions.edited(small))
            else:
                lines.extend(blocks.together(run, line, False))
                lines.extend(self._placed(small, blocks.alone(small, line, last)))
                run = []
        return [*lines, *blocks.together(run, line, True)]

    def _suite(self, suite: Any) -> Any:
        if isinstance(suite, cst.IndentedBlock):
            body, footer = blocks.assemble(self._lines(suite.body), suite.footer)
            return suite.with_changes(body=body, footer=footer)
        if not any(self._marks.of(small) for small in suite.body):
            return with_children(suite, self._change(suite))
        body, footer = blocks.assemble(self._line(blocks.as_line(suite)), [])
        return cst.IndentedBlock(body, footer=footer)

    def _compound(self, statement: Any) -> Any:
        arm = getattr(statement, "orelse", None)
        new = with_children(statement, self._change(statement))
        if isinstance(arm, cst.If) and self._is_removed(arm):
            return self._without_arm(new, arm)
        return new

    def _change(self, parent: cst.CSTNode) -> Change:
        def change(child: cst.CSTNode, field: str) -> Any:
            if not self._marks.lie_below(child):
                return child
            if isinstance(child, cst.BaseSuite):
                return self._suite(child)
            if isinstance(child, _CLAUSES):
                return with_children(child, self._change(child))
            if isinstance(child, cst.If):
                return self._arm(child)
            return self._expressions.child(child, parent, field)

        return change

    def _arm(self, arm: cst.If) -> Any:
        """An ``elif``; what can't be done to one is done to an ``if`` in an ``else``."""
        if not self._marks.of(arm) or self._is_removed(arm):
            return self._compound(arm)
        body, footer = blocks.assemble(self._placed(arm, blocks.bare(arm)), [])
        block = cst.IndentedBlock(body, footer=footer)
        return cst.Else(block, leading_lines=arm.leading_lines)

    def _without_arm(self, statement: cst.If, arm: cst.If) -> cst.If:
        indent = self._indent(arm)
        lines = self._removed(arm, blocks.bare(arm), clause="el")
        margin = [blocks.at_margin(line, indent) for line in [*arm.leading_lines, *lines]]
        body = blocks.as_block(statement.body)
        body = body.with_changes(footer=[*body.footer, *margin])
        return statement.with_changes(body=body, orelse=None)

    def _indent(self, node: cst.CSTNode) -> str:
        """The white space that ``node`` stands behind, or would on a line of its own."""
        indent = ""
        above = self._marks.pairing.parent(node)
        while above is not None and not isinstance(above, cst.Module):
            if isinstance(above, cst.BaseSuite):
                own = getattr(above, "indent", None)
                indent = (self._module(node).default_indent if own is None else own) + indent
            above = self._marks.pairing.parent(above)
        return indent

    def _leading(self, line: Any) -> Tuple[Sequence[Line], Sequence[Line]]:
        """The lines above a statement: those that are not its own, and its comments."""
        module = self._marks.pairing.parent(line)
        if isinstance(module, cst.Module) and line is module.body[0]:
            return blocks.split_header(module.header)
        return blocks.split_leading(line.leading_lines)

    def _module(self, node: cst.CSTNode) -> cst.Module:
        return self._marks.pairing.module(node)

    # --- one statement -----------------------------------------------------------------------

    def _placed(self, node: cst.CSTNode, statement: Any) -> List[Line]:
        """What stands in the place of a statement.

        ``node`` bears the edits: it is ``statement``, or the simple statement on that line.
        """
        detached, attached = self._leading(statement)
        if self._departs(node):
            return list(detached)
        return [*detached, *self._with_neighbours(node, statement, attached)]

    def _with_neighbours(
        self, node: cst.CSTNode, statement: Any, attached: Sequence[Line]
    ) -> List[Line]:
        if id(node) in self._underway:
            raise CannotPlace("the statement would have to stand before itself")
        self._underway.add(id(node))
        before, after = self._inserted(node, True), self._inserted(node, False)
        lines = [*before, *attached, *self._core(node, blocks.bare(statement)), *after]
        self._underway.remove(id(node))
        return lines

    def _core(self, node: cst.CSTNode, statement: Any) -> List[Line]:
        edits = self._marks.of(node)
        if any(isinstance(edit, RemoveStatement) for edit in edits):
            return [*self._removed(node, statement), *self._imports.behind(node)]
        replacements = [edit for edit in edits if isinstance(edit, ReplaceStatement)]
        if replacements:
            with answering_for(replacements[-1]):
                if len(replacements) > 1:
                    raise CannotPlace("the statement is replaced already")
                lines = self._replaced(replacements[0], node, statement)
                return [*lines, *self._imports.behind(node)]
        if isinstance(node, (cst.Import, cst.ImportFrom)):
            return self._imports.edited(node, statement)
        return [self._inside(statement, node), *self._imports.behind(node)]

    def _inside(self, statement: Any, node: Optional[cst.CSTNode] = None) -> Any:
        """``statement`` with the edits inside it done.

        ``node`` is what they were marked on, where ``statement`` is a copy of it on its own line.
        """
        if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
            (small,) = statement.body
            original: Any = node if isinstance(node, cst.BaseSmallStatement) else small
            edited = self._expressions.edited(original)
            if edited.semicolon is not small.semicolon:
                edited = edited.with_changes(semicolon=small.semicolon)
            return statement.with_changes(body=[edited])
        if isinstance(statement, cst.SimpleStatementLine):
            body = [self._expressions.edited(small) for small in statement.body]
            return statement.with_changes(body=body)
        return self._compound(statement)

    def _is_removed(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` is removed and nothing is put in its place."""
        edits = self._marks.of(node)
        return bool(edits) and all(isinstance(edit, RemoveStatement) for edit in edits)

    def _removed(self, node: cst.CSTNode, statement: Any, clause: str = "") -> List[Line]:
        edits = [edit for edit in self._marks.of(node) if isinstance(edit, RemoveStatement)]
        if not any(edit.comment for edit in edits):
            return []
        return blocks.commented_out(statement, self._indent(node), self._module(node), clause)

    def _replaced(self, edit: ReplaceStatement, node: cst.CSTNode, statement: Any) -> List[Line]:
        copies = {
            name: [self._variant(edit, node, statement, edits)]
            for name, edits in edit.variants.items()
        }
        lines = templates.statements(edit.code, self._expressions.parts(edit.parts), copies)
        if not copies:
            lines = blocks.with_end_comment(lines, blocks.end_comment(statement))
        if not edit.keep_commented:
            return lines
        original = blocks.commented_out(statement, self._indent(node), self._module(node))
        return [*original, *lines]

    def _variant(
        self, edit: ReplaceStatement, node: cst.CSTNode, statement: Any, edits: Sequence[Edit]
    ) -> Any:
        try:
            return Statements(self._marks.changed(edit, edits))._inside(statement, node)
        except Unplaced as unplaced:
            if any(unplaced.edit is one for one in edits):
                raise CannotPlace(str(unplaced)) from unplaced
            raise

    # --- what comes to stand beside a statement -----------------------------------------------

    def _inserted(self, node: cst.CSTNode, before: bool) -> List[Line]:
        lines: List[Line] = []
        for edit in self._marks.of(node):
            if isinstance(edit, InsertStatements) and edit.before == before:
                with answering_for(edit):
                    parts = self._expressions.parts(edit.parts)
                    lines.extend(templates.statements(edit.code, parts, {}))
            elif isinstance(edit, MoveStatement) and before and self._arrives(edit, node):
                with answering_for(edit):
                    lines.extend(self._moved(edit))
        return [*lines, *self._imports.before(node)] if before else lines

    def _departs(self, node: cst.CSTNode) -> bool:
        return any(
            isinstance(edit, MoveStatement) and not self._arrives(edit, node)
            for edit in self._marks.of(node)
        )

    def _arrives(self, edit: MoveStatement, node: cst.CSTNode) -> bool:
        return self._marks.pairing.statement(edit.before) is node

    def _moved(self, edit: MoveStatement) -> List[Line]:
        self._arrived.add(id(edit))
        node: Any = self._marks.pairing.statement(edit.node)
        holder: Any = self._marks.pairing.parent(node)
        if isinstance(node, cst.BaseCompoundStatement):
            statement: Any = node
        elif len(holder.body) == 1 and isinstance(holder, cst.SimpleStatementLine):
            statement = holder
        else:
            statement = blocks.alone(node, holder, node is holder.body[-1])
        _, attached = self._leading(statement)
        return self._with_neighbours(node, statement, attached)
