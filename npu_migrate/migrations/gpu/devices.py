"""Operations that a script places on a GPU: a process has one NPU, which takes all that is free.

``tf.device('/gpu:0')`` becomes ``tf.device(None)``: one argument changes, the block keeps its
indentation, and what stands inside ``tf.device('/cpu:0')`` is not drawn to the CPU.
"""

import ast
import re
from typing import Dict, FrozenSet, Iterator, List, Set, Tuple, Union

from npu_migrate.migrations.context import Context, argument
from npu_migrate.migrations.gpu.gpu_choices import GpuChoices
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import (
    FUNCTIONS,
    LOOPS,
    Binding,
    FunctionNode,
    defaults_of,
    dotted,
    is_none,
    literal,
    parameters,
)
from npu_migrate.plan import Edit, RemoveStatement, ReplaceExpression, Status

DEVICE = "tensorflow.device"
DEVICE_SPEC = "tensorflow.DeviceSpec"
DEVICE_SPECS = frozenset((DEVICE_SPEC,))
COPIES = frozenset(
    f"tensorflow.{module}.{name}"
    for module in ("data.experimental", "contrib.data")
    for name in ("prefetch_to_device", "copy_to_device")
)
"""What gives ``dataset.apply`` a function that moves elements to a device."""

GPU = re.compile(r"(?:/(?:job|replica|task):[^/\s]*)*/?(?:device:)?(?:xla_)?gpu:\S*", re.IGNORECASE)
"""The name of a GPU, or the start of one; what follows the colon may be computed."""

OF_A_JOB = re.compile(r"/job:(?!localhost)", re.IGNORECASE)
"""The name of a device that may belong to another process."""

SURE = re.compile(r"/|device:|.*:(\d+|%\w|\{\w*\})$", re.IGNORECASE)
"""What is the name of a GPU wherever it stands, and not the beginning of some message."""

OTHER_DEVICE = re.compile(r"cpu|tpu:|/job:", re.IGNORECASE)

OTHERS = ("tensorflow.distribute.", "tensorflow.contrib.distribute.", "horovod.", "npu_migrate.")
"""Functions whose devices other rules see to."""

COMPARING = ("startswith", "endswith", "find", "index", "count", "replace", "split", "strip")
SHOWING = ("assert", "print", "info", "log", "debug", "warn")
SETTINGS = ("FLAGS", "flags", "args", "params", "hparams", "config", "opts", "options", "self")


