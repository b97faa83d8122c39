"""What is known to fail on the NPU though it trains on a GPU: a module for each failure (NPU7xx).

A finding rests on names that resolve and on values that can be followed; what can't be followed is
passed over, since these checks are there to be left on.
"""

from npu_migrate.migrations import signs
from npu_migrate.migrations.context import Context
from npu_migrate.migrations.known_failures import (
    batch_queues,
    checkpoint_steps,
    division_guards,
    dynamic_loops,
    hccl_ranks,
    hook_order,
    initializers,
    lookup_tables,
    open_sessions,
    pipeline_variables,
    rank_graphs,
    shuffle_buffers,
    unsigned_arithmetic,
)
from npu_migrate.migrations.known_failures.pipelines import Pipelines
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.unsupported.host import Host


def run(context: Context, optimizers: Optimizers, host: Host) -> None:
    """Carry out every check on one file."""
    if context.shows(signs.INITIALIZERS):
        initializers.run(context, optimizers)
    _run_on_pipelines(context, optimizers)
    if context.shows(signs.RANKS):
        hccl_ranks.run(context)
        rank_graphs.run(context)
        checkpoint_steps.run(context)
    if context.shows(signs.LAST_HOOKS):
        hook_order.run(context)
    if context.shows(signs.DYNAMIC_LOOPS):
        dynamic_loops.run(context, optimizers)
    if context.shows(signs.BATCH_QUEUES):
        batch_queues.run(context)
    if context.shows(signs.UNSIGNED_BYTES):
        unsigned_arithmetic.run(context, host)
    if context.shows(signs.OPEN_SESSIONS):
        open_sessions.run(context)
    division_guards.run(context, optimizers, host)


def _run_on_pipelines(context: Context, optimizers: Optimizers) -> None:
    if not any(map(context.shows, signs.PIPELINES)):
        return
    pipelines = Pipelines(context.index, optimizers)
    if context.shows(signs.LOOKUP_TABLES):
        lookup_tables.run(context, pipelines)
    if context.shows(signs.PIPELINE_VARIABLES):
        pipeline_variables.run(context, pipelines)
    if context.shows(signs.SHUFFLES):
        shuffle_buffers.run(context, optimizers, pipelines)
