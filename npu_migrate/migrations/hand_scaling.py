"""A loss scale without its optimizer: ``compute_gradients(loss * s)`` and then ``g / s``."""

import ast
from typing import Dict, Optional

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import argument, same
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import Index, dotted, literal


class HandScaling:
    """Finds where one file scales its loss itself."""

    def __init__(self, index: Index, optimizers: Optimizers) -> None:
        self.index = index
        self.optimizers = optimizers

    def calls(self, with_numbers: bool = False) -> Dict[ast.Call, ast.expr]:
        """The calls that give scaled gradients, with the scale.

        A factor that is a plain number may have been meant otherwise; ``with_numbers`` takes it for
        a scale.
        """
        found = {}
        for call in self.index.calls:
            if self._gives_gradients(call):
                scale = self._factor(argument(call, 0, "loss", "ys"), with_numbers)
                if scale is not None and self._divided_by(scale, call):
                    found[call] = scale
        return found

    def _gives_gradients(self, call: ast.Call) -> bool:
        named = vocabulary.GRADIENTS in self.index.resolve(call.func).names
        return named or getattr(call.func, "attr", "") == "compute_gradients"

    def _factor(self, loss: Optional[ast.expr], with_numbers: bool) -> Optional[ast.expr]:
        """``s`` of ``loss * s``."""
        for producer in self.index.producers(loss) if loss is not None else ():
            if isinstance(producer, ast.BinOp) and isinstance(producer.op, ast.Mult):
                for factor in (producer.right, producer.left):
                    if dotted(factor) or (with_numbers and literal(factor) is not None):
                        return factor
        return None

    def _divided_by(self, scale: ast.expr, call: ast.Call) -> bool:
        region = self.index.region(call)
        return any(
            isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and same(node.right, scale)
            for node in ast.walk(region)
        )
