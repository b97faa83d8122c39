"""Lookup tables that are used in an input pipeline (NPU702)."""

import ast
from typing import Iterator, Set

from npu_migrate.migrations.context import Context
from npu_migrate.migrations.known_failures.pipelines import Pipelines
from npu_migrate.migrations.known_failures.switches import MIX_COMPILE
from npu_migrate.migrations.unsupported.host import Function
from npu_migrate.names import dotted

LOOKUPS = ("tensorflow.lookup.", "tensorflow.contrib.lookup.")


def run(context: Context, pipelines: Pipelines) -> None:
    """Report each call that hands a dataset a function that looks something up."""
    if not pipelines.mapped or context.run.has_switch(context.index.module, MIX_COMPILE):
        return
    reported: Set[ast.Call] = set()
    for call, function in pipelines.mapped:
        for lookup in _lookups(function):
            symbol = _table(context, pipelines, lookup.value)
            if call not in reported and (symbol or _is_called_table(context, lookup.value)):
                reported.add(call)
                context.report(
                    "lookup-in-input-pipeline",
                    call,
                    symbol=symbol or dotted(lookup),
                    assumed=not symbol,
                    line=str(lookup.lineno),
                )


def _lookups(function: Function) -> Iterator[ast.Attribute]:
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and node.attr == "lookup":
            yield node


def _table(context: Context, pipelines: Pipelines, receiver: ast.expr) -> str:
    """The qualified name of what makes the table that something is looked up in."""
    for producer in pipelines.values(receiver):
        if isinstance(producer, ast.Call):
            name = context.index.resolve(producer.func).sole
            if name.startswith(LOOKUPS):
                return name
    return ""


def _is_called_table(context: Context, receiver: ast.expr) -> bool:
    """The convention for what comes from another file: ``vocab_table.lookup(words)``."""
    name = dotted(receiver).rpartition(".")[2].lower()
    return "table" in name and not context.index.resolve(receiver).names
