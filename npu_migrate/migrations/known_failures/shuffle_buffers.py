"""Shuffle buffers that take longer to fill than the NPU waits for the first step (NPU704)."""

import ast

from npu_migrate.migrations.context import Context, argument
from npu_migrate.migrations.known_failures.constants import number
from npu_migrate.migrations.known_failures.pipelines import Pipelines
from npu_migrate.migrations.known_failures.switches import HOST_PIPELINE
from npu_migrate.migrations.optimizers import Optimizers

LARGE = 1_000_000
"""A rule of thumb: a host that reads ten thousand records a second needs minutes for so many."""

TRANSFORMATIONS = (
    "tensorflow.data.experimental.shuffle_and_repeat",
    "tensorflow.contrib.data.shuffle_and_repeat",
)
SYMBOL = "tensorflow.data.Dataset.shuffle"


def run(context: Context, optimizers: Optimizers, pipelines: Pipelines) -> None:
    """Report each ``dataset.shuffle(n)`` with a very large ``n`` that the script spells out."""
    if context.run.has_switch(context.index.module, HOST_PIPELINE):
        return
    for call in context.index.possible_calls(frozenset(TRANSFORMATIONS), frozenset(("shuffle",))):
        if not _shuffles(context, call):
            continue
        size = argument(call, 0, "buffer_size")
        value = number(size, optimizers) if size is not None else None
        if value is not None and value >= LARGE:
            context.report(
                "large-shuffle-buffer",
                call,
                symbol=SYMBOL,
                assumed=not pipelines.makes_dataset(call) or pipelines.is_assumed(call),
                size=f"{int(value):,}",
            )


def _shuffles(context: Context, call: ast.Call) -> bool:
    """Whether a call shuffles a dataset; what shuffles lists takes no number."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "shuffle":
        return not context.index.resolve(call.func).names
    return context.is_named(call.func, TRANSFORMATIONS)
