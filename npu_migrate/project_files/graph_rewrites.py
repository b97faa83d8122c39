"""Mixed precision and XLA, where variables switch them on before Python starts."""

from typing import Iterator

from npu_migrate.project_files.finding import Found
from npu_migrate.project_files.shell import Script

PRECISION_RULE = "auto-mixed-precision-in-shell"
XLA_RULE = "xla-flags-in-shell"

XLA = "TF_XLA_FLAGS"
PRECISION = "TF_ENABLE_AUTO_MIXED_PRECISION"
OPTIONS = {
    PRECISION: "--precision-mode mixed_float16 --loss-scale dynamic",
    f"{PRECISION}_GRAPH_REWRITE": "--precision-mode mixed_float16 --loss-scale dynamic",
    f"{PRECISION}_LOSS_SCALING": "--loss-scale dynamic",
}
"""What ``npu-migrate`` does the same by; a program that scales its loss already is left so."""

_OFF = {"", "0", "false", "False"}


def find(script: Script) -> Iterator[Found]:
    """The variables that are set, unless it is to what switches off."""
    for command in script.commands():
        for word in command:
            name, _, value = word.text.partition("=")
            if value.strip("\"'") in _OFF:
                continue
            line, column = script.place(word.start)
            if name in OPTIONS:
                details = {"options": OPTIONS[name]}
                yield Found(PRECISION_RULE, line, column, name, details)
            elif name == XLA:
                yield Found(XLA_RULE, line, column, name)
