"""The arguments of Horovod's ``DistributedOptimizer`` and what becomes of them."""

import ast
from typing import Dict, List, Optional

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, unpacks
from npu_migrate.names import Index, literal
from npu_migrate.plan import Argument

PARAMETERS = (
    "optimizer",
    "name",
    "use_locking",
    "device_dense",
    "device_sparse",
    "compression",
    "sparse_as_dense",
    "backward_passes_per_step",
    "op",
)
"""Of ``horovod.tensorflow.DistributedOptimizer`` 0.28, in order."""

EFFECTS = {
    "compression": "gradients are no longer compressed on the way, so large loss scales that "
    "overflowed in float16 no longer do",
    "sparse_as_dense": "sparse gradients are gathered as they are, which changes what momentum "
    "does to rows outside the batch",
    "op": "gradients are averaged, also where op would say otherwise",
}

AVERAGES = (vocabulary.HOROVOD + ".Average", vocabulary.ADAPTER + ".Average")

KEPT = ("optimizer", "name")

Given = Dict[str, ast.expr]


def arguments(call: ast.Call) -> Optional[Given]:
    """The arguments by name; ``None`` where they can't be seen."""
    if unpacks(call) or not (call.args or call.keywords):
        return None
    given = dict(zip(PARAMETERS, call.args))
    given.update({str(keyword.arg): keyword.value for keyword in call.keywords})
    return given


def refused(index: Index, given: Given) -> str:
    """The arguments that change what is computed and have no counterpart."""
    found = []
    passes = given.get("backward_passes_per_step")
    if passes is not None and literal(passes) != 1:
        found.append("backward_passes_per_step")
    op = given.get("op")
    if op is not None and index.resolve(op).names.isdisjoint(AVERAGES):
        found.append("op")
    return ", ".join(found)


def dropped(call: ast.Call) -> List[str]:
    """The arguments that ``NPUDistributedOptimizer`` does without."""
    by_position = PARAMETERS[1 : len(call.args)]
    return [*by_position, *(str(k.arg) for k in call.keywords if k.arg not in KEPT)]


def wording(context: Context, call: ast.Call) -> str:
    """What a finding says of the dropped arguments, and of what they change."""
    given = arguments(call) or {}
    names = dropped(call)
    if not names:
        return ""
    effects = [EFFECTS[n] for n in names if n in EFFECTS and not _is_idle(context, n, given[n])]
    changes = f" ({'; '.join(effects)})" if effects else ""
    return f"; dropped: {', '.join(names)}{changes}"


def _is_idle(context: Context, name: str, value: ast.expr) -> bool:
    """Whether an argument only says what holds anyway."""
    resolution = context.index.resolve(value)
    if name == "compression":
        names = resolution.names
        return bool(names) and all(n.endswith(".Compression.none") for n in names)
    if name == "op":
        return resolution.names <= set(AVERAGES) and not resolution.unknown
    return literal(value) is False


def drops(call: ast.Call) -> List[Argument]:
    """The edits that drop them."""
    positions = [Argument(at) for at in range(len(call.args) - 1, 0, -1)]
    return positions + [Argument(str(k.arg)) for k in call.keywords if k.arg not in KEPT]
