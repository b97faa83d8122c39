"""Managers that make variables are built outside ``with tf.control_dependencies(...)`` (NPU112).

Their initial value would otherwise wait for the operations of the block, which at the time of
initialisation have no values yet.
"""

import ast
from typing import Dict, List, Optional, Set, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import FUNCTIONS, WITHS, Index, arguments_of, is_none, method_name
from npu_migrate.plan import (
    Edit,
    InsertStatements,
    MoveStatement,
    ReplaceExpression,
    ReplaceStatement,
)

RULE = "manager-in-control-dependencies"
MANAGER_NAME = "loss_scale_manager"

Parts = Dict[str, ast.expr]


class ControlDependencies:
    """Lifts the managers of one file out of control dependencies."""

    def __init__(self, context: Context, optimizers: Optimizers) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers

    def outermost(self, node: ast.AST) -> Optional[ast.stmt]:
        """The outermost ``with tf.control_dependencies`` around a node in its own function."""
        found: Optional[ast.stmt] = None
        for ancestor in self.index.ancestors(node):
            if isinstance(ancestor, FUNCTIONS + (ast.ClassDef,)):
                break
            if isinstance(ancestor, WITHS):
                for item in ancestor.items:
                    if self._clears(item.context_expr):
                        return found
                    if self._depends(item.context_expr):
                        found = ancestor
        return found

    def _depends(self, node: ast.expr) -> bool:
        """Whether a context manager is ``tf.control_dependencies``, or that of a graph."""
        return any(
            isinstance(producer, ast.Call)
            and (
                self.context.calls_to(producer, vocabulary.CONTROL_DEPENDENCIES)
                or method_name(producer) == "control_dependencies"
            )
            for producer in self.index.producers(node)
        )

    def _is_movable(self, statement: ast.stmt, block: Optional[ast.stmt]) -> bool:
        """Whether a statement may stand before the block that holds it directly."""
        if block is None or self.index.places[statement].parent is not block:
            return False
        return len(block.items) == 1  # type: ignore[attr-defined]

    def _clears(self, node: ast.expr) -> bool:
        if self.context.calls_to(node, "tensorflow.init_scope"):
            return True
        if not self.context.calls_to(node, vocabulary.CONTROL_DEPENDENCIES):
            return False
        assert isinstance(node, ast.Call)
        return is_none(argument(node, 0, "control_inputs"))

    def lift(self, call: ast.Call, edit: Optional[Edit], code: str, parts: Parts) -> List[Edit]:
        """The edits that build a manager; those of its own where no block is in the way.

        ``edit`` changes the call in its place, ``code`` with ``parts`` is the same call written
        anew, for when it has to stand elsewhere.
        """
        own = [edit] if edit is not None else []
        if not self.holds(call) or RULE not in self.context.rules:
            return own
        if not self._is_free(call):
            self.context.report(RULE + "-stuck", call)
            return own
        statement = self.index.statement(call)
        is_binding = isinstance(statement, ast.Assign) and statement.value is call
        if is_binding and self.index.stands_alone(statement):
            self.context.report(RULE, call, self._moved(statement, call))
            return own
        hoisted = self.hoist(call, code, parts)
        if hoisted is None:
            self.context.report(RULE + "-stuck", call)
            return own
        name, insert = hoisted
        self.context.report(RULE, call, insert, ReplaceExpression(call, name))
        return []

    def holds(self, node: ast.AST) -> bool:
        """Whether a node is evaluated inside such a block, in its own function or in a caller."""
        if self.outermost(node) is not None:
            return True
        function = self.index.enclosing_function(node)
        if function is None or self._is_cleared(node):
            return False
        callers = self.optimizers.callers(self.index.qualname(function))
        return any(self.outermost(caller) is not None for caller in callers)

    def _is_cleared(self, node: ast.AST) -> bool:
        """Whether a ``with`` around a node takes all dependencies away."""
        for ancestor in self.index.ancestors(node):
            if isinstance(ancestor, FUNCTIONS):
                return False
            if isinstance(ancestor, WITHS):
                if any(self._clears(item.context_expr) for item in ancestor.items):
                    return True
        return False

    def _moved(self, statement: ast.stmt, call: ast.Call) -> Edit:
        block = self.outermost(call)
        if block is not None and self._is_movable(statement, block):
            return MoveStatement(statement, block)
        tf = self.context.tensorflow(call)
        code = f"with {tf}.control_dependencies(None):\n    $statement\n"
        return ReplaceStatement(statement, code, variants={"statement": ()})

    def hoist(
        self, node: ast.expr, code: str, parts: Parts
    ) -> Optional[Tuple[str, InsertStatements]]:
        """A name for a manager, and the statement before ``node`` that binds it to ``code``.

        ``None`` where ``node`` is not certain to be evaluated once by its statement.
        """
        statement, block = self.index.statement(node), self.outermost(node)
        if not evaluated_once(self.index, node, statement) or not self.index.stands_alone(
            statement
        ):
            return None
        name = self.context.fresh(MANAGER_NAME)
        self.context.claim(name)
        binding = f"{name} = {code}\n"
        if block is not None and self._is_movable(statement, block):
            return name, InsertStatements(block, binding, parts=parts)
        tf = self.context.tensorflow(node)
        binding = f"with {tf}.control_dependencies(None):\n    {binding}"
        return name, InsertStatements(statement, binding, parts=parts)

    def _is_free(self, call: ast.Call) -> bool:
        """Whether nothing that a call is given is made within the block."""
        block = self.outermost(call)
        if block is None:
            return True
        bound = self._bound_in(block)
        values = arguments_of(call)
        return not any(
            isinstance(name, ast.Name) and name.id in bound
            for value in values
            for name in ast.walk(value)
        )

    def _bound_in(self, block: ast.stmt) -> Set[str]:
        return {
            binding.name
            for inner in self.index.places
            if self.index.inside(inner, block)
            for binding in self.index.statement_bindings(inner)
        }


def spelled(call: ast.Call, callee: str) -> Tuple[str, Parts]:
    """A call written anew with another callee, its arguments as parts."""
    parts: Parts = {f"p{position}": value for position, value in enumerate(call.args)}
    given = [f"$p{position}" for position in range(len(call.args))]
    for keyword in call.keywords:
        parts[f"k_{keyword.arg}"] = keyword.value
        given.append(f"{keyword.arg}=$k_{keyword.arg}")
    return f"{callee}({', '.join(given)})", parts


def evaluated_once(index: Index, node: ast.expr, statement: ast.stmt) -> bool:
    """Whether a statement evaluates a node exactly once and not on a condition."""
    for ancestor in index.ancestors(node):
        if ancestor is statement:
            return isinstance(statement, (ast.Assign, ast.Expr, ast.Return))
        if not isinstance(ancestor, (ast.Call, ast.keyword, ast.Attribute, ast.Tuple, ast.List)):
            return False
    return False