class Devices:
    """The placing of operations in one file."""

    def __init__(self, context: Context, optimizers: Optimizers) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self._choices = GpuChoices(context)
        self._reported: Set[Tuple[str, ast.stmt]] = set()
        placing = self.index.possible_calls(frozenset((DEVICE,)))
        self._placements = [call for call in placing if self._places(call)]

    def run(self) -> None:
        self._copies()
        devices = [d for d in self._gpu_devices() if not self.context.without(d)]
        for device in devices:
            self._device(device)
        for call in self._placements:
            self._placement(call, devices)

    def _places(self, call: ast.Call) -> bool:
        """``tf.device(...)``, or ``graph.device(...)`` of some receiver."""
        if self.context.is_named(call.func, (DEVICE,)):
            return True
        names = self.index.resolve(call.func).names
        return isinstance(call.func, ast.Attribute) and call.func.attr == "device" and not names

    # Which expressions name a GPU -------------------------------------------------------------

    def _gpu_devices(self) -> Iterator[ast.expr]:
        """The expressions that name a GPU, with all that computes its number."""
        for text in self.index.string_nodes:
            value = str(literal(text))
            if GPU.fullmatch(value):
                device = self._whole(text)
                if SURE.match(value) or self._is_placed(device):
                    yield device
        for call in self.index.calls_of(DEVICE_SPECS):
            kind = argument(call, 3, "device_type")
            if str(literal(kind)).upper() == "GPU":
                yield call

    def _whole(self, text: ast.expr) -> ast.expr:
        """The expression that a text begins."""
        node: ast.expr = text
        while True:
            parent = self.index.parents[node]
            begins = isinstance(parent, ast.BinOp) and parent.left is node
            begins = begins or (isinstance(parent, ast.JoinedStr) and parent.values[0] is node)
            if begins and isinstance(parent, ast.expr):
                node = parent
            elif isinstance(parent, ast.Attribute) and parent.attr == "format":
                call = self.index.parents[parent]
                assert isinstance(call, ast.Call)
                node = call
            else:
                return node

    # What becomes of them ---------------------------------------------------------------------

    def _device(self, device: ast.expr) -> None:
        parent = self._holder(device)
        if isinstance(parent, (ast.Compare, ast.Expr)) or self._is_only_asked(device, parent):
            return
        if self._is_one_of_several(device):
            self._report_once("gpu-towers", device)
        elif self._is_placed(device) and not self._is_of_a_job(device):
            self._place(device, "''" if self._is_computed(device) else "None")
        elif self._uses_tensorflow():
            self._report_once("gpu-device-name", device)

    def _place(self, device: ast.expr, code: str) -> None:
        """Put ``code`` in place of a device, or of all that a question for GPUs decides of it."""
        choices = self._choices.of(device)
        edits: Tuple[Edit, ...] = (ReplaceExpression(device, code),)
        if choices:
            edits = self._choices.decided(device, choices[0], code) if len(choices) == 1 else ()
        if not edits:
            self._report_once("gpu-device-chosen", device)
        elif self.context.report("gpu-device", device, *edits, symbol=DEVICE):
            for gone in (device, *choices):
                self.context.discard(gone)

    def _report_once(self, rule: str, device: ast.expr) -> None:
        """Report the first of the names in a statement."""
        place = (rule, self.index.statement(device))
        if place not in self._reported:
            self._reported.add(place)
            self.context.report(rule, device, symbol=DEVICE)

    def _uses_tensorflow(self) -> bool:
        return any(
            f"{self.index.canonical(binding.target)}.".startswith("tensorflow.")
            for node in self.index.imports
            for binding in self.index.statement_bindings(node)
        )

    def _holder(self, node: ast.AST) -> ast.AST:
        parent = self.index.parents[node]
        return self.index.parents[parent] if isinstance(parent, ast.keyword) else parent

    def _is_only_asked(self, device: ast.expr, parent: ast.AST) -> bool:
        """Whether a name is compared with another, printed, or handled by other rules."""
        if self._is_of_a_strategy(device):
            return True
        if not isinstance(parent, ast.Call):
            return isinstance(parent, ast.Attribute) and bool(literal(device))
        name = dotted(parent.func).rpartition(".")[2]
        return name in COMPARING or name.lower().startswith(SHOWING)

    def _is_of_a_strategy(self, device: ast.expr, seen: FrozenSet[ast.AST] = frozenset()) -> bool:
        """Whether a name, or a list with it, is an argument of a function that other rules know."""
        for ancestor in self.index.ancestors(device):
            if isinstance(ancestor, ast.Call):
                return any(n.startswith(OTHERS) for n in self.index.resolve(ancestor.func).names)
            if isinstance(ancestor, ast.Assign):
                return ancestor in seen or self._are_of_a_strategy(ancestor, seen | {ancestor})
            if not isinstance(ancestor, (ast.List, ast.Tuple, ast.ListComp, ast.keyword)):
                return False
        return False

    def _are_of_a_strategy(self, statement: ast.Assign, seen: FrozenSet[ast.AST]) -> bool:
        """Whether a function binds a list of devices that goes nowhere but to such a call."""
        bindings = self.index.statement_bindings(statement)
        return (
            bool(bindings)
            and isinstance(statement.value, (ast.List, ast.Tuple, ast.ListComp))
            and not any(binding.scope is self.index.root for binding in bindings)
            and all(
                self._is_of_a_strategy(read, seen)
                for binding in bindings
                for read in self.index.reads(binding)
            )
        )

    def _is_of_a_job(self, device: ast.expr) -> bool:
        if isinstance(device, ast.Call) and self.context.calls_to(device, DEVICE_SPEC):
            return argument(device, 0, "job") is not None
        return any(OF_A_JOB.match(str(literal(node))) for node in ast.walk(device))

    def _is_computed(self, device: ast.expr) -> bool:
        """Whether a device function gives the name, which must be a text."""
        return any(isinstance(a, ast.Lambda) for a in self.index.ancestors(device))

    def _is_placed(self, node: ast.AST, seen: FrozenSet[ast.AST] = frozenset()) -> bool:
        """Whether a value goes nowhere but into ``tf.device``."""
        parent = self._holder(node)
        if node in seen:
            return True
        seen = seen | {node}
        if isinstance(parent, ast.Call):
            if parent in self._placements:
                return True
            return parent.func is not node and self._is_placed_by_callee(parent, node, seen)
        if isinstance(parent, ast.IfExp):
            return parent.test is not node and self._is_placed(parent, seen)
        if isinstance(parent, (ast.BoolOp, ast.Lambda)):
            return self._is_placed(parent, seen)
        if isinstance(parent, ast.Assign) and parent.value is node:
            return self._are_placed(parent, seen)
        if isinstance(parent, FUNCTIONS):
            return self._default_is_placed(parent, node, seen)
        return False

    def _are_placed(self, statement: ast.Assign, seen: FrozenSet[ast.AST]) -> bool:
        """Whether every read of what a statement binds goes into ``tf.device``."""
        reads: List[ast.expr] = []
        for target in statement.targets:
            if isinstance(target, ast.Name) and not self.context.is_taken(target.id):
                bindings = self.index.statement_bindings(statement)
                reads += [r for b in bindings if b.name == target.id for r in self.index.reads(b)]
            elif self.index.self_attribute(target) is not None:
                assert isinstance(target, ast.Attribute)
                reads += [c for c in self.index.chains if _is_attribute(c, target.attr)]
            else:
                return False
        return bool(reads) and all(self._is_placed(read, seen) for read in reads)

    def _is_placed_by_callee(self, call: ast.Call, node: ast.AST, seen: FrozenSet[ast.AST]) -> bool:
        """Whether the function of this file that takes a value places operations by it."""
        function = self.index.function_called(call)
        if function is None:
            return False
        names = parameters(function)
        if self.index.is_method(function):
            names = names[1:]
        for name in names + [a.arg for a in function.args.kwonlyargs]:
            position = names.index(name) if name in names else -1
            if argument(call, position, name) is node:
                return self._parameter_is_placed(function, name, seen)
        return False

    def _default_is_placed(
        self, function: FunctionNode, node: ast.AST, seen: FrozenSet[ast.AST]
    ) -> bool:
        """Whether the parameter that a value is the default of goes nowhere else."""
        names = [name for name, default in defaults_of(function).items() if default is node]
        return bool(names) and self._parameter_is_placed(function, names[0], seen)

    def _parameter_is_placed(self, function: ast.AST, name: str, seen: FrozenSet[ast.AST]) -> bool:
        scope = self.index.scopes.get(function)
        if scope is None:
            return False
        bound = [b for b in scope.bindings.get(name, ()) if b.parameter]
        reads = [read for binding in bound for read in self.index.reads(binding)]
        return bool(reads) and all(self._is_placed(read, seen) for read in reads)

    # One model on several GPUs ----------------------------------------------------------------

    def _is_one_of_several(self, device: ast.expr) -> bool:
        """Whether a loop goes over GPUs, each of which gets a part of the work."""
        parent = self.index.parents[device]
        if isinstance(parent, (ast.List, ast.Tuple)) and self._iterates(parent):
            return True
        return any(
            self._counts(name)
            for name in ast.walk(device)
            if isinstance(name, ast.Name) and name in self.index.parents
        )

    def _iterates(self, node: ast.expr) -> bool:
        """Whether a loop goes over a list."""
        parent = self.index.parents[node]
        if isinstance(parent, LOOPS + (ast.comprehension,)):
            return True
        if not isinstance(parent, ast.Assign):
            return False
        reads = [r for b in self.index.statement_bindings(parent) for r in self.index.reads(b)]
        return any(isinstance(self._holder(r), LOOPS + (ast.comprehension,)) for r in reads)

    def _counts(self, name: ast.Name, seen: FrozenSet[Binding] = frozenset()) -> bool:
        """Whether a number runs over several devices."""
        for binding in self.index.bindings(name):
            if binding.iterates or binding.augmented:
                return True
            if binding in seen:
                continue
            values: List[Union[ast.expr, Binding]] = [binding.value] if binding.value else []
            if binding.parameter:
                values = list(self.optimizers.producers(name))
            for value in values:
                if isinstance(value, Binding):
                    if value.iterates or value.augmented:
                        return True
                    continue
                inner = [n for n in ast.walk(value) if isinstance(n, ast.Name)]
                known = [n for n in inner if n in self.index.parents]
                if any(self._counts(n, seen | {binding}) for n in known):
                    return True
        return False

    # Datasets ---------------------------------------------------------------------------------

    def _copies(self) -> None:
        """``dataset.apply(tf.data.experimental.prefetch_to_device('/gpu:0', 2))``."""
        for call in self.index.calls_of(COPIES):
            device = argument(call, 0, "device", "target_device")
            if device is None or str(literal(device)).lower().lstrip("/").startswith("cpu"):
                continue
            self._copy(call)

    def _copy(self, call: ast.Call) -> None:
        symbol = self.index.resolve(call.func).sole
        apply = self.index.parents[call]
        if not isinstance(apply, ast.Call) or not isinstance(apply.func, ast.Attribute):
            self.context.report("dataset-on-gpu", call, status=Status.MANUAL, symbol=symbol)
            return
        parts: Dict[str, ast.expr] = {"dataset": apply.func.value}
        code = "$dataset"
        if symbol.endswith("prefetch_to_device"):
            size = argument(call, 1, "buffer_size")
            parts.update({"size": size} if size is not None else {})
            code = "$dataset.prefetch($size)" if size is not None else "$dataset.prefetch(None)"
        statement = self.index.statement(apply)
        edit: Edit = ReplaceExpression(apply, code, parts)
        if code == "$dataset" and _assigns_to_itself(statement, apply):
            edit = RemoveStatement(statement, self.context.options.comments_out)
            parts = {}
        if self.context.report("dataset-on-gpu", call, edit, symbol=symbol):
            self.context.discard(apply)
            for part in parts.values():
                self.context.keep(part)

    # Devices that can't be known --------------------------------------------------------------

    def _placement(self, call: ast.Call, devices: List[ast.expr]) -> None:
        device = argument(call, 0, "device_name_or_function", "device_name")
        if device is None or not self.context.is_named(call.func, (DEVICE,)):
            return
        if not self.context.without(call) and self._is_unknown(device, devices):
            self.context.report("device-not-known", call, symbol=DEVICE)

    def _is_unknown(self, device: ast.expr, devices: List[ast.expr]) -> bool:
        return any(self._may_be_gpu(p, devices) for p in self.optimizers.producers(device))

    def _may_be_gpu(self, producer: Union[ast.expr, Binding], devices: List[ast.expr]) -> bool:
        if isinstance(producer, Binding):
            is_cpu = "cpu" in producer.name.lower()
            return producer.parameter and not is_cpu and self._has_no_default(producer)
        if producer in devices or is_none(producer) or isinstance(producer, ast.Lambda):
            return False
        if isinstance(literal(producer), str):
            return False
        if isinstance(producer, ast.Attribute) and producer.attr == "device":
            return dotted(producer).rpartition(".")[0] in SETTINGS
        if any(_names_no_gpu(node) for node in ast.walk(producer)):
            return False
        if isinstance(producer, ast.Call):
            names = self.index.resolve(producer.func).names
            return not names or any(n.startswith("builtins.") for n in names)
        return not self._is_function(producer)

    def _has_no_default(self, binding: Binding) -> bool:
        function = binding.scope.node
        if not isinstance(function, (*FUNCTIONS, ast.Lambda)):
            return True
        return defaults_of(function).get(binding.name, function) is None

    def _is_function(self, node: ast.expr) -> bool:
        names = self.index.resolve(node).names
        is_flag = any(".FLAGS." in name for name in names)
        return self.index.function_named(node) is not None or (bool(names) and not is_flag)


def _names_no_gpu(node: ast.AST) -> bool:
    """Whether a part of a device's name, or a variable for it, says what it is: not a GPU."""
    text = str(literal(node)) if isinstance(literal(node), str) else dotted(node)
    return bool(OTHER_DEVICE.search(text))


def _assigns_to_itself(statement: ast.stmt, call: ast.Call) -> bool:
    """``dataset = dataset.apply(...)``."""
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return False
    assert isinstance(call.func, ast.Attribute)
    return [dotted(target) for target in statement.targets] == [dotted(call.func.value)] != [""]


def _is_attribute(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name
