"""What a script asks about GPUs, what a single one would answer, and the report of it (NPU608)."""

import ast
import operator
from typing import FrozenSet, List, Optional

from npu_migrate.migrations.context import Context, argument
from npu_migrate.names import dotted, literal
from npu_migrate.plan import RemoveStatement, Status

LISTS = frozenset(
    (
        "tensorflow.config.experimental.list_physical_devices",
        "tensorflow.config.experimental.list_logical_devices",
        "tensorflow.config.experimental_list_devices",
        "tensorflow.python.client.device_lib.list_local_devices",
    )
)
TRUE_OF_A_GPU = frozenset(
    "tensorflow.test." + name
    for name in (
        "is_gpu_available",
        "is_built_with_cuda",
        "is_built_with_gpu_support",
        "gpu_device_name",
    )
)
QUESTIONS = LISTS | TRUE_OF_A_GPU

OUTPUTS = ("print", "info", "warning", "warn", "debug", "error", "log")
DATA_FORMATS = frozenset(("channels_first", "channels_last", "NCHW", "NHWC"))
_COMPARISONS = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class GpuQuestions:
    """The questions of one file."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.index = context.index

    def report(self) -> None:
        """Report what is decided by whether there are GPUs: there are none."""
        for call in self.index.possible_calls(QUESTIONS):
            if not self._is_question(call) or self.context.without(call):
                continue
            if self._is_of_no_use(call):
                continue
            if self._is_done_with(call):
                self._remove(call)
                continue
            status = Status.NOTE if self._chooses_format(call) else None
            symbol = self.index.resolve(call.func).sole
            self.context.report("gpu-question", call, status=status, symbol=symbol)

    def asks(self, test: ast.expr, seen: FrozenSet[ast.AST] = frozenset()) -> bool:
        """Whether a condition rests on a question."""
        made = {
            producer
            for node in ast.walk(test)
            if isinstance(node, ast.expr) and node in self.index.parents
            for producer in (node, *self.index.producers(node))
            if isinstance(producer, ast.expr)
        }
        return any(map(self._is_question, made)) or any(
            self.asks(producer, seen | made) for producer in made - seen - {test}
        )

    def value(self, test: ast.expr) -> Optional[bool]:
        """What a condition is where there is one GPU; ``None`` where that can't be told."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            value = self.value(test.operand)
            return None if value is None else not value
        if isinstance(test, ast.BoolOp):
            values = {self.value(value) for value in test.values}
            decides = not isinstance(test.op, ast.And)
            return decides if decides in values else values.pop() if len(values) == 1 else None
        if isinstance(test, ast.Compare):
            left, right = self._count(test.left), self._count(test.comparators[0])
            compare = _COMPARISONS.get(type(test.ops[0]))
            if left is None or right is None or compare is None or len(test.ops) > 1:
                return None
            return bool(compare(left, right))
        producers = self.index.producers(test)
        return True if producers and all(map(self._is_true, producers)) else None

    def _is_true(self, node: object) -> bool:
        if isinstance(node, ast.Call) and self.context.is_named(node.func, TRUE_OF_A_GPU):
            return True
        return self._is_list(node) or (isinstance(node, ast.expr) and self._count(node) == 1)

    def _count(self, node: ast.expr) -> Optional[int]:
        """A number, or that of the GPUs."""
        number = literal(node)
        if isinstance(number, int):
            return number
        producers = self.index.producers(node)
        return 1 if producers and all(map(self._is_length, producers)) else None

    def _is_length(self, node: object) -> bool:
        if not isinstance(node, ast.Call) or not self.context.calls_to(node, "builtins.len"):
            return False
        given = self.index.producers(node.args[0]) if node.args else []
        return bool(given) and all(map(self._is_list, given))

    def _is_list(self, node: object) -> bool:
        """Whether an expression is a list of the GPUs."""
        if isinstance(node, ast.ListComp):
            made = self.index.producers(node.generators[0].iter)
            names_gpus = any(literal(inner) == "GPU" for inner in ast.walk(node))
            return names_gpus and any(self._is_question(p) for p in made)
        if not isinstance(node, ast.Call) or not self.context.is_named(node.func, LISTS):
            return False
        return literal(argument(node, 0, "device_type")) == "GPU"

    def _is_question(self, node: object) -> bool:
        if not isinstance(node, ast.Call) or not self.context.is_named(node.func, QUESTIONS):
            return False
        kind = literal(argument(node, 0, "device_type"))
        is_list = self.context.is_named(node.func, LISTS)
        return not is_list or kind in (None, "GPU", "XLA_GPU")

    def _is_of_no_use(self, call: ast.Call) -> bool:
        """Whether the answer goes nowhere, or is only printed."""
        statement = self.index.statement(call)
        if isinstance(statement, ast.Expr) and statement.value is call:
            return True
        if isinstance(statement, ast.Assign) and statement.value is call:
            reads = self._reads(statement)
            return bool(reads) and all(is_shown(self.context, read) for read in reads)
        return is_shown(self.context, call)

    def _is_done_with(self, call: ast.Call) -> bool:
        """Whether an answer was kept for what is gone."""
        statement = self.index.statement(call)
        if not isinstance(statement, ast.Assign) or statement.value is not call:
            return False
        bindings = self.index.statement_bindings(statement)
        reads = self._reads(statement)
        return (
            bool(reads)
            and all(map(self.context.without, reads))
            and not any(self.context.is_taken(binding.name) for binding in bindings)
        )

    def _remove(self, call: ast.Call) -> None:
        statement = self.index.statement(call)
        edit = RemoveStatement(statement, comment=False)
        symbol = self.index.resolve(call.func).sole
        if self.context.report("gpu-question", call, edit, status=Status.MIGRATED, symbol=symbol):
            self.context.discard(statement)

    def _reads(self, statement: ast.stmt) -> List[ast.Name]:
        bindings = self.index.statement_bindings(statement)
        return [read for binding in bindings for read in self.index.reads(binding)]

    def _chooses_format(self, call: ast.Call) -> bool:
        """Whether the answer chooses between the data formats, both of which are right."""
        for ancestor in self.index.ancestors(call):
            if isinstance(ancestor, (ast.If, ast.IfExp)):
                return any(literal(node) in DATA_FORMATS for node in ast.walk(ancestor))
        return False


def is_shown(context: Context, node: ast.AST) -> bool:
    """Whether a value is only printed or logged."""
    return any(
        isinstance(a, ast.Call) and dotted(a.func).rpartition(".")[2] in OUTPUTS
        for a in context.index.ancestors(node)
    )
