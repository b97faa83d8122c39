"""Ops that only some ranks build (NPU706)."""

import ast
from collections import Counter
from typing import Iterator, List, NamedTuple, Sequence

from npu_migrate.migrations.context import Context
from npu_migrate.migrations.known_failures.operations import builds_operation
from npu_migrate.migrations.known_failures.ranks import depends_on_rank
from npu_migrate.names import FUNCTIONS, leaves

Part = Sequence[ast.AST]

OWN_GRAPHS = ("tensorflow.Graph", "tensorflow.Session", "tensorflow.reset_default_graph")
"""What an arm has that builds a graph of its own, to run by itself."""


class Fork(NamedTuple):
    """A condition on the rank, with what runs on some ranks and what on the others."""

    node: ast.AST
    some: Part
    others: Part


def run(context: Context) -> None:
    """Report the first op of each fork whose sides do not build the same ops."""
    for fork in _forks(context):
        some, others = _operations(context, fork.some), _operations(context, fork.others)
        if _names(context, some) == _names(context, others):
            continue
        first = (some or others)[0]
        symbol = context.index.resolve(first.func).sole
        context.report(
            "graph-depends-on-rank",
            first,
            symbol=symbol,
            line=str(fork.node.lineno),  # type: ignore[attr-defined]
        )


def _forks(context: Context) -> Iterator[Fork]:
    index = context.index
    for statement in index.places:
        if isinstance(statement, ast.If) and depends_on_rank(index, statement.test):
            others: Part = statement.orelse
            if not others and leaves(statement.body):
                place = index.places[statement]
                others = place.block[place.position + 1 :]
            yield Fork(statement, statement.body, others)
    for call in index.calls:
        for around in index.ancestors(call):
            if isinstance(around, ast.stmt):
                break
            if isinstance(around, ast.IfExp) and depends_on_rank(index, around.test):
                yield Fork(around, [around.body], [around.orelse])


def _operations(context: Context, part: Part) -> List[ast.Call]:
    """The calls that build ops in some statements, nested functions left out."""
    found: List[ast.Call] = []
    pending: List[ast.AST] = list(part)
    while pending:
        node = pending.pop(0)
        if isinstance(node, FUNCTIONS + (ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, ast.Call):
            if context.is_named(node.func, OWN_GRAPHS):
                return []
            if builds_operation(context.index, node):
                found.append(node)
        pending += ast.iter_child_nodes(node)
    return sorted(found, key=lambda call: (call.lineno, call.col_offset))


def _names(context: Context, calls: List[ast.Call]) -> "Counter[str]":
    return Counter(context.index.resolve(call.func).sole for call in calls)
