"""HCCL is asked for the rank before collective communication is initialised (NPU705)."""

import ast
from typing import List

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context
from npu_migrate.migrations.known_failures.switches import COLLECTIVES, calls_that_switch
from npu_migrate.names import main_block
from npu_migrate.plan import EditCall, Status

_QUESTIONS = frozenset(vocabulary.RANK_QUESTIONS)


def run(context: Context) -> None:
    """Let each call that surely comes too early ask ``ops_adapter``."""
    index = context.index
    inits = calls_that_switch(index, COLLECTIVES)
    for call in index.possible_calls(_QUESTIONS):
        name = index.resolve(call.func).sole
        if name not in vocabulary.RANK_QUESTIONS or not _is_too_early(context, call, inits):
            continue
        if "hccl-asked-too-early" not in context.rules:
            return
        if call.args or call.keywords:
            context.report("hccl-asked-too-early", call, symbol=name, status=Status.MANUAL)
            continue
        adapter = context.local(vocabulary.ADAPTER, call)
        context.discard(call.func)
        edit = EditCall(call, f"{adapter}.{vocabulary.RANK_QUESTIONS[name]}")
        context.report("hccl-asked-too-early", call, edit, symbol=name)


def _is_too_early(context: Context, call: ast.Call, inits: List[ast.Call]) -> bool:
    """Whether HCCL is initialised after the call, or in a whole program nowhere."""
    index = context.index
    for init in inits:
        if index.region(init) is index.region(call):
            if not isinstance(index.region(call), ast.Module) or _before(call, init):
                return _before(call, init)
    if context.run.has_switch(index.module, COLLECTIVES):
        return False
    return _is_program(context)


def _before(call: ast.Call, init: ast.Call) -> bool:
    return (call.lineno, call.col_offset) < (init.lineno, init.col_offset)


def _is_program(context: Context) -> bool:
    """Whether the file is one that is run, so that no other comes before it."""
    return main_block(context.index.tree) is not None
