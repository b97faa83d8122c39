"""Classes of loss scaling that are not called but handed on: in tables, defaults, ``partial``."""

import ast
from typing import Iterator

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context
from npu_migrate.migrations.loss_scale.managers import COUNTERPARTS
from npu_migrate.names import dotted, literal
from npu_migrate.plan import ReplaceExpression

_GETATTR = frozenset(("builtins.getattr",))
OTHERS = vocabulary.TO_MIGRATE | vocabulary.LOSS_SCALES


def run(context: Context) -> None:
    """Replace managers, which are called alike; report what a table can't replace."""
    for chain in context.index.chains:
        for node in _parts(chain):
            if _is_handed_on(context, node):
                _handed_on(context, node)
    for call in context.index.calls_of(_GETATTR):
        if len(call.args) > 1:
            _by_name(context, call)


def _parts(chain: ast.expr) -> Iterator[ast.expr]:
    node = chain
    while isinstance(node, ast.Attribute):
        yield node
        node = node.value
    if isinstance(node, ast.Name):
        yield node


def _is_handed_on(context: Context, node: ast.expr) -> bool:
    parent = context.index.parents.get(node)
    if context.without(node) or isinstance(parent, (ast.ClassDef, ast.Attribute)):
        return False
    if not isinstance(parent, ast.Call):
        return True
    return parent.func is not node and not context.calls_to(parent, "builtins.isinstance")


def _handed_on(context: Context, node: ast.expr) -> None:
    name = context.index.resolve(node).sole
    if name in COUNTERPARTS:
        rule, target = COUNTERPARTS[name]
        local = context.local(target, node)
        if dotted(node) == local:
            return  # the import alone changes
        context.discard(node)
        context.report(rule, node, ReplaceExpression(node, local), symbol=name)
    elif (
        name in OTHERS
        and isinstance(node, (ast.Name, ast.Attribute))
        and not _is_alias(context, node)
    ):
        context.report("class-used-as-value", node, symbol=name, subject=dotted(node))


def _is_alias(context: Context, node: ast.expr) -> bool:
    """``Scaler = tf.contrib.mixed_precision.LossScaleOptimizer``: its uses are resolved."""
    parent = context.index.parents.get(node)
    return isinstance(parent, (ast.Assign, ast.AnnAssign, ast.IfExp, ast.BoolOp)) or (
        hasattr(ast, "NamedExpr") and isinstance(parent, ast.NamedExpr)
    )


def _by_name(context: Context, call: ast.Call) -> None:
    module, name = context.index.resolve(call.args[0]).sole, literal(call.args[1])
    symbol = context.index.canonical(f"{module}.{name}")
    if symbol in COUNTERPARTS or symbol in OTHERS:
        context.report("class-used-as-value", call, symbol=symbol, subject=str(name))
