"""Scripts that ask whether they run eagerly: on the NPU they never do."""

import ast

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context
from npu_migrate.migrations.unsupported.branches import value_on_npu
from npu_migrate.plan import Status


def run(context: Context) -> None:
    """Report the question; a note where it only chooses the branch for graphs."""
    for call in context.index.calls_of(vocabulary.EAGERLY):
        status = Status.NOTE if _chooses(context, call) else None
        symbol = context.index.resolve(call.func).sole
        context.report("executing-eagerly", call, status=status, symbol=symbol)


def _chooses(context: Context, call: ast.Call) -> bool:
    """Whether the answer is the condition of an ``if`` that does not give up then."""
    condition: ast.AST = call
    for ancestor in context.index.ancestors(call):
        if isinstance(ancestor, ast.IfExp):
            return ancestor.test is condition
        if isinstance(ancestor, ast.If):
            taken = ancestor.body if value_on_npu(context.index, ancestor.test) else ancestor.orelse
            raises = bool(taken) and isinstance(taken[-1], ast.Raise)
            return ancestor.test is condition and not raises
        if not isinstance(ancestor, (ast.BoolOp, ast.UnaryOp)):
            return False
        condition = ancestor
    return False
