"""Lines that say which GPUs a process has, or how: the environment binds it to its NPU.

``visible_device_list`` (NPU601), ``CUDA_VISIBLE_DEVICES`` (NPU606), ``set_visible_devices`` and
``set_memory_growth`` (NPU607) go.
"""

import ast
from typing import Container, Dict, Iterator, List, NamedTuple, Optional

from npu_migrate.migrations.context import Context, argument
from npu_migrate.migrations.environment import statement_that_sets
from npu_migrate.migrations.gpu.gpu_questions import LISTS, QUESTIONS, is_shown
from npu_migrate.names import dotted, literal
from npu_migrate.plan import Argument, Edit, EditCall, RemoveStatement, Status

ENVIRONMENT = "CUDA_VISIBLE_DEVICES"
NO_GPU = ("", "-1")
"""Values of the variable that hide all GPUs, which does no harm."""

SETTERS = frozenset(
    "tensorflow.config.experimental." + name
    for name in ("set_visible_devices", "set_memory_growth", "set_virtual_device_configuration")
)
HARMLESS = QUESTIONS | frozenset(
    ("builtins.len", "builtins.range", "builtins.isinstance", "os.environ.get", "os.getenv")
)
"""What a condition may call that goes with all that it decides."""


class _Line(NamedTuple):
    rule: str
    symbol: str


