"""Horovod becomes HCCL behind the same API (NPU2xx)."""

import ast
from typing import List, Optional, Sequence, Union

from npu_migrate.facts import RunFacts
from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument, unpacks
from npu_migrate.migrations.distributed import horovod_optimizer, nesting
from npu_migrate.migrations.distributed.nesting import Nesting
from npu_migrate.migrations.loss_scale.loss_scaling import LossScaling
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import Binding, Index, dotted
from npu_migrate.plan import (
    DropImport,
    Edit,
    EditCall,
    ReplaceExpression,
    ReplaceImport,
    Status,
)

TENSORFLOW_MODULES = tuple(f"{library}.tensorflow" for library in vocabulary.LIBRARIES)
NO_LONGER_READ = "; nothing reads it here any more"

ADAPTER_API = frozenset(
    """
    init shutdown is_initialized size rank local_size local_rank cross_size cross_rank
    is_homogeneous size_op rank_op local_size_op local_rank_op allreduce grouped_allreduce
    allgather broadcast alltoall broadcast_global_variables broadcast_variables
    BroadcastGlobalVariablesHook DistributedOptimizer Compression Average Sum Min Max Adasum
    Product mpi_threads_supported mpi_enabled mpi_built gloo_enabled gloo_built nccl_built
    ddl_built ccl_built cuda_built rocm_built
    """.split()  # noqa: SIM905
)
"""What ``ops_adapter`` offers of Horovod's names."""

UNSUPPORTED = (
    "allgather_object",
    "broadcast_object",
    "broadcast_object_fn",
    "start_timeline",
    "stop_timeline",
    "DistributedGradientTape",
    "elastic",
)
"""What the vendor calls unsupported of them."""


KERAS_API = frozenset(
    """
    init shutdown is_initialized size rank local_size local_rank cross_size cross_rank allreduce
    allgather broadcast broadcast_global_variables DistributedOptimizer load_model Compression
    Average Sum mpi_threads_supported mpi_enabled mpi_built gloo_enabled gloo_built nccl_built
    ddl_built ccl_built cuda_built rocm_built
    """.split()  # noqa: SIM905
)
"""What its module ``keras`` offers, beside its callbacks."""
CALLBACKS = frozenset(
    (
        "BroadcastGlobalVariablesCallback",
        "LearningRateScheduleCallback",
        "LearningRateWarmupCallback",
        "MetricAverageCallback",
    )
)


def is_offered(name: str) -> bool:
    """Whether ``ops_adapter`` has a name of ``horovod.tensorflow``."""
    first, *further = name.split(".")
    if first != "keras":
        return first in ADAPTER_API
    if further[:1] == ["callbacks"]:
        return set(further[1:2]) <= CALLBACKS
    return set(further[:1]) <= KERAS_API


def _is_spelled_out(chain: ast.expr, name: str) -> bool:
    """``horovod.tensorflow.keras.x``: no one import of the adapter has its module by this path."""
    return name.split(".")[0] == "keras" and _horovod_part(chain) is not None


def beyond_the_adapter(index: Index, run: RunFacts) -> List[ast.expr]:
    """The uses of Horovod in a file that ``ops_adapter`` has no counterpart for."""
    if not run.uses_horovod(index.module):
        return []
    prefix = vocabulary.HOROVOD + "."
    found = []
    for chain in index.chains:
        for name in index.resolve(chain).names:
            rest = name[len(prefix) :] if name.startswith(prefix) else ""
            if rest and (not is_offered(rest) or _is_spelled_out(chain, rest)):
                found.append(chain)
    bases = [base for node in index.classes for base in node.bases]
    horovods = frozenset(vocabulary.HOROVOD_OPTIMIZERS)
    return found + [base for base in bases if index.resolve(base).names & horovods]


def keep_uses(context: Context, uses: Sequence[ast.expr]) -> None:
    """Hold back what takes away one of the uses by which a file stays on Horovod.

    Without that use a later run would migrate what this one leaves.
    """
    reason = "what would go with it keeps the program on Horovod"
    context.hold(uses, reason, "see to that use of Horovod first, and migrate again")


