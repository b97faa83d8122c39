"""``tf.train.batch`` with several threads (NPU710)."""

from npu_migrate.migrations.context import Context, argument
from npu_migrate.names import literal
from npu_migrate.plan import Argument, EditCall

POSITIONS = {
    "tensorflow.train.batch": 2,
    "tensorflow.train.maybe_batch": 3,
}
"""Where each takes the number of threads."""


def run(context: Context) -> None:
    """Let one thread fill the queue."""
    for call in context.index.calls:
        name = context.index.resolve(call.func).sole
        threads = argument(call, POSITIONS[name], "num_threads") if name in POSITIONS else None
        if threads is None or literal(threads) == 1:
            continue
        given = {keyword.arg for keyword in call.keywords}
        at = "num_threads" if "num_threads" in given else POSITIONS[name]
        context.report("batch-by-several-threads", call, EditCall(call, "", (Argument(at, "1"),)))
