"""``tf.train.batch`` with several threads (NPU710)."""

from npu_migrate.migrations.context import Context, argument, place_of
from npu_migrate.names import literal
from npu_migrate.plan import Argument, EditCall

POSITIONS = {
    "tensorflow.train.batch": 2,
    "tensorflow.train.maybe_batch": 3,
}
"""Where each takes the number of threads."""


def run(context: Context) -> None:
    """Let one thread fill the queue."""
    for call in context.index.possible_calls(frozenset(POSITIONS)):
        name = context.index.resolve(call.func).sole
        threads = argument(call, POSITIONS[name], "num_threads") if name in POSITIONS else None
        if threads is None or literal(threads) == 1:
            continue
        edit = EditCall(call, "", (Argument(place_of(call, threads), "1"),))
        context.report("batch-by-several-threads", call, edit)
