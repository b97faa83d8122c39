"""Edits of expressions."""

import ast
from typing import Any, Dict, List, Mapping, Sequence, Set, TypeVar

import libcst as cst

from npu_migrate.plan import Argument, DropElement, EditCall, ReplaceExpression
from npu_migrate.rewrite import templates
from npu_migrate.rewrite.calls import edit_call
from npu_migrate.rewrite.commas import Brackets, without
from npu_migrate.rewrite.errors import CannotPlace
from npu_migrate.rewrite.marks import Marks, answering_for
from npu_migrate.rewrite.nodes import with_children
from npu_migrate.rewrite.parentheses import fit

Expression = TypeVar("Expression", bound=cst.CSTNode)
Holder = (cst.List, cst.Tuple, cst.Set)


class Expressions:
    """Rebuilds expressions that edits lie in.

    Of several edits in one place the outer one wins: what lies inside a replaced expression is
    edited only where the new code carries it along.
    """

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._underway: Set[int] = set()

    def parts(self, parts: Mapping[str, ast.expr]) -> Dict[str, cst.BaseExpression]:
        """What comes in place of each ``$name`` of a template."""
        return {name: self._part(expression) for name, expression in parts.items()}

    def child(self, node: cst.CSTNode, parent: cst.CSTNode, field: str) -> cst.CSTNode:
        """``node``, which is a child of ``parent``, with the edits in it done."""
        if not self._marks.lie_below(node):
            return node
        new = self.edited(node)
        replaced = any(isinstance(edit, ReplaceExpression) for edit in self._marks.of(node))
        if replaced and isinstance(new, cst.BaseExpression):
            return fit(new, parent, field)
        return new

    def edited(self, node: Expression) -> Expression:
        """``node`` with the edits in it done."""
        if not self._marks.lie_below(node):
            return node
        if id(node) in self._underway:
            raise CannotPlace("the new code would contain itself")
        self._underway.add(id(node))
        try:
            with answering_for(self._marks.first_below(node)):
                new: Expression = self._edited(node)
            return new
        finally:
            self._underway.remove(id(node))

    def _part(self, expression: ast.expr) -> cst.BaseExpression:
        node = self._marks.pairing.expression(expression)
        if not isinstance(node, cst.BaseExpression) or isinstance(node, cst.StarredElement):
            raise CannotPlace("an unpacked argument can't be put elsewhere")
        return self.edited(node)

    def _edited(self, node: Any) -> Any:
        new: Any = with_children(node, lambda child, field: self.child(child, node, field))
        if isinstance(node, cst.FormattedString):
            _check_string(node, new)
        if isinstance(node, Holder):
            new = self._without_dropped(node, new)
        if isinstance(node, cst.Call):
            new = self._edited_call(node, new)
        replaced = False
        for edit in self._marks.of(node):
            if isinstance(edit, ReplaceExpression):
                with answering_for(edit):
                    if replaced and edit.node not in edit.parts.values():
                        raise CannotPlace("the expression is replaced already")
                    new = self._replaced(edit, new)
                replaced = True
        return new

    def _replaced(self, edit: ReplaceExpression, old: cst.BaseExpression) -> cst.BaseExpression:
        """Parentheses that hold line breaks stay where they are, around the new expression."""
        inner = _without_parentheses(old)
        others = {name: part for name, part in edit.parts.items() if part is not edit.node}
        parts = dict.fromkeys(edit.parts, inner)
        parts.update(self.parts(others))
        new = templates.expression(edit.code, parts)
        if inner is not old and _hold_lines(old):
            return new.with_changes(lpar=old.lpar, rpar=old.rpar)
        return new

    def _edited_call(self, node: cst.Call, call: cst.Call) -> cst.Call:
        edits = [edit for edit in self._marks.of(node) if isinstance(edit, EditCall)]
        dropped = {n for n, arg in enumerate(node.args) if self._is_gone(arg)}
        if not edits and not dropped:
            return call
        callees = {edit.callee for edit in edits if edit.callee}
        arguments: List[Argument] = [argument for edit in edits for argument in edit.arguments]
        if not edits:
            return edit_call(call, "", [], {}, dropped)
        with answering_for(edits[-1]):
            if len(callees) > 1:
                raise CannotPlace("the callee is replaced by different ones")
            parts = {id(argument): self.parts(argument.parts) for argument in arguments}
            return edit_call(call, "".join(callees), arguments, parts, dropped)

    def _is_gone(self, element: Any) -> bool:
        """Whether an argument or element is to go, by itself or with all that it holds."""
        if any(isinstance(edit, DropElement) for edit in self._marks.of(element)):
            return True
        return isinstance(element.value, Holder) and self._is_emptied(element.value)

    def _is_emptied(self, holder: Any) -> bool:
        elements: Sequence[cst.CSTNode] = holder.elements
        return bool(elements) and all(self._is_gone(element) for element in elements)

    def _without_dropped(self, node: Any, new: Any) -> Any:
        gone = {n for n, element in enumerate(node.elements) if self._is_gone(element)}
        if not gone:
            return new
        if isinstance(new, cst.Set) and len(gone) == len(new.elements):
            return new  # it goes from its own holder
        first, last = _brackets(new)
        spaces = Brackets(first.whitespace_after, last.whitespace_before)
        elements, spaces = without(new.elements, gone, spaces)
        if isinstance(new, cst.Tuple) and not elements:
            return cst.Tuple([])
        first = first.with_changes(whitespace_after=spaces.opening)
        last = last.with_changes(whitespace_before=spaces.closing)
        return _with_brackets(new, elements, first, last)


def _brackets(holder: Any) -> Any:
    if isinstance(holder, cst.List):
        return holder.lbracket, holder.rbracket
    if isinstance(holder, cst.Set):
        return holder.lbrace, holder.rbrace
    if holder.lpar:
        return holder.lpar[-1], holder.rpar[0]
    return cst.LeftParen(), cst.RightParen()


def _with_brackets(holder: Any, elements: Sequence[Any], first: Any, last: Any) -> Any:
    if isinstance(holder, cst.List):
        return holder.with_changes(elements=elements, lbracket=first, rbracket=last)
    if isinstance(holder, cst.Set):
        return holder.with_changes(elements=elements, lbrace=first, rbrace=last)
    if not holder.lpar:
        return holder.with_changes(elements=elements)
    lpar, rpar = [*holder.lpar[:-1], first], [last, *holder.rpar[1:]]
    return holder.with_changes(elements=elements, lpar=lpar, rpar=rpar)


def _without_parentheses(expression: cst.BaseExpression) -> cst.BaseExpression:
    """Those of a tuple or a generator are its own."""
    if isinstance(expression, (cst.Tuple, cst.GeneratorExp)):
        return expression
    return expression.with_changes(lpar=[], rpar=[]) if expression.lpar else expression


def _hold_lines(expression: cst.BaseExpression) -> bool:
    spaces = [paren.whitespace_after for paren in expression.lpar]
    spaces += [paren.whitespace_before for paren in expression.rpar]
    return any(isinstance(space, cst.ParenthesizedWhitespace) for space in spaces)


def _check_string(old: cst.FormattedString, new: cst.FormattedString) -> None:
    """Before Python 3.12 an f-string's expressions may hold neither its quotes nor backslashes."""
    for before, after in zip(old.parts, new.parts):
        if before is after or not isinstance(after, cst.FormattedStringExpression):
            continue
        code = cst.Module([]).code_for_node(after.expression)
        if any(text in code for text in (new.quote[0], "\\", "\n", "#")) or code[0] == "{":
            raise CannotPlace("the new code can't stand in a formatted string")
