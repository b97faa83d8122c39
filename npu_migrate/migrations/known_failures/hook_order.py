"""``hooks[-1]`` where the last hook is one that the NPU needs, or Horovod's (NPU707)."""

import ast
from typing import Iterator, List, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context
from npu_migrate.names import arguments_of, dotted, key_of, literal

APPENDING = frozenset(("npu_bridge.npu_init.npu_hooks_append",))
OTHERS = frozenset(
    (
        *(m + ".BroadcastGlobalVariablesHook" for m in (vocabulary.HOROVOD, vocabulary.ADAPTER)),
        vocabulary.BROADCAST_HOOK,
        vocabulary.BRIDGE + "npu_hook.NPUCheckpointSaverHook",
        "npu_bridge.npu_init.NPUBroadcastGlobalVariablesHook",
        "npu_bridge.npu_init.NPUCheckpointSaverHook",
    )
)


def run(context: Context) -> None:
    """Report what is taken from the end of a list that such a hook was appended to last."""
    changes = sorted(_changes(context), key=lambda change: change[1].lineno)
    if not any(is_other for _, _, is_other in changes):
        return
    for node, name in _last_elements(context):
        region = context.index.region(node)
        earlier = [
            (call, is_other)
            for changed, call, is_other in changes
            if changed == name
            and context.index.region(call) is region
            and call.lineno < node.lineno
        ]
        if earlier and earlier[-1][1]:
            context.report("hook-taken-from-the-end", node, symbol=name, hooks=name)


def _changes(context: Context) -> Iterator[Tuple[str, ast.Call, bool]]:
    """The lists that get a hook at their end, the call, and whether it is none of the script."""
    for call in context.index.calls:
        if context.is_named(call.func, APPENDING):
            given = arguments_of(call)
            for name in [dotted(value) for value in given] + _assigned(context, call):
                if name:
                    yield name, call, True
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "append" and call.args:
            yield dotted(call.func.value), call, _is_other(context, call.args[0])
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "extend" and call.args:
            added = getattr(call.args[0], "elts", [])
            yield dotted(call.func.value), call, bool(added) and _is_other(context, added[-1])


def _assigned(context: Context, call: ast.Call) -> List[str]:
    """The names that a call's result is given."""
    statement = context.index.statement(call)
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return []
    return [dotted(target) for target in statement.targets]


def _is_other(context: Context, value: ast.expr) -> bool:
    return any(
        isinstance(producer, ast.Call) and context.is_named(producer.func, OTHERS)
        for producer in context.index.producers(value)
    )


def _last_elements(context: Context) -> Iterator[Tuple[ast.expr, str]]:
    """Each ``hooks[-1].something``, with what ``hooks`` is."""
    for node in ast.walk(context.index.tree):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Subscript):
            continue
        position = key_of(node.value)
        is_last = (
            isinstance(position, ast.UnaryOp)
            and isinstance(position.op, ast.USub)
            and literal(position.operand) == 1
        )
        if is_last and dotted(node.value.value):
            yield node, dotted(node.value.value)