class Distribution:
    """Migrates the Horovod calls of one file."""

    def __init__(
        self, context: Context, optimizers: Optimizers, order: Nesting, scaling: LossScaling
    ) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self.nesting = order
        self.scaling = scaling

    def run(self) -> None:
        beyond = beyond_the_adapter(self.index, self.context.run)
        if beyond:
            self._leave(beyond)
            return
        self.nesting.run()
        self._optimizers()
        self._hooks()
        self._imports()
        self._not_migrated()
        self._single_device()

    def _leave(self, uses: List[ast.expr]) -> None:
        """A file is never half migrated: its Horovod stays, and a person decides."""
        self._not_migrated(with_keras=True)
        for use in uses:
            holder = self.index.parents[use]
            if isinstance(holder, ast.ClassDef):
                symbol = vocabulary.HOROVOD_OPTIMIZER
                self.context.report("horovod-optimizer-subclass", holder, symbol=symbol)
                continue
            symbol = sorted(self.index.resolve(use).names)[0]
            name = symbol[len(vocabulary.HOROVOD) + 1 :]
            if is_offered(name) and self._imports_keras():
                continue  # its import is reported
            library = self._library()
            unsupported = name.split(".")[0] in UNSUPPORTED
            rule = "horovod-unsupported" if unsupported else "horovod-without-counterpart"
            self.context.report(rule, use, symbol=symbol, use=name, library=library)

    def _imports_keras(self) -> bool:
        return any(".keras" in p for node in self.index.imports for p in library_paths(node))

    def _library(self) -> str:
        """What the library is called whose API a file uses."""
        paths = [path for node in self.index.imports for path in library_paths(node)]
        return next((vocabulary.LIBRARIES[path.split(".")[0]] for path in paths), "Horovod")

    # Optimizers and hooks ---------------------------------------------------------------------

    def _calls_of(self, name: str) -> List[ast.Call]:
        modules = (vocabulary.HOROVOD, vocabulary.ADAPTER)
        return self.index.calls_of(frozenset(f"{module}.{name}" for module in modules))

    def _optimizers(self) -> None:
        swapped = set(self.nesting.to_swap.values())
        for call in self._calls_of("DistributedOptimizer"):
            if call in self.nesting.inside_out:
                self._inside_out(call)
            elif call not in swapped and self.context.stands(call):
                self._optimizer(call)

        for call in self._calls_of("keras.DistributedOptimizer"):
            refused = horovod_optimizer.refused(self.index, horovod_optimizer.arguments(call) or {})
            if refused:
                symbol = vocabulary.HOROVOD + ".keras.DistributedOptimizer"
                self.context.report(
                    "horovod-optimizer-argument", call, symbol=symbol, arguments=refused
                )

    def _inside_out(self, call: ast.Call) -> None:
        refused = horovod_optimizer.refused(self.index, horovod_optimizer.arguments(call) or {})
        rule = "horovod-optimizer-argument" if refused else nesting.RULE
        self.context.report(
            rule,
            call,
            status=Status.MANUAL,
            symbol=vocabulary.HOROVOD_OPTIMIZER,
            arguments=refused,
            dropped="",
        )

    def _optimizer(self, call: ast.Call) -> None:
        given = horovod_optimizer.arguments(call)
        resolution = self.index.resolve(call.func)
        if given is None:
            self.context.report(
                "arguments-not-visible", call, subject=dotted(call.func), symbol=resolution.sole
            )
            return
        refused = horovod_optimizer.refused(self.index, given)
        if refused:
            self.context.report(
                "horovod-optimizer-argument", call, symbol=resolution.sole, arguments=refused
            )
            return
        callee = self.context.local(vocabulary.DISTRIBUTED_OPTIMIZER, call)
        self.context.discard(call.func)
        for name in horovod_optimizer.dropped(call):
            self.context.discard(given[name])
        self.context.report(
            "horovod-distributed-optimizer",
            call,
            EditCall(call, callee, tuple(horovod_optimizer.drops(call))),
            symbol=resolution.sole,
            assumed=resolution.assumed or resolution.unknown,
            dropped=horovod_optimizer.wording(self.context, call),
        )

    def _hooks(self) -> None:
        for call in self._calls_of("BroadcastGlobalVariablesHook"):
            root = argument(call, 0, "root_rank")
            resolution = self.index.resolve(call.func)
            if root is None or unpacks(call):
                self.context.report(
                    "arguments-not-visible", call, subject=dotted(call.func), symbol=resolution.sole
                )
                continue
            spelled_out = _horovod_part(call.func) is not None
            if isinstance(call.func, ast.Attribute) and not spelled_out:
                module = dotted(call.func.value)
            else:
                module = self.context.local(vocabulary.ADAPTER, call)
                self.context.discard(call.func)
            callee = self.context.local(vocabulary.BROADCAST_HOOK, call)
            self.context.report(
                "horovod-broadcast-hook",
                call,
                ReplaceExpression(call, f"{callee}($root, {module}.rank())", {"root": root}),
                symbol=resolution.sole,
                dropped="; dropped: device" if len(call.args) + len(call.keywords) > 1 else "",
                assumed=resolution.assumed or resolution.unknown,
            )

    # Imports ----------------------------------------------------------------------------------

    def _imports(self) -> None:
        for node in self.index.imports:
            for binding in self.index.statement_bindings(node):
                if binding.alias is None:
                    continue
                edit = self._import(node, binding)
                if edit is not None:
                    self.context.report(
                        "horovod-import",
                        node,
                        edit,
                        symbol=self.index.canonical(binding.target),
                        change=NO_LONGER_READ if isinstance(edit, DropImport) else "",
                        local=binding.name,
                        library=vocabulary.LIBRARIES.get(binding.target.split(".")[0], "Horovod"),
                    )

    def _not_migrated(self, with_keras: bool = False) -> None:
        """Parts of Horovod whose imports are not replaced."""
        for node in self.index.imports:
            for path in library_paths(node):
                known = f"{self.index.canonical(path)}.".startswith(vocabulary.HOROVOD + ".")
                if not known or path.endswith(".*") or (with_keras and ".keras" in path):
                    self.context.report("horovod-module", node, symbol=path, path=path)

    def _import(self, node: ast.stmt, binding: Binding) -> Optional[Edit]:
        target = self.index.canonical(binding.target)
        assert binding.alias is not None and isinstance(node, (ast.Import, ast.ImportFrom))
        if target.startswith(vocabulary.HOROVOD) and not self._still_read(binding):
            return DropImport(node, binding.alias)
        if target == vocabulary.HOROVOD:
            return self._adapter_as(binding.name, node, binding.alias)
        if target in vocabulary.LIBRARIES and _is_of_tensorflow(binding.alias.name):
            return self._dotted_import(node, binding)
        if target.startswith(vocabulary.HOROVOD + "."):
            name = target[len(vocabulary.HOROVOD) + 1 :]
            if is_offered(name):
                module, _, last = f"{vocabulary.ADAPTER}.{name}".rpartition(".")
                asname = binding.name if binding.name != last else ""
                return ReplaceImport(node, binding.alias, module, last, asname)
        return None

    def _dotted_import(self, node: ast.stmt, binding: Binding) -> Optional[Edit]:
        """``import horovod.tensorflow``: its uses are spelt out, so they change with it."""
        assert binding.alias is not None and isinstance(node, (ast.Import, ast.ImportFrom))
        spelled = [part for part in map(_horovod_part, self.index.chains) if part is not None]
        left = [part for part in spelled if self.context.stands(part)]
        for part in left:
            local = self.context.local(vocabulary.ADAPTER, part)
            self.context.discard(part)
            self.context.plan.edits.append(ReplaceExpression(part, local))
        if not spelled and (self.context.is_taken(binding.name) or self.index.reads(binding)):
            return None
        if self._has_parameter():
            return self._adapter_as(vocabulary.HOROVOD_NAMES[0], node, binding.alias)
        return DropImport(node, binding.alias)

    def _adapter_as(
        self, name: str, node: Union[ast.Import, ast.ImportFrom], alias: ast.alias
    ) -> ReplaceImport:
        package, _, adapter = vocabulary.ADAPTER.rpartition(".")
        return ReplaceImport(node, alias, package, adapter, name if name != adapter else "")

    def _still_read(self, binding: Binding) -> bool:
        reads = self.context.reads_of_import(binding)
        if self.context.is_taken(binding.name) or not reads or self._has_parameter():
            return True
        return any(not self.context.without(read) for read in reads)

    def _has_parameter(self) -> bool:
        """Whether a parameter is Horovod by its name, and is still read.

        Without the import a later run could not tell what the parameter is.
        """
        for chain in self.index.chains:
            root: ast.AST = chain
            while isinstance(root, ast.Attribute):
                root = root.value
            if not isinstance(root, ast.Name) or not self.context.stands(root):
                continue
            if root.id.lstrip("_") in vocabulary.HOROVOD_NAMES:
                if any(bound.parameter for bound in self.index.bindings(root)):
                    return True
        return False

    # A script that was never distributed ------------------------------------------------------

    def _single_device(self) -> None:
        if self.scaling.by_rank_count:
            first = min(self.scaling.by_rank_count, key=lambda call: call.lineno)
            self.context.report(
                "averaged-by-rank-count", first, symbol=vocabulary.DISTRIBUTED_OPTIMIZER
            )


def _horovod_part(chain: ast.expr) -> Optional[ast.expr]:
    """The ``horovod.tensorflow`` at the start of a chain."""
    part: ast.AST = chain
    while isinstance(part, ast.Attribute):
        if dotted(part) in TENSORFLOW_MODULES:
            return part
        part = part.value
    return None


def _is_of_tensorflow(path: str) -> bool:
    """Whether a dotted path is ``horovod.tensorflow`` or below it."""
    return any(f"{path}.".startswith(f"{module}.") for module in TENSORFLOW_MODULES)


def library_paths(node: Union[ast.Import, ast.ImportFrom]) -> List[str]:
    """The dotted paths of Horovod, or of what has its API, that an import statement names."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        if node.level:
            return []
        names = [f"{node.module}.{name}" for name in names]
    parts = [name.split(".") for name in names]
    return [
        ".".join(path)
        for path in parts
        if path[0] in vocabulary.LIBRARIES and not vocabulary.OTHER_FRAMEWORKS & set(path[1:2])
    ]
