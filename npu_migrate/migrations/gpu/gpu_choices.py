"""Devices that are chosen by whether there are GPUs, such as ``'/gpu:0' if has_gpu else '/cpu:0'``.

On the NPU the answer is no. The whole choice becomes what a GPU would have got, or nothing of it is
changed.
"""

import ast
from typing import List, Optional, Tuple, Union

from npu_migrate.migrations.context import Context
from npu_migrate.migrations.gpu.gpu_questions import GpuQuestions
from npu_migrate.names import FUNCTIONS
from npu_migrate.plan import Edit, RemoveStatement, ReplaceExpression, ReplaceStatement

Choice = Union[ast.IfExp, ast.If]


class GpuChoices:
    """The choices of one file."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.index = context.index
        self._questions = GpuQuestions(context)

    def of(self, device: ast.expr) -> List[Choice]:
        """The choices that decide whether a device is taken."""
        found: List[Choice] = []
        inside: ast.AST = device
        for ancestor in self.index.ancestors(device):
            if not isinstance(ancestor, ast.IfExp):
                break
            if inside is not ancestor.test and self._questions.asks(ancestor.test):
                found.append(ancestor)
            inside = ancestor
        return found + self._statements(device)

    def _statements(self, device: ast.expr) -> List[Choice]:
        """The ``if`` statements with an assignment of the name that the device is bound to."""
        found = {}
        for binding in self.index.statement_bindings(self.index.statement(device)):
            others = binding.scope.bindings.get(binding.name, ())
            reads = [read for other in others for read in self.index.reads(other)]
            for other in others:
                inside: Optional[ast.AST] = other.statement
                for ancestor in self.index.ancestors(inside) if inside is not None else ():
                    if isinstance(ancestor, FUNCTIONS):
                        break
                    if isinstance(ancestor, ast.If) and inside is not ancestor.test:
                        decides = not all(self.index.inside(read, ancestor) for read in reads)
                        if decides and self._questions.asks(ancestor.test):
                            found[ancestor] = ancestor
        return list(found)

    def decided(self, device: ast.expr, choice: Choice, code: str) -> Tuple[Edit, ...]:
        """What makes ``code`` the outcome in place of a device; nothing where that is not sure."""
        value = self._questions.value(choice.test)
        if value is None:
            return ()
        if isinstance(choice, ast.IfExp):
            taken = choice.body if value else choice.orelse
            return (ReplaceExpression(choice, code),) if taken is device else ()
        return self._decided_statement(device, choice, value, code)

    def _decided_statement(
        self, device: ast.expr, choice: ast.If, value: bool, code: str
    ) -> Tuple[Edit, ...]:
        statement = self.index.statement(device)
        name = _assigned(statement, device)
        arms = (choice.body, choice.orelse)
        if not name or self._is_elif(choice) or not all(_only_assigns(arm, name) for arm in arms):
            return ()
        taken = choice.body if value else choice.orelse
        if statement in taken:
            return (ReplaceStatement(choice, f"{name} = {code}\n"),)
        if not taken and not self.index.inside(device, choice):
            return (ReplaceExpression(device, code), RemoveStatement(choice, comment=False))
        return ()

    def _is_elif(self, statement: ast.If) -> bool:
        holder = self.index.places[statement].parent
        return isinstance(holder, ast.If) and holder.orelse == [statement]


def _assigned(statement: ast.stmt, value: ast.expr) -> str:
    """The only name that a statement binds to a value."""
    if isinstance(statement, ast.Assign) and statement.value is value:
        if len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
            return statement.targets[0].id
    return ""


def _only_assigns(block: List[ast.stmt], name: str) -> bool:
    return len(block) <= 1 and all(
        isinstance(s, ast.Assign) and _assigned(s, s.value) == name for s in block
    )
