"""Guards against division by zero that float16 rounds to zero (NPU713)."""

import ast
import re
import struct
from typing import Iterator, Optional, Set, Tuple

from npu_migrate.migrations.context import Context, argument
from npu_migrate.migrations.known_failures.constants import number
from npu_migrate.migrations.known_failures.operations import operation
from npu_migrate.migrations.known_failures.switches import MIXED_PRECISION
from npu_migrate.migrations.optimizers import Optimizers, Producer
from npu_migrate.migrations.unsupported.host import Host
from npu_migrate.names import Binding
from npu_migrate.scan import TINY

_TINY = re.compile(TINY)

DIVISIONS = frozenset(
    f"tensorflow.{module}{name}"
    for module in ("", "math.")
    for name in ("divide", "div", "truediv", "realdiv", "floordiv")
)
INVERTED = frozenset(
    f"tensorflow.{module}{name}"
    for module in ("", "math.")
    for name in ("log", "rsqrt", "reciprocal", "sqrt")
)
ADDITIONS = frozenset(("tensorflow.add", "tensorflow.math.add"))
FLOORS = frozenset(("tensorflow.maximum", "tensorflow.math.maximum"))
CLIPS = frozenset(("tensorflow.clip_by_value",))


def run(context: Context, optimizers: Optimizers, host: Host) -> None:
    """Report each guard of a tensor in a program with mixed precision."""
    if not context.run.has_switch(context.index.module, MIXED_PRECISION):
        return
    if any(_TINY.search(line) for line in context.lines):
        Guards(context, optimizers, host).run()


class Guards:
    """What keeps the denominators of one file from being zero."""

    def __init__(self, context: Context, optimizers: Optimizers, host: Host) -> None:
        self.context = context
        self.optimizers = optimizers
        self.host = host
        self._reported: Set[ast.AST] = set()

    def run(self) -> None:
        for node in ast.walk(self.context.index.tree):
            for guarded, is_tensor in self._guarded(node):
                if not self.host.runs(node) and not self._in_optimizer(node):
                    self._check(guarded, is_tensor)

    def _guarded(self, node: ast.AST) -> Iterator[Tuple[ast.expr, bool]]:
        """The expressions that must not be zero, and whether they are known to be tensors."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            yield node.right, self._is_tensor(node.left, set())
        elif isinstance(node, ast.Call):
            divisor = argument(node, 1, "y")
            value = argument(node, 0, "x")
            if divisor is not None and self.context.is_named(node.func, DIVISIONS):
                yield divisor, True
            elif value is not None and self.context.is_named(node.func, INVERTED):
                yield value, True

    def _check(self, guarded: ast.expr, is_tensor: bool) -> None:
        for producer in self.optimizers.producers(guarded):
            for other, constant in self._parts(producer):
                value = self._number(constant)
                if not vanishes(value) or constant in self._reported:
                    continue
                if is_tensor or (other is not None and self._is_tensor(other, set())):
                    self._reported.add(constant)
                    self.context.report(
                        "guard-below-float16",
                        self.context.index.parents[constant],
                        symbol="tensorflow.float16",
                        value=f"{value:g}",
                    )

    def _number(self, node: ast.expr) -> float:
        value = number(node, self.optimizers)
        return float(value) if value is not None else 0.0

    def _parts(self, made: Producer) -> Iterator[Tuple[Optional[ast.expr], ast.expr]]:
        """What is guarded and what may be the constant, in both orders."""
        if isinstance(made, Binding):
            statement = made.statement
            if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
                yield None, statement.value
        elif isinstance(made, ast.BinOp) and isinstance(made.op, ast.Add):
            yield made.left, made.right
            yield made.right, made.left
        elif isinstance(made, ast.Call) and len(made.args) > 1:
            if self.context.is_named(made.func, ADDITIONS | FLOORS):
                yield made.args[0], made.args[1]
                yield made.args[1], made.args[0]
            elif self.context.is_named(made.func, CLIPS):
                yield made.args[0], made.args[1]

    def _is_tensor(self, node: ast.expr, seen: Set[ast.AST]) -> bool:
        """Whether some operation of TensorFlow goes into a value."""
        for producer in self.optimizers.producers(node):
            if isinstance(producer, Binding) or producer in seen:
                continue
            seen.add(producer)
            if operation(self.context.index, producer):
                return True
            if isinstance(producer, (ast.BinOp, ast.UnaryOp)):
                parts = [p for p in ast.iter_child_nodes(producer) if isinstance(p, ast.expr)]
                if any(self._is_tensor(part, seen) for part in parts):
                    return True
        return False

    def _in_optimizer(self, node: ast.AST) -> bool:
        """Whether a node updates weights, which an optimizer does in float32."""
        around = self.context.index.ancestors(node)
        return any(
            isinstance(outer, ast.ClassDef)
            and any(self._is_optimizer(base) for base in outer.bases)
            for outer in around
        )

    def _is_optimizer(self, base: ast.expr) -> bool:
        return any(name.endswith("Optimizer") for name in self.context.index.resolve(base).names)


def vanishes(value: float) -> bool:
    """Whether float16 has nothing but zero for a number."""
    if not 0 < abs(value) < 1:
        return False
    return bool(struct.unpack("e", struct.pack("e", value))[0] == 0)
