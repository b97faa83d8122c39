"""Sessions that an object keeps and nothing closes (NPU712)."""

import ast
from typing import FrozenSet, Iterator, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context
from npu_migrate.names import WITHS, Binding, dotted

CLOSING = frozenset(("npu_bridge.npu_init.close_session", "contextlib.closing"))


def run(context: Context) -> None:
    """Report each ``self.sess = tf.Session()`` that no file of the run closes."""
    kept = list(_kept(context))
    if not kept:
        return
    closed = _closed(context) | context.run.closed
    for names, call in kept:
        if closed.isdisjoint(names):
            context.report("session-never-closed", call, attribute=f"self.{names[0]}")


def _kept(context: Context) -> Iterator[Tuple[Tuple[str, ...], ast.Call]]:
    """The attribute that holds a session, with its other name, and the call that makes it."""
    for (_, attribute), bindings in context.index.attributes.items():
        for binding in bindings:
            if _is_managed(binding) or binding.value is None or binding.path:
                continue
            names = (attribute, dotted(binding.value) or attribute)
            for value in context.index.producers(binding.value):
                if isinstance(value, ast.Call) and context.is_named(
                    value.func, vocabulary.SESSIONS
                ):
                    yield names, value


def _is_managed(binding: Binding) -> bool:
    return isinstance(binding.statement, WITHS)


def _closed(context: Context) -> FrozenSet[str]:
    """The last names of what this file closes, or hands to what does."""
    names = set()
    for node in context.index.places:
        if isinstance(node, WITHS):
            for item in node.items:
                names.add(dotted(item.context_expr).rpartition(".")[2])
    for call in context.index.calls_of(CLOSING):
        names.update(dotted(value).rpartition(".")[2] for value in call.args)
    return frozenset(names - {""})
