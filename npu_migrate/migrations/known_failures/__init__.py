"""What is known to fail on the NPU though it trains on a GPU: a module for each failure (NPU7xx).

A finding rests on names that resolve and on values that can be followed; what can't be followed is
passed over, since these checks are there to be left on.
"""

from npu_migrate.migrations.context import Context
from npu_migrate.migrations.host import Host
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


def run(context: Context, optimizers: Optimizers, host: Host) -> None:
    """Carry out every check on one file."""
    if context.mentions("nitializer", "initialize_all"):
        initializers.run(context, optimizers)
    if context.mentions("ataset", ".map(", "shuffle"):
        pipelines = Pipelines(context.index, optimizers)
        lookup_tables.run(context, pipelines)
        pipeline_variables.run(context, pipelines)
        shuffle_buffers.run(context, optimizers, pipelines)
    if context.mentions("rank", "RANK", "DEVICE_ID"):
        hccl_ranks.run(context)
        rank_graphs.run(context)
        checkpoint_steps.run(context)
    if context.mentions("NPU", "npu"):
        hook_order.run(context)
    if context.mentions("shape_invariants"):
        dynamic_loops.run(context, optimizers)
    if context.mentions("num_threads"):
        batch_queues.run(context)
    if context.mentions("uint8"):
        unsigned_arithmetic.run(context, host)
    if context.mentions("Session"):
        open_sessions.run(context)
    division_guards.run(context, optimizers, host)
