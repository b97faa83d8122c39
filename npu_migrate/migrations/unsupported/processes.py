"""Worker processes that are forked from one that uses the NPU."""

from npu_migrate.migrations.context import Context, argument
from npu_migrate.names import literal

STARTERS = frozenset(("multiprocessing.set_start_method", "multiprocessing.get_context"))


def run(context: Context) -> None:
    """Report where a script asks for processes to be forked."""
    for call in context.index.calls_of(STARTERS):
        if literal(argument(call, 0, "method")) == "fork":
            context.report("forked-processes", call)
