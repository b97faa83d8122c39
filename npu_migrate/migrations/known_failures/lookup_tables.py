"""Lookup tables that are used in an input pipeline (NPU702)."""

import ast
from typing import Iterator, Set

from npu_migrate.migrations.context import Context
from npu_migrate.migrations.known_failures.pipelines import Function, Pipelines
from npu_migrate.migrations.known_failures.switches import MIX_COMPILE

LOOKUPS = ("tensorflow.lookup.", "tensorflow.contrib.lookup.")


def run(context: Context, pipelines: Pipelines) -> None:
    """Report each call that hands a dataset a function that looks something up."""
    if not pipelines.mapped or context.run.has_switch(context.index.module, MIX_COMPILE):
        return
    reported: Set[ast.Call] = set()
    for call, function in pipelines.mapped:
        for table in _tables(context, pipelines, function):
            if call not in reported:
                reported.add(call)
                symbol = context.index.resolve(table.func).sole
                context.report(
                    "lookup-in-input-pipeline", call, symbol=symbol, line=str(table.lineno)
                )


def _tables(context: Context, pipelines: Pipelines, function: Function) -> Iterator[ast.Call]:
    """The calls that make the tables that a function looks up in."""
    for node in ast.walk(function):
        is_lookup = isinstance(node, ast.Attribute) and node.attr == "lookup"
        if not is_lookup:
            continue
        for producer in pipelines.values(node.value):  # type: ignore[attr-defined]
            if isinstance(producer, ast.Call) and _makes_table(context, producer):
                yield producer


def _makes_table(context: Context, call: ast.Call) -> bool:
    names = context.index.resolve(call.func).names
    return any(name.startswith(LOOKUPS) for name in names)
