"""Numbers that a script spells out, also by names and arithmetic."""

import ast
import operator
from typing import Callable, Dict, FrozenSet, Optional, Union

from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import Binding, literal

Number = Union[int, float]

_OPERATIONS: Dict[type, Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
_CONVERSIONS = {"builtins.int": int, "builtins.float": float}
_LARGEST_POWER = 1024
"""Larger bases and exponents are no sizes, and would take long."""


def number(
    node: ast.expr, optimizers: Optimizers, seen: FrozenSet[ast.AST] = frozenset()
) -> Optional[Number]:
    """The value of an expression, where every way to it gives the same number."""
    producers = optimizers.producers(node)
    found = {
        _number(producer, optimizers, seen | {producer})
        for producer in producers
        if not isinstance(producer, Binding) and producer not in seen
    }
    if len(found) != 1 or any(isinstance(p, Binding) or p in seen for p in producers):
        return None
    return found.pop()


def _number(node: ast.expr, optimizers: Optimizers, seen: FrozenSet[ast.AST]) -> Optional[Number]:
    value = literal(node)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = number(node.operand, optimizers, seen)
        return None if operand is None else -operand
    if isinstance(node, ast.BinOp):
        left, right = (number(side, optimizers, seen) for side in (node.left, node.right))
        return None if left is None or right is None else _calculated(node.op, left, right)
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        convert = _CONVERSIONS.get(optimizers.index.resolve(node.func).sole)
        inside = number(node.args[0], optimizers, seen) if convert is not None else None
        return None if convert is None or inside is None else convert(inside)
    return None


def _calculated(operation: ast.operator, left: Number, right: Number) -> Optional[Number]:
    try:
        if isinstance(operation, ast.Pow):
            return left**right if max(abs(left), abs(right)) <= _LARGEST_POWER else None
        calculate = _OPERATIONS.get(type(operation))
        return calculate(left, right) if calculate is not None else None
    except (ArithmeticError, ValueError):
        return None
