"""Loops over shapes that change, with the control flow of TensorFlow 1 (NPU709)."""

import ast
from typing import FrozenSet, Iterator

from npu_migrate.migrations.context import Context, argument
from npu_migrate.migrations.known_failures.switches import CONTROL_FLOW_V2
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import is_none

LOOPS = frozenset(("tensorflow.while_loop",))
SHAPES = frozenset(("tensorflow.TensorShape", "tensorflow.Dimension"))


def run(context: Context, optimizers: Optimizers) -> None:
    """Report each ``tf.while_loop`` whose ``shape_invariants`` leave a dimension open."""
    if context.run.has_switch(context.index.module, CONTROL_FLOW_V2):
        return
    for call in context.index.calls_of(LOOPS):
        shapes = argument(call, 3, "shape_invariants")
        if shapes is not None and _leaves_open(context, optimizers, shapes):
            context.report("loop-with-changing-shapes", call)


def _leaves_open(context: Context, optimizers: Optimizers, shapes: ast.expr) -> bool:
    return any(
        context.is_named(node.func, SHAPES) and any(is_none(part) for part in ast.walk(node))
        for part in _parts(optimizers, shapes)
        for node in ast.walk(part)
        if isinstance(node, ast.Call)
    )


def _parts(
    optimizers: Optimizers, shapes: ast.expr, seen: FrozenSet[ast.AST] = frozenset()
) -> Iterator[ast.AST]:
    """The values that the shapes are written as, also each by a name of its own."""
    for producer in optimizers.producers(shapes):
        if producer in seen:
            continue
        if isinstance(producer, (ast.List, ast.Tuple)):
            for item in producer.elts:
                yield from _parts(optimizers, item, seen | {producer})
        elif isinstance(producer, ast.AST):
            yield producer
