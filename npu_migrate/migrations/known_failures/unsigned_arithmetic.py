"""Sums and differences of unsigned bytes on the NPU (NPU711)."""

import ast
from typing import Iterator, List, Set

from npu_migrate.migrations.context import Context, argument
from npu_migrate.migrations.unsupported.host import Host
from npu_migrate.names import FUNCTIONS

BYTES = frozenset(("tensorflow.uint8", "tensorflow.quint8"))
TYPED = {
    "tensorflow.cast": 1,
    "tensorflow.saturate_cast": 1,
    "tensorflow.placeholder": 0,
    "tensorflow.zeros": 1,
    "tensorflow.ones": 1,
    "tensorflow.constant": 1,
    "tensorflow.image.convert_image_dtype": 1,
    "tensorflow.decode_raw": 1,
    "tensorflow.io.decode_raw": 1,
}
"""What makes a tensor of a type, and where it takes the type."""

DECODERS = frozenset(
    f"tensorflow.{module}.{name}"
    for module in ("image", "io")
    for name in (
        "decode_image",
        "decode_jpeg",
        "decode_png",
        "decode_bmp",
        "decode_gif",
        "decode_and_crop_jpeg",
    )
)
SUMS = frozenset(
    f"tensorflow.{module}{name}"
    for module in ("", "math.")
    for name in ("add", "subtract", "add_n", "reduce_sum", "accumulate_n", "cumsum")
)


def run(context: Context, host: Host) -> None:
    """Report each sum or difference of tensors of bytes outside the input pipeline."""
    decoding = _decoding(context)
    for node in _sums(context):
        if any(_is_bytes(context, part) for part in _operands(node)):
            if not host.runs(node) and context.index.region(node) not in decoding:
                context.report("bytes-added", node, symbol="tensorflow.uint8")


def _sums(context: Context) -> Iterator[ast.expr]:
    yield from context.index.calls_of(SUMS)
    for node in ast.walk(context.index.tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            yield node


def _operands(node: ast.expr) -> List[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    assert isinstance(node, ast.Call)
    found: List[ast.expr] = []
    for value in node.args[:2]:
        found += value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
    return found


def _is_bytes(context: Context, node: ast.expr) -> bool:
    producers = context.index.producers(node)
    return bool(producers) and all(
        isinstance(producer, ast.Call) and _makes_bytes(context, producer) for producer in producers
    )


def _makes_bytes(context: Context, call: ast.Call) -> bool:
    name = context.index.resolve(call.func).sole
    if name not in TYPED:
        return False
    kind = argument(call, TYPED[name], "dtype", "out_type")
    return kind is not None and context.index.resolve(kind).sole in BYTES


def _decoding(context: Context) -> Set[ast.AST]:
    """The functions that decode records, as only the host does."""
    calls = context.index.calls_of(DECODERS)
    around = (ancestor for call in calls for ancestor in context.index.ancestors(call))
    return {ancestor for ancestor in around if isinstance(ancestor, FUNCTIONS)}
