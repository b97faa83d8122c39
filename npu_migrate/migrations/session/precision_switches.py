"""Where a script switches TensorFlow's automatic mixed precision on, or the NPU's precision."""

import ast
from typing import List, NamedTuple, Optional

from npu_migrate.facts import PrecisionSwitch
from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.environment import settings
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.session.conditions import Conditions
from npu_migrate.names import Index, dotted, literal

VARIABLES = ("TF_ENABLE_AUTO_MIXED_PRECISION", "TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE")
OPTION = "auto_mixed_precision"
SET_OPTIONS = "tensorflow.config.optimizer.set_experimental_options"
REWRITER_CONFIG = "tensorflow.core.protobuf.rewriter_config_pb2.RewriterConfig"
OFF = ("0", "false", "False", "", 0, False)
PARAMETERS = ("precision_mode", "precision_mode_v2")


class Switch(NamedTuple):
    """One switch: the node that it is found by, and what it sets."""

    node: ast.expr
    name: str
    value: Optional[ast.expr] = None
    followed: bool = True

    @property
    def is_on(self) -> bool:
        """Whether nothing says that it is switched off."""
        return not is_off(self.value)


def is_off(value: Optional[ast.expr]) -> bool:
    """Whether a value switches off."""
    if value is None:
        return False
    known = literal(value)
    return (known is not None and known in OFF) or dotted(value).endswith(".OFF")


def switches(index: Index) -> List[Switch]:
    """The switches of a file that are on, or may be."""
    return [*options(index), *_rewrites(index)]


def options(index: Index) -> List[Switch]:
    """Those that are options, and no call that wraps an optimizer."""
    found = [Switch(*setting) for setting in settings(index, VARIABLES)]
    found += _options(index) + _configurations(index)
    return [switch for switch in found if switch.is_on]


def _rewrites(index: Index) -> List[Switch]:
    return [
        Switch(call, vocabulary.GRAPH_REWRITE, followed=False)
        for call in index.calls_of(frozenset((vocabulary.GRAPH_REWRITE,)))
    ]


def _options(index: Index) -> List[Switch]:
    """``tf.config.optimizer.set_experimental_options({'auto_mixed_precision': True})``."""
    found = []
    for string in index.strings((OPTION,)):
        parent = index.parents.get(string)
        if not isinstance(parent, ast.Dict):
            continue
        holder = index.parents.get(parent)
        call = holder if isinstance(holder, ast.Call) else None
        if call is not None and index.resolve(call.func).sole == SET_OPTIONS:
            found.append(Switch(call, SET_OPTIONS, parent.values[parent.keys.index(string)]))
    return found


def _configurations(index: Index) -> List[Switch]:
    """``config.graph_options.rewrite_options.auto_mixed_precision = ON``, and as an argument."""
    found = []
    for statement in index.places:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Attribute) and target.attr == OPTION:
                    found.append(Switch(target, OPTION, statement.value))
    for call in index.calls:
        for keyword in call.keywords:
            if keyword.arg == OPTION and REWRITER_CONFIG in index.resolve(call.func).names:
                found.append(Switch(call, OPTION, keyword.value))
    return found


def sets_precision(index: Index) -> bool:
    """Whether a file says in which precision the NPU computes."""
    return sets_parameter(index) or any(
        vocabulary.SET_PRECISION_MODE in index.resolve(call.func).names
        or any(
            keyword.arg in PARAMETERS
            and vocabulary.NPU_RUN_CONFIG in index.resolve(call.func).names
            for keyword in call.keywords
        )
        for call in index.calls
    )


def sets_parameter(index: Index) -> bool:
    """Whether a file sets it by hand: ``optimizer.parameter_map["precision_mode"].s = ...``."""
    return any(
        isinstance(ancestor, ast.Subscript)
        and isinstance(ancestor.value, ast.Attribute)
        and ancestor.value.attr == "parameter_map"
        for string in index.strings(PARAMETERS)
        for ancestor in index.ancestors(string)
    )


def facts(index: Index, optimizers: Optimizers) -> List[PrecisionSwitch]:
    """The switches of a file, as the others of its program see them."""
    conditions = Conditions(index, optimizers)
    return [
        PrecisionSwitch(
            index.module,
            switch.node.lineno,
            switch.followed,
            conditions.of(switch.node),
        )
        for switch in switches(index)
    ]
