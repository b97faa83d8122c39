"""A loss scale without its optimizer: ``compute_gradients(loss * s)`` and then ``g / s``."""

import ast
from typing import Collection, Dict, Iterator, List, Optional

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import argument, same
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import Binding, Index, dotted, literal, method_name

_GRADIENTS = frozenset((vocabulary.GRADIENTS,))
_COMPUTING = frozenset(("compute_gradients",))
_MODULES = ("tensorflow", "tensorflow.math")
_PRODUCTS = ("multiply", "scalar_mul")
_QUOTIENTS = ("divide", "div", "truediv", "realdiv", "div_no_nan", "divide_no_nan")
_RECIPROCALS = ("reciprocal",)
_CONVERSIONS = ("cast", "convert_to_tensor", "identity", "to_float")


class HandScaling:
    """Finds where one file scales its loss itself."""

    def __init__(self, index: Index, optimizers: Optimizers) -> None:
        self.index = index
        self.optimizers = optimizers
        self._divisors: Dict[ast.AST, List[ast.expr]] = {}
        """Region -> what something is divided by in it."""

    def calls(self, with_numbers: bool = False) -> Dict[ast.Call, ast.expr]:
        """The calls that give scaled gradients, with the scale.

        A factor that is a plain number may have been meant otherwise; ``with_numbers`` takes it for
        a scale.
        """
        found = {}
        for call in self.index.possible_calls(_GRADIENTS, _COMPUTING):
            if self._gives_gradients(call):
                for scale in self._factors(argument(call, 0, "loss", "ys")):
                    is_named = bool(dotted(scale))
                    is_number = with_numbers and literal(scale) is not None
                    if (is_named or is_number) and self._divided_by(scale, call):
                        found[call] = scale
        return found

    def _gives_gradients(self, call: ast.Call) -> bool:
        named = vocabulary.GRADIENTS in self.index.resolve(call.func).names
        return named or method_name(call) == "compute_gradients"

    def _factors(self, loss: Optional[ast.expr]) -> Iterator[ast.expr]:
        """``loss`` and ``s`` of ``loss * s``, ``loss *= s`` or ``tf.multiply(loss, s)``."""
        for producer in self.index.producers(loss) if loss is not None else ():
            changed = producer.statement if isinstance(producer, Binding) else None
            if isinstance(changed, ast.AugAssign) and isinstance(changed.op, ast.Mult):
                yield self._converted(changed.value)
            elif isinstance(producer, ast.BinOp) and isinstance(producer.op, ast.Mult):
                yield from map(self._converted, (producer.left, producer.right))
            elif isinstance(producer, ast.Call) and self._is_one_of(producer, _PRODUCTS):
                named = [k.value for k in producer.keywords if k.arg in ("x", "y", "scalar")]
                yield from map(self._converted, (*producer.args, *named))

    def _divided_by(self, scale: ast.expr, call: ast.Call) -> bool:
        """Whether something is divided by the scale where the gradients are made."""
        region = self.index.region(call)
        if region not in self._divisors:
            found = map(self._divisor, ast.walk(region))
            self._divisors[region] = [self._converted(node) for node in found if node is not None]
        return any(same(divisor, scale) for divisor in self._divisors[region])

    def _divisor(self, node: ast.AST) -> Optional[ast.expr]:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return node.right
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            return node.value
        if isinstance(node, ast.Call) and self._is_one_of(node, _QUOTIENTS):
            return argument(node, 1, "y")
        if isinstance(node, ast.Call) and self._is_one_of(node, _RECIPROCALS):
            return argument(node, 0, "x")
        return None

    def _converted(self, node: ast.expr) -> ast.expr:
        """What a tensor is made of: ``s`` of ``tf.cast(s, loss.dtype)``."""
        while isinstance(node, ast.Call) and self._is_one_of(node, _CONVERSIONS):
            given = argument(node, 0, "x", "value", "input")
            if given is None:
                break
            node = given
        return node

    def _is_one_of(self, call: ast.Call, operations: Collection[str]) -> bool:
        module, _, name = self.index.resolve(call.func).sole.rpartition(".")
        return module in _MODULES and name in operations
