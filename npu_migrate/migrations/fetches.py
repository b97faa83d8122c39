"""Names and variables that reach round the code: tensors by name, switches in the environment."""

import ast

from npu_migrate.migrations.context import Context
from npu_migrate.names import dotted, literal

SWITCH = "TF_ENABLE_AUTO_MIXED_PRECISION"
SETTERS = ("os.putenv", "os.environ.setdefault", "os.environ.update")


def run(context: Context) -> None:
    """Report what a change of the graph or of the session does to them."""
    if context.run.makes_loss_scale_variable:
        for string in context.index.string_nodes:
            if literal(string) == "loss_scale:0":
                context.report("loss-scale-fetched-by-name", string, symbol="loss_scale:0")
    for string in context.index.string_nodes:
        name = str(literal(string))
        if name.startswith(SWITCH) and _is_set(context, string):
            context.report("auto-mixed-precision-environment", string, symbol=name, variable=name)


def _is_set(context: Context, string: ast.expr) -> bool:
    """Whether a string is the variable that an assignment or a call sets."""
    for ancestor in context.index.ancestors(string):
        if isinstance(ancestor, ast.Assign):
            return literal(ancestor.value) != "0" and any(
                isinstance(target, ast.Subscript)
                and dotted(target.value).endswith("environ")
                and context.index.inside(string, target)
                for target in ancestor.targets
            )
        if isinstance(ancestor, ast.Call):
            values = [literal(argument) for argument in ancestor.args]
            return "0" not in values and context.is_named(ancestor.func, SETTERS)
    return False
