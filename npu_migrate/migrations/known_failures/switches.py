"""What a file switches on or off for its whole program."""

import ast
from typing import FrozenSet, Iterator, List, Tuple

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


def calls_that_switch(index: Index, switch: str) -> List[ast.Call]:
    """The calls that turn a switch on."""
    return index.calls_of(frozenset(_CALLED[switch]))


def _called(index: Index) -> Iterator[str]:
    return (switch for switch in _CALLED if calls_that_switch(index, switch))


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
