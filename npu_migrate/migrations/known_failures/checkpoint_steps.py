"""``save_checkpoints_steps=None`` on the ranks that save nothing (NPU708)."""

import ast
from typing import FrozenSet, Iterator, Set

from npu_migrate.migrations.context import Context
from npu_migrate.migrations.known_failures.ranks import depends_on_rank
from npu_migrate.names import is_none
from npu_migrate.plan import ReplaceExpression, Status

KEYWORD = "save_checkpoints_steps"


def run(context: Context) -> None:
    """Put 0 in place of the ``None`` that some ranks get."""
    for call in context.index.calls:
        for keyword in call.keywords:
            if keyword.arg == KEYWORD:
                for choice in _choices(context, keyword.value, set()):
                    _judge(context, choice)


def _choices(context: Context, value: ast.expr, seen: Set[ast.AST]) -> Iterator[ast.IfExp]:
    """The conditional expressions that a value may come from."""
    if value in seen:
        return
    seen.add(value)
    if isinstance(value, ast.IfExp):
        yield value
        yield from _choices(context, value.body, seen)
        yield from _choices(context, value.orelse, seen)
    elif isinstance(value, ast.Name):
        for binding in context.index.bindings(value):
            if binding.value is not None and not binding.path:
                yield from _choices(context, binding.value, seen)


def _judge(context: Context, choice: ast.IfExp) -> None:
    nones = [arm for arm in (choice.body, choice.orelse) if is_none(arm)]
    if len(nones) != 1 or not depends_on_rank(context.index, choice.test):
        return
    edits = [ReplaceExpression(nones[0], "0")] if _serves_steps(context, choice) else []
    status = Status.MIGRATED if edits else Status.MANUAL
    context.report("no-checkpoint-steps", choice, *edits, status=status, symbol=KEYWORD)


def _serves_steps(
    context: Context, value: ast.expr, seen: FrozenSet[ast.AST] = frozenset()
) -> bool:
    """Whether a value becomes the number of steps and nothing else."""
    if value in seen:
        return True
    seen = seen | {value}
    parent = context.index.parents[value]
    if isinstance(parent, ast.keyword):
        return parent.arg == KEYWORD
    if isinstance(parent, ast.IfExp):
        return parent.test is not value and _serves_steps(context, parent, seen)
    if not isinstance(parent, ast.Assign) or parent.value is not value:
        return False
    bindings = context.index.statement_bindings(parent)
    reads = [read for binding in bindings for read in context.index.reads(binding)]
    names_only = all(isinstance(target, ast.Name) for target in parent.targets)
    return names_only and all(_serves_steps(context, read, seen) for read in reads)
