"""Dropout: ``tf.nn.dropout`` becomes the NPU's own, Keras' is patched by an import."""

import ast
from decimal import Decimal
from typing import FrozenSet, List, Optional, Union

from npu_migrate.migrations.context import Context, argument, place_of, unpacks
from npu_migrate.names import is_none, literal
from npu_migrate.plan import AddImport, Argument, EditCall, Status

NPU_OPS = "npu_bridge.estimator.npu_ops"
PATCH = "npu_bridge.estimator.npu.npu_convert_dropout"
PATCHED_BY = (PATCH, "npu_bridge.npu_init")
"""The modules whose import makes Keras drop on the NPU."""

NN_DROPOUT, KERAS_DROPOUT = "nn-dropout", "keras-dropout"
TAKES_RATE = ("tensorflow.compat.v2.", "tensorflow.nn.dropout_v2")
"""How the names start of the functions whose second parameter is the rate."""
_RATE = 5
"""The position of ``rate`` in ``tf.nn.dropout``."""


def run(context: Context) -> None:
    """Find the dropout of a file and bring it to the NPU."""
    if NN_DROPOUT in context.rules:
        functions = frozenset(context.rules[NN_DROPOUT].match)
        for chain in context.index.chains:
            if context.is_named(chain, functions) and not context.without(chain):
                _function(context, chain, functions)
    if KERAS_DROPOUT in context.rules:
        _keras(context)


def _function(context: Context, node: ast.expr, functions: FrozenSet[str]) -> None:
    call = context.index.parents[node]
    if not isinstance(call, ast.Call) or call.func is not node:
        if not _is_alias(context, node):
            _leave(context, node, "is handed on here and not called")
        return
    resolution = context.index.resolve(node)
    if resolution.unknown or not resolution.names <= functions:
        _leave(context, call, "may be another function here")
        return
    takes_rate = {name.startswith(TAKES_RATE) for name in resolution.names}
    change = None if unpacks(call) or len(takes_rate) > 1 else _change(call, takes_rate.pop())
    if change is None:
        _leave(context, call, "does not show what it keeps")
        return
    context.discard(node)
    edit = EditCall(call, context.local(NPU_OPS, node) + ".dropout", tuple(change))
    symbol = sorted(resolution.names)[0]
    context.report(NN_DROPOUT, call, edit, symbol=symbol, fate="becomes the NPU's dropout")


def _leave(context: Context, node: ast.expr, fate: str) -> None:
    context.report(NN_DROPOUT, node, status=Status.MANUAL, fate=fate)


def _is_alias(context: Context, node: ast.expr) -> bool:
    """Whether a name is only given another one, whose calls are found by themselves."""
    statement = context.index.parents[node]
    return isinstance(statement, ast.Assign) and all(
        isinstance(target, ast.Name) for target in statement.targets
    )


def _change(call: ast.Call, takes_rate: bool) -> Optional[List[Argument]]:
    """What makes the arguments those of ``npu_ops.dropout``; ``None`` where it is not clear."""
    kept, rate = argument(call, 1, "keep_prob"), argument(call, -1, "rate")
    if takes_rate:
        kept, rate = None, argument(call, 1, "rate")
    elif len(call.args) > _RATE or (len(call.args) > 1 and rate is not None):
        return None
    if kept is not None and not is_none(kept):
        if rate is None:
            return []
        return [Argument("rate")] if is_none(rate) else None
    if rate is None or is_none(rate):
        return None
    at = place_of(call, rate)
    nothing = [Argument("keep_prob")] if kept is not None else []
    return [*nothing, _keeping(at, rate)]


def _keeping(at: Union[int, str], rate: ast.expr) -> Argument:
    """What turns the rate at which elements go into the probability to keep one."""
    rename = "" if at == 1 else "keep_prob"
    number = literal(rate)
    if isinstance(number, (int, float)):
        return Argument(at, repr(float(1 - Decimal(repr(number)))), rename)
    if isinstance(rate, ast.BinOp) and isinstance(rate.op, ast.Sub) and literal(rate.left) == 1:
        return Argument(at, "$kept", rename, {"kept": rate.right})
    return Argument(at, "1 - $it", rename)


def _keras(context: Context) -> None:
    """One import patches the layer for the whole program."""
    names = context.rules[KERAS_DROPOUT].match
    uses = [chain for chain in context.index.chains if context.is_named(chain, names)]
    if not uses or _is_patched(context):
        return
    module, _, name = PATCH.rpartition(".")
    edit = AddImport(module, name, after=context.anchor(uses[0]))
    resolution = context.index.resolve(uses[0])
    symbol = sorted(resolution.names & set(names))[0]
    assumed = resolution.unknown or len(resolution.names) > 1
    context.report(KERAS_DROPOUT, uses[0], edit, symbol=symbol, assumed=assumed)


def _is_patched(context: Context) -> bool:
    imported = {name for statement in context.index.imports for name in _imported(statement)}
    return any(name == by or name.startswith(by + ".") for name in imported for by in PATCHED_BY)


def _imported(statement: ast.stmt) -> List[str]:
    """The dotted names that an import loads, or takes from what it loads."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    assert isinstance(statement, ast.ImportFrom)
    return [f"{statement.module}.{alias.name}" for alias in statement.names]
