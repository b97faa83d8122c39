"""Tensors that are fetched by name."""

from npu_migrate.migrations.context import Context
from npu_migrate.names import literal


def run(context: Context) -> None:
    """Report the names that stand for something else once the graph has changed."""
    if context.run.makes_loss_scale_variable:
        for string in context.index.string_nodes:
            if literal(string) == "loss_scale:0":
                context.report("loss-scale-fetched-by-name", string, symbol="loss_scale:0")
