"""Where the configurations of Estimators come from, and what of them goes (NPU424, NPU425)."""

import ast
from typing import Container, Dict, List, Optional, Set

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument, place_of, unpacks
from npu_migrate.migrations.optimizers import Optimizers, Producer
from npu_migrate.migrations.session.estimator_classes import (
    RUN_CONFIG,
    RUN_CONFIG_PARAMETERS,
    RUN_CONFIGS,
    STRATEGIES,
    WITHOUT_NPU,
)
from npu_migrate.migrations.session.npu_configs import NpuConfigs
from npu_migrate.names import is_none
from npu_migrate.plan import Argument, EditCall

DISTRIBUTES = (
    "; to train on several, wrap the optimizer in NPUDistributedOptimizer, train with "
    "hooks=npu_hooks_append(...), shard the data by ops_adapter.size() and ops_adapter.rank(), "
    "and save checkpoints by steps"
)
"""What to say of a strategy that goes: one process trains as one device did."""

_KNOWN = frozenset((*RUN_CONFIGS, vocabulary.NPU_RUN_CONFIG))
_REPLACING = frozenset(("replace",))


class RunConfigs:
    """The configurations of one file."""

    def __init__(self, context: Context, optimizers: Optimizers) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self.npu = NpuConfigs(context.index, optimizers, context.run.npu_configs)

    def report(self, replaced: Container[ast.Call] = ()) -> None:
        """Drop what the NPU has not; of what is ``replaced`` whole, another edit does."""
        for call in self.index.possible_calls(_KNOWN, _REPLACING):
            if self.is_made_by(call) or self._replaces(call):
                if call not in replaced:
                    self._without_counterpart(call)
                self._saves_by_time(call)

    def is_made_by(self, producer: object) -> bool:
        """Whether a call makes a configuration of TensorFlow or of the NPU."""
        return isinstance(producer, ast.Call) and self.context.is_named(producer.func, _KNOWN)

    def origins(self, config: ast.expr) -> List[Producer]:
        """What may have made a configuration, seen through ``config.replace(...)``."""
        found: Dict[Producer, None] = {}
        pending = list(self.optimizers.producers(config))
        seen: Set[Producer] = set()
        while pending:
            producer = pending.pop()
            if producer in seen:
                continue  # replaced in a loop
            seen.add(producer)
            receiver = self._with_precision(producer) or _receiver_of_replace(producer)
            if receiver is not None:
                pending += self.optimizers.producers(receiver)
            else:
                found[producer] = None
        return list(found)

    def _with_precision(self, producer: Producer) -> Optional[ast.expr]:
        """The configuration that ``set_precision_mode`` takes and gives back."""
        if not isinstance(producer, ast.Call):
            return None
        is_set = self.context.calls_to(producer, vocabulary.SET_PRECISION_MODE)
        return argument(producer, 0, "config") if is_set else None

    def is_for_npu(self, config: ast.expr) -> bool:
        """Whether a configuration runs on the NPU already, whatever way it took."""
        origins = self.origins(config)
        return self.npu.is_npu(config) or (bool(origins) and all(map(self._runs_on_npu, origins)))

    def _runs_on_npu(self, origin: Producer) -> bool:
        if not isinstance(origin, ast.Call):
            return False
        session = arguments(origin).get("session_config") if self.is_made_by(origin) else None
        return (
            self.is_npu_class(origin)
            or self.npu.is_npu(origin)
            or (session is not None and self.npu.is_npu(session))
        )

    def is_npu_class(self, call: ast.Call) -> bool:
        """Whether a call makes the NPU's own class."""
        return self.context.is_named(call.func, (vocabulary.NPU_RUN_CONFIG,))

    def is_given(self, call: ast.Call, name: str) -> bool:
        """Whether a configuration gets an argument, and more than ``None``."""
        value = arguments(call).get(name)
        return value is not None and not all(
            isinstance(p, ast.expr) and is_none(p) for p in self.optimizers.producers(value)
        )

    # What a person must see to ----------------------------------------------------------------

    def _replaces(self, call: ast.Call) -> bool:
        receiver = _receiver_of_replace(call)
        return receiver is not None and any(map(self.is_made_by, self.origins(receiver)))

    def _without_counterpart(self, call: ast.Call) -> None:
        given = arguments(call)
        gone = {name: given[name] for name in WITHOUT_NPU if self.is_given(call, name)}
        if not gone:
            return
        edit = EditCall(call, "", tuple(self._drop(call, value) for value in gone.values()))
        if self.context.report(
            "run-config-without-counterpart",
            call,
            edit,
            symbol=RUN_CONFIG,
            arguments=", ".join(gone),
            notes=DISTRIBUTES if set(gone) & set(STRATEGIES) else "",
        ):
            for value in gone.values():
                self.context.discard(value)

    def _drop(self, call: ast.Call, value: ast.expr) -> Argument:
        """The change that drops an argument, in such a way that no other changes its place."""
        at = place_of(call, value)
        return Argument(at, "None" if isinstance(at, int) else "")

    def _saves_by_time(self, call: ast.Call) -> None:
        several = self.context.run.uses_horovod(self.index.module)
        if several and self.is_given(call, "save_checkpoints_secs"):
            self.context.report("run-config-saves-by-time", call, symbol=RUN_CONFIG)


def arguments(call: ast.Call) -> Dict[str, ast.expr]:
    """The visible arguments of a ``RunConfig(...)`` by name."""
    given: Dict[str, ast.expr] = {}
    if isinstance(call.func, (ast.Name, ast.Attribute)) and not unpacks(call):
        given.update(zip(RUN_CONFIG_PARAMETERS, call.args))
    given.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg})
    return given


def _receiver_of_replace(node: object) -> Optional[ast.expr]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr == "replace" else None
    return None
