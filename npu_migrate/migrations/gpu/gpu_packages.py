"""Imports of Python packages that only work with NVIDIA's GPUs."""

import ast
from typing import Iterator, Union

from npu_migrate.migrations.context import Context
from npu_migrate.names import TRIES
from npu_migrate.plan import Status

MONITOR = "ask npu-smi instead, or leave the measuring out"
PROFILE = (
    "leave the marks out; profile with profiling_mode and profiling_options of the NpuOptimizer"
)

REMEDIES = {
    "pynvml": MONITOR,
    "py3nvml": MONITOR,
    "nvidia_smi": MONITOR,
    "GPUtil": MONITOR,
    "cupy": "use numpy on the host, or operations of TensorFlow in the graph",
    "nvtx": PROFILE,
    "nvtx_plugins": PROFILE,
    "nvidia.dali": "read the data with tf.data",
}
"""Package -> what to do without it."""


def run(context: Context) -> None:
    """Report each statement that imports such a package; a note where it may be missing."""
    for node in context.index.imports:
        for path in _paths(node):
            package = next((p for p in REMEDIES if f"{path}.".startswith(p + ".")), "")
            if package:
                status = Status.NOTE if _may_fail(context, node) else None
                remedy = REMEDIES[package]
                context.report("gpu-package", node, status=status, symbol=path, remedy=remedy)
                break


def _paths(node: Union[ast.Import, ast.ImportFrom]) -> Iterator[str]:
    for alias in node.names:
        if isinstance(node, ast.Import):
            yield alias.name
        elif not node.level:
            yield f"{node.module}.{alias.name}"


def _may_fail(context: Context, node: ast.stmt) -> bool:
    """Whether the script goes on without the package (``except ImportError:``)."""
    holder = context.index.parents[node]
    return isinstance(holder, TRIES) and any(
        handler.type is None or not any(isinstance(s, ast.Raise) for s in handler.body)
        for handler in holder.handlers  # type: ignore[attr-defined]
    )
