"""What a file switches on or off for its whole program."""

import ast
from typing import Collection, FrozenSet, Iterator, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.session import precision_switches
from npu_migrate.names import Index, literal

MIXED_PRECISION = "mixed precision"
CONTROL_FLOW_V2 = "control flow v2"
COLLECTIVES = "collective communication"
MIX_COMPILE = "mix_compile_mode"
HOST_PIPELINE = "input pipeline on the host"

_CALLED = {
    MIXED_PRECISION: vocabulary.SCALED
    | {
        "tensorflow.keras.mixed_precision.experimental.set_policy",
        "tensorflow.keras.mixed_precision.experimental.LossScaleOptimizer",
    },
    CONTROL_FLOW_V2: {"tensorflow.enable_control_flow_v2", "tensorflow.enable_v2_behavior"},
    COLLECTIVES: {
        "npu_bridge.npu_init.init_resource",
        "npu_bridge.npu_init.set_keras_session_npu_config",
        "npu_bridge.npu_init.npu_ops.initialize_system",
        "npu_bridge.estimator.npu_ops.initialize_system",
        "npu_bridge.npu_init.NPUEstimator",
        vocabulary.BRIDGE + "npu_estimator.NPUEstimator",
    },
}
"""What turns a switch on when it is called."""

_WRITTEN = {
    "allow_mix_precision": MIXED_PRECISION,
    "mixed_float16": MIXED_PRECISION,
}
"""Texts that turn a switch on."""

_OPTIONS = {("mix_compile_mode", True): MIX_COMPILE, ("enable_data_pre_proc", False): HOST_PIPELINE}
"""Options of the ``NpuOptimizer`` and of ``NPURunConfig``, and the values that count."""


def switches(index: Index) -> FrozenSet[str]:
    """The switches that a file sets."""
    found = {*_called(index), *_written(index), *_options(index)}
    if precision_switches.options(index):
        found.add(MIXED_PRECISION)
    return frozenset(found)


def is_call_of(index: Index, call: ast.Call, switch: str) -> bool:
    """Whether a call turns a switch on."""
    return not index.resolve(call.func).names.isdisjoint(_CALLED[switch])


def _called(index: Index) -> Iterator[str]:
    last = {name.rpartition(".")[2] for names in _CALLED.values() for name in names}
    for call in index.calls:
        if _may_be_named(call.func, last):
            yield from (switch for switch in _CALLED if is_call_of(index, call, switch))


def _may_be_named(node: ast.expr, last: Collection[str]) -> bool:
    """Whether it is worth resolving: a name may be an alias, an attribute tells by itself."""
    return isinstance(node, ast.Name) or getattr(node, "attr", "") in last


def _written(index: Index) -> Iterator[str]:
    for string in index.string_nodes:
        text = literal(string)
        if text in _WRITTEN:
            yield _WRITTEN[str(text)]


def _options(index: Index) -> Iterator[str]:
    for option in (*_as_keywords(index), *_as_parameters(index)):
        if option in _OPTIONS:
            yield _OPTIONS[option]


def _as_keywords(index: Index) -> Iterator[Tuple[str, bool]]:
    for call in index.calls:
        for keyword in call.keywords:
            value = literal(keyword.value)
            if keyword.arg is not None and isinstance(value, bool):
                yield keyword.arg, value


def _as_parameters(index: Index) -> Iterator[Tuple[str, bool]]:
    """``parameter_map["mix_compile_mode"].b = True``."""
    for string in index.string_nodes:
        statement = index.statement(string)
        value = literal(statement.value) if isinstance(statement, ast.Assign) else None
        if isinstance(value, bool):
            yield str(literal(string)), value
