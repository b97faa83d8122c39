"""Managers that make variables are built outside ``with tf.control_dependencies(...)`` (NPU112).

Their initial value would otherwise wait for the operations of the block, which at the time of
initialisation have no values yet.
"""

import ast
from typing import List, Optional, Set

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument
from npu_migrate.migrations.loss_scaling import MANAGER_NAME, LossScaling
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import FUNCTIONS, WITHS, is_none
from npu_migrate.plan import InsertStatements, MoveStatement, ReplaceExpression, ReplaceStatement

RULE = "manager-in-control-dependencies"


class ControlDependencies:
    """Lifts the managers of one file out of control dependencies."""

    def __init__(self, context: Context, optimizers: Optimizers, scaling: LossScaling) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self.scaling = scaling

    def run(self) -> None:
        for call in self.index.calls:
            if not self.optimizers.is_wrap(call, vocabulary.STATEFUL):
                continue
            if self._stays(call):
                continue
            block = self.outermost(call)
            if block is not None:
                self._lift(call, block)

    def _stays(self, call: ast.Call) -> bool:
        """Whether a loss-scale object is left as it is (``DynamicLossScale`` does no harm)."""
        dynamic = self.context.is_named(call.func, (vocabulary.DYNAMIC_LOSS_SCALE,))
        return dynamic and call not in self.scaling.scales

    def outermost(self, node: ast.AST) -> Optional[ast.stmt]:
        """The outermost ``with tf.control_dependencies`` around a node in its own function."""
        found: Optional[ast.stmt] = None
        for ancestor in self.index.ancestors(node):
            if isinstance(ancestor, FUNCTIONS + (ast.Lambda, ast.ClassDef)):
                break
            if isinstance(ancestor, WITHS):
                for item in ancestor.items:
                    if self._clears(item.context_expr):
                        return found
                    if self._depends(item.context_expr):
                        found = ancestor
        return found

    def _depends(self, node: ast.expr) -> bool:
        return self.context.calls_to(node, vocabulary.CONTROL_DEPENDENCIES)

    def _clears(self, node: ast.expr) -> bool:
        if self.context.calls_to(node, "tensorflow.init_scope"):
            return True
        if not self._depends(node):
            return False
        assert isinstance(node, ast.Call)
        return is_none(argument(node, 0, "control_inputs"))

    def _lift(self, call: ast.Call, block: ast.stmt) -> None:
        statement = self.index.statement(call)
        symbol = sorted(self.index.resolve(call.func).names)[0]
        bound = self._bound_in(block)
        free = not any(
            isinstance(n, ast.Name) and n.id in bound for a in _values(call) for n in ast.walk(a)
        )
        direct = self.index.places[statement].parent is block
        is_binding = isinstance(statement, ast.Assign) and statement.value is call
        if is_binding and free and direct and self.index.stands_alone(statement):
            self.context.report(RULE, call, MoveStatement(statement, block), symbol=symbol)
        elif is_binding and self.index.stands_alone(statement):
            tf = self.context.tensorflow(call)
            code = f"with {tf}.control_dependencies(None):\n    $statement\n"
            edit = ReplaceStatement(statement, code, variants={"statement": ()})
            self.context.report(RULE, call, edit, symbol=symbol)
        else:
            self._lift_from_expression(call, block, statement, free and direct)

    def _lift_from_expression(
        self, call: ast.Call, block: ast.stmt, statement: ast.stmt, movable: bool
    ) -> None:
        symbol = sorted(self.index.resolve(call.func).names)[0]
        if not self._evaluated_once(call, statement) or not self.index.stands_alone(statement):
            self.context.report(RULE + "-stuck", call, symbol=symbol)
            return
        name = self.context.fresh(MANAGER_NAME)
        self.context.claim(name)
        if movable:
            insert = InsertStatements(block, f"{name} = $manager\n", parts={"manager": call})
        else:
            tf = self.context.tensorflow(call)
            code = f"with {tf}.control_dependencies(None):\n    {name} = $manager\n"
            insert = InsertStatements(statement, code, parts={"manager": call})
        self.context.report(RULE, call, insert, ReplaceExpression(call, name), symbol=symbol)

    def _evaluated_once(self, call: ast.Call, statement: ast.stmt) -> bool:
        """Whether a statement evaluates the call exactly once and not on a condition."""
        for ancestor in self.index.ancestors(call):
            if ancestor is statement:
                return isinstance(statement, (ast.Assign, ast.Expr, ast.Return))
            if not isinstance(
                ancestor, (ast.Call, ast.keyword, ast.Attribute, ast.Tuple, ast.List)
            ):
                return False
        return False

    def _bound_in(self, block: ast.stmt) -> Set[str]:
        return {
            binding.name
            for inner in self.index.places
            if self.index.inside(inner, block)
            for binding in self.index.statement_bindings(inner)
        }


def _values(call: ast.Call) -> List[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


