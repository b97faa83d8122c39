"""Distinctive attributes of receivers that can't be resolved are never passed over in silence."""

import ast

from npu_migrate.migrations.context import Context
from npu_migrate.names import dotted

DISTINCTIVE = frozenset(
    (
        "LossScaleOptimizer",
        "FixedLossScaleManager",
        "ExponentialUpdateLossScaleManager",
        "MixedPrecisionLossScaleOptimizer",
        "enable_mixed_precision_graph_rewrite",
    )
)


def run(context: Context) -> None:
    """Report calls like ``contrib().LossScaleOptimizer(...)``."""
    index = context.index
    for call in index.calls_written(DISTINCTIVE):
        function = call.func
        if not isinstance(function, ast.Attribute):
            continue
        resolution = index.resolve(function)
        if resolution.names or not _may_be_tensorflow(context, function.value):
            continue
        context.report("receiver-not-resolved", call, attribute=function.attr)


def _may_be_tensorflow(context: Context, receiver: ast.expr) -> bool:
    """Whether nothing says that the receiver is something of the user's own."""
    name = dotted(receiver)
    if not name:
        return True
    root: ast.expr = receiver
    while isinstance(root, ast.Attribute):
        root = root.value
    assert isinstance(root, ast.Name)
    return root.id != "self"
