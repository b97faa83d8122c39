"""Branches that a run on the NPU never takes."""

import ast
import itertools
from typing import Optional

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.paths import arm
from npu_migrate.names import Index, dotted, leaves, literal


def never_taken(index: Index, node: ast.AST) -> bool:
    """Whether a node only runs on a TPU (``if FLAGS.use_tpu:``) or eagerly."""
    child = node
    for ancestor in index.ancestors(node):
        if isinstance(ancestor, (ast.If, ast.IfExp)):
            value = _value(index, ancestor.test)
            if value is not None and arm(ancestor, child) == ("orelse" if value else "body"):
                return True
        if isinstance(ancestor, ast.BoolOp):
            stops = not isinstance(ancestor.op, ast.And)
            before = itertools.takewhile(lambda value: value is not child, ancestor.values)  # noqa: B023
            if any(_value(index, value) is stops for value in before):
                return True
        if isinstance(child, ast.stmt) and _after_the_end(index, child):
            return True
        child = ancestor
    return False


def _after_the_end(index: Index, statement: ast.stmt) -> bool:
    """Whether the block of a statement was left before it (``if not FLAGS.use_tpu: return``)."""
    place = index.places[statement]
    for earlier in place.block[: place.position]:
        if isinstance(earlier, ast.If):
            value = _value(index, earlier.test)
            if value is not None and leaves(earlier.body if value else earlier.orelse):
                return True
    return False


def _value(index: Index, test: ast.expr) -> Optional[bool]:
    """What a condition is on the NPU; ``None`` where that can't be told."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        value = _value(index, test.operand)
        return None if value is None else not value
    if isinstance(test, ast.BoolOp):
        values = {_value(index, value) for value in test.values}
        decides = not isinstance(test.op, ast.And)
        return decides if decides in values else values.pop() if len(values) == 1 else None
    sources = [source for source in index.producers(test) if isinstance(source, ast.expr)]
    if any(literal(source) is True for source in sources):
        return None
    if any(_is_false(index, source) for source in (test, *sources)):
        return False
    return None


def _is_false(index: Index, test: ast.expr) -> bool:
    if isinstance(test, ast.Call):
        if index.resolve(test.func).names & vocabulary.EAGERLY:
            return True
        return dotted(test.func).endswith(".get") and _is_use_tpu(*test.args[:1])
    if isinstance(test, ast.Subscript):
        key = test.slice
        return _is_use_tpu(key if isinstance(key, ast.expr) else getattr(key, "value", key))
    return dotted(test).rpartition(".")[2] == "use_tpu"


def _is_use_tpu(*keys: ast.AST) -> bool:
    return any(literal(key) == "use_tpu" for key in keys)
