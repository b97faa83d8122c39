"""Numbers that a script spells out, also by names and arithmetic."""

import ast
import operator
from typing import Callable, Dict, Optional, Union

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
_LARGEST_EXPONENT = 64


def number(node: ast.expr, optimizers: Optimizers) -> Optional[Number]:
    """The value of an expression, where every way to it gives the same number."""
    producers = optimizers.producers(node)
    found = {_number(p, optimizers) for p in producers if not isinstance(p, Binding)}
    if len(found) != 1 or any(isinstance(p, Binding) for p in producers):
        return None
    return found.pop()


def _number(node: ast.expr, optimizers: Optimizers) -> Optional[Number]:
    value = literal(node)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = number(node.operand, optimizers)
        return None if operand is None else -operand
    if isinstance(node, ast.BinOp):
        return _calculated(node, optimizers)
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        convert = _CONVERSIONS.get(optimizers.index.resolve(node.func).sole)
        inside = number(node.args[0], optimizers) if convert is not None else None
        return None if convert is None or inside is None else convert(inside)
    return None


def _calculated(node: ast.BinOp, optimizers: Optimizers) -> Optional[Number]:
    left, right = number(node.left, optimizers), number(node.right, optimizers)
    if left is None or right is None:
        return None
    try:
        if isinstance(node.op, ast.Pow):
            return left**right if abs(right) <= _LARGEST_EXPONENT else None
        operation = _OPERATIONS.get(type(node.op))
        return operation(left, right) if operation is not None else None
    except (ArithmeticError, ValueError):
        return None
