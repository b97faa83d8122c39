"""Branches that a run on the NPU never takes."""

import ast
import itertools
from typing import Optional, Union

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.paths import decided_by
from npu_migrate.names import Binding, Index, literal, option_name


def never_taken(index: Index, node: ast.AST) -> bool:
    """Whether a node only runs on a TPU (``if FLAGS.use_tpu:``) or eagerly."""
    decided = decided_by(index, node)
    contradicted = any(value_on_npu(index, test) is (not holds) for test, holds in decided)
    return contradicted or _stopped_before(index, node)


def _stopped_before(index: Index, node: ast.AST) -> bool:
    """Whether an ``and`` or ``or`` around a node is decided before it comes to the node."""
    child = node
    for ancestor in index.ancestors(node):
        if isinstance(ancestor, ast.BoolOp):
            stops = not isinstance(ancestor.op, ast.And)
            before = itertools.takewhile(lambda value: value is not child, ancestor.values)  # noqa: B023
            if any(value_on_npu(index, value) is stops for value in before):
                return True
        child = ancestor
    return False


def value_on_npu(index: Index, test: ast.expr) -> Optional[bool]:
    """What a condition is on the NPU; ``None`` where that can't be told."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        value = value_on_npu(index, test.operand)
        return None if value is None else not value
    if isinstance(test, ast.BoolOp):
        values = {value_on_npu(index, value) for value in test.values}
        decides = not isinstance(test.op, ast.And)
        return decides if decides in values else values.pop() if len(values) == 1 else None
    sources = index.producers(test)
    if any(isinstance(source, ast.expr) and literal(source) is True for source in sources):
        return None
    is_false = _is_false(index, test) or all(_is_false(index, source) for source in sources)
    return False if is_false else None


def _is_false(index: Index, test: Union[ast.expr, Binding]) -> bool:
    if isinstance(test, Binding):
        return False
    if isinstance(test, ast.Call) and index.resolve(test.func).names & vocabulary.EAGERLY:
        return True
    return option_name(test) == "use_tpu"