class GpuPinning:
    """The lines of one file that pin or set up GPUs."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.index = context.index
        self._lines: Dict[ast.stmt, _Line] = {}

    def run(self, horovod_stays: bool) -> None:
        """Take the lines out; those of a file whose Horovod stays may rest on it and stay too."""
        if not horovod_stays:
            self._visible_device_lists()
            self._visible_device_arguments()
        self._environment()
        self._setters()
        self._remove()

    # Session options --------------------------------------------------------------------------

    def _visible_device_lists(self) -> None:
        for statement in self.index.places:
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = dotted(statement.targets[0])
                if target.endswith("gpu_options.visible_device_list"):
                    self._lines[statement] = _Line("visible-device-list", target)

    def _visible_device_arguments(self) -> None:
        """``tf.GPUOptions(visible_device_list='0')``."""
        for call in self.index.calls_of(frozenset(("tensorflow.GPUOptions",))):
            devices = argument(call, -1, "visible_device_list")
            if devices is not None:
                edit = EditCall(call, "", (Argument("visible_device_list"),))
                symbol = "tensorflow.GPUOptions"
                if self.context.report("visible-device-list", call, edit, symbol=symbol):
                    self.context.discard(devices)

    # The environment --------------------------------------------------------------------------

    def _environment(self) -> None:
        reads: List[ast.expr] = []
        writes: Dict[ast.stmt, _Line] = {}
        for name in self.index.string_nodes:
            if literal(name) != ENVIRONMENT or is_shown(self.context, name):
                continue
            statement = self.index.statement(name)
            if not self._writes(statement, name):
                reads.append(name)
            elif not self._hides_all(statement):
                writes[statement] = _Line("cuda-visible-devices", ENVIRONMENT)
        for call in self.index.calls_of(frozenset(("os.environ.update",))):
            if any(keyword.arg == ENVIRONMENT for keyword in call.keywords):
                self._keyword(call)
        left = [r for r in reads if not self._only_guards(r, writes)]
        left = [r for r in left if self.index.statement(r) not in self._lines]
        if not left:
            self._lines.update(writes)
        for read in left:
            self.context.report(
                "cuda-visible-devices", read, status=Status.MANUAL, symbol=ENVIRONMENT
            )

    def _writes(self, statement: ast.stmt, name: ast.expr) -> bool:
        """Whether a statement does nothing but set the variable for this process."""
        if isinstance(statement, ast.AugAssign):
            return False
        return statement_that_sets(self.index, name) is statement

    def _hides_all(self, statement: ast.stmt) -> bool:
        value = getattr(statement, "value", None)
        if isinstance(value, ast.Call):
            value = argument(value, 1)
        return value is not None and literal(value) in NO_GPU

    def _keyword(self, call: ast.Call) -> None:
        statement = statement_that_sets(self.index, call)
        if statement is not None:
            self._lines[statement] = _Line("cuda-visible-devices", ENVIRONMENT)
            return
        edit = EditCall(call, "", (Argument(ENVIRONMENT),))
        self.context.report("cuda-visible-devices", call, edit, symbol=ENVIRONMENT)

    def _only_guards(self, read: ast.expr, writes: Dict[ast.stmt, _Line]) -> bool:
        """Whether a read decides about nothing but a write of the variable."""
        statement = self.index.statement(read)
        return isinstance(statement, ast.If) and all(s in writes for s in statement.body)

    # The devices of TensorFlow's configuration ------------------------------------------------

    def _setters(self) -> None:
        for call in self.index.calls_of(SETTERS):
            statement = self.index.statement(call)
            kind = literal(argument(call, 1, "device_type"))
            if isinstance(statement, ast.Expr) and statement.value is call and kind != "CPU":
                symbol = self.index.resolve(call.func).sole
                self._lines[statement] = _Line("gpu-set-up", symbol)

    # Removal ----------------------------------------------------------------------------------

    def _remove(self) -> None:
        lines = {s: line for s, line in self._lines.items() if self.context.judges(line.rule, s)}
        for statement, (rule, symbol) in self._lines.items():
            if statement not in lines:
                self.context.report(rule, statement, symbol=symbol)  # suppressed, and so is of use
        going = dict.fromkeys(lines)
        while True:
            grown = {*self._emptied(going), *self._unread(going)} - set(going)
            if not grown:
                break
            going.update(dict.fromkeys(grown))
        removable = {statement for statement in going if self._may_go(statement, going)}
        whole = [s for s in removable if not any(a in removable for a in self.index.ancestors(s))]
        whole.sort(key=lambda statement: statement.lineno)
        only_read = {statement for statement in whole if self._lists_devices(statement)}
        for line, (rule, symbol) in lines.items():
            with_line = {line, *self.index.ancestors(line)} | only_read
            removed = [s for s in whole if s in with_line and self.context.stands(s)]
            edits: List[Edit] = [RemoveStatement(s, comment=False) for s in removed]
            self.context.report(rule, line, *edits, symbol=symbol)
            for statement in removed:
                self.context.discard(statement)

    def _emptied(self, going: Dict[ast.stmt, None]) -> Iterator[ast.stmt]:
        """The ``if``, ``for`` and ``try`` that hold nothing but statements that go."""
        for statement in going:
            holder = self.index.places[statement].parent
            if not isinstance(holder, (ast.If, ast.For, ast.Try)):
                continue
            held = [*holder.body, *holder.orelse, *getattr(holder, "finalbody", ())]
            decided = getattr(holder, "test", getattr(holder, "iter", None))
            if all(s in going for s in held) and self._is_harmless(decided):
                yield holder

    def _may_go(self, statement: ast.stmt, going: Container[ast.stmt]) -> bool:
        """Whether a statement can be taken out; an ``elif`` goes with its ``if`` alone."""
        place = self.index.places[statement]
        holder = place.parent
        if not isinstance(statement, ast.If) or not isinstance(holder, ast.If):
            return True
        if len(place.block) > 1 or place.block is not holder.orelse:
            return True
        return holder in going and self._may_go(holder, going)

    def _is_harmless(self, node: Optional[ast.expr]) -> bool:
        return node is None or all(
            self.context.is_named(call.func, HARMLESS)
            for call in ast.walk(node)
            if isinstance(call, ast.Call)
        )

    def _unread(self, going: Dict[ast.stmt, None]) -> Iterator[ast.stmt]:
        """The assignments of lists of devices that only statements read that go."""
        for statement in self.index.places:
            if not isinstance(statement, ast.Assign) or not self._lists_devices(statement):
                continue
            reads = self._reads(statement)
            taken = any(
                self.context.is_taken(b.name) for b in self.index.statement_bindings(statement)
            )
            if reads and not taken:
                if all(any(a in going for a in self.index.ancestors(read)) for read in reads):
                    yield statement

    def _reads(self, statement: ast.stmt) -> List[ast.Name]:
        bindings = self.index.statement_bindings(statement)
        return [read for binding in bindings for read in self.index.reads(binding)]

    def _lists_devices(self, statement: ast.stmt) -> bool:
        value = statement.value if isinstance(statement, ast.Assign) else None
        return isinstance(value, ast.Call) and self.context.is_named(value.func, LISTS)
