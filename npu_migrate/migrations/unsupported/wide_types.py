"""Types of tensors that the NPU does not compute with: float64 and complex numbers."""

import ast
from typing import Iterator, Set, Tuple

from npu_migrate.migrations.context import Context
from npu_migrate.migrations.unsupported.host import Host
from npu_migrate.names import arguments_of, literal

WIDE = ("float64", "double", "complex64", "complex128")
OF_TENSORFLOW = frozenset("tensorflow." + name for name in WIDE)
OF_NUMPY = frozenset("numpy." + name for name in WIDE)
OF_ANY = OF_TENSORFLOW | OF_NUMPY
MAKERS = frozenset(
    "tensorflow." + name for name in ("to_double", "to_complex64", "to_complex128", "complex")
)
"""Functions whose result is of such a type."""

ON_THE_HOST = (
    "tensorflow.data.",
    "tensorflow.contrib.data.",
    "tensorflow.io.",
    "tensorflow.python_io.",
    "tensorflow.test.",
    "tensorflow.logging.",
    "tensorflow.feature_column.",
    "tensorflow.decode_",
    "tensorflow.parse_",
    "tensorflow.as_dtype",
    "tensorflow.make_tensor_proto",
    "tensorflow.FixedLen",
    "tensorflow.VarLenFeature",
    "tensorflow.SparseFeature",
)
"""Functions of TensorFlow that name a type without computing with it on the device."""


def run(context: Context, host: Host) -> None:
    """Report each statement that gives an operation of the graph such a type."""
    seen: Set[ast.stmt] = set()
    makers = set(context.index.possible_calls(MAKERS))
    for call in context.index.calls:
        if call not in makers and not _may_give_one(context, call):
            continue
        name, certain = _wide_type(context, call)
        if not name or host.runs(call):
            continue
        statement = context.index.statement(call)
        if statement not in seen:
            seen.add(statement)
            context.report("wide-type", call, symbol=name, assumed=not certain)


def _may_give_one(context: Context, call: ast.Call) -> bool:
    """Whether it is worth resolving what is called."""
    given = any(context.index.may_be(item, OF_ANY) for item in _items(call))
    return given or bool(_type_by_name(call))


def _wide_type(context: Context, call: ast.Call) -> Tuple[str, bool]:
    """The type that a call gives to a tensor, and whether the call surely makes one."""
    names = context.index.resolve(call.func).names
    if names & MAKERS:
        return sorted(names & MAKERS)[0], True
    if any(name.startswith("tensorflow.") for name in names):
        if any(name.startswith(ON_THE_HOST) for name in names):
            return "", True
        found = next(_types(context, call), None)
        return found or (_type_by_name(call), True)
    if all(name.startswith(":") for name in names):  # the user's own, or not known
        types = [k.value for k in call.keywords if k.arg == "dtype"]
        resolved = {name for value in types for name in context.index.resolve(value).names}
        return next(iter(sorted(resolved & OF_TENSORFLOW)), ""), False
    return "", True


def _types(context: Context, call: ast.Call) -> Iterator[Tuple[str, bool]]:
    """The arguments that are, or may be, such a type."""
    for item in _items(call):
        names = context.index.resolve(item).names
        wide = names & OF_ANY
        if wide:
            yield sorted(wide)[0], wide == names


def _items(call: ast.Call) -> Iterator[ast.expr]:
    for value in arguments_of(call):
        if isinstance(value, (ast.List, ast.Tuple)):
            yield from value.elts
        else:
            yield value


def _type_by_name(call: ast.Call) -> str:
    """The type in ``dtype='float64'``."""
    names = [literal(k.value) for k in call.keywords if k.arg == "dtype"]
    return next((f"tensorflow.{name}" for name in names if name in WIDE), "")
