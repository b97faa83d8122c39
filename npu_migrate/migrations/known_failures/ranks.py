"""Values that differ from rank to rank."""

import ast
from typing import FrozenSet

from npu_migrate.migrations import vocabulary
from npu_migrate.names import Binding, Index, literal

RANKS = frozenset(
    (
        *(
            f"{module}.{name}"
            for module in (
                vocabulary.HOROVOD,
                vocabulary.ADAPTER,
                "horovod.keras",
                "horovod.tensorflow.keras",
            )
            for name in ("rank", "local_rank")
        ),
        "npu_bridge.npu_init.get_npu_rank_id",
        "npu_bridge.npu_init.get_npu_local_rank_id",
        "hccl.manage.api.get_rank_id",
        "hccl.manage.api.get_local_rank_id",
    )
)
ENVIRONMENT = frozenset(("RANK_ID", "DEVICE_ID", "ASCEND_DEVICE_ID"))
_TRANSPARENT = frozenset("builtins." + name for name in ("int", "bool", "str"))
_READERS = frozenset(("os.getenv", "os.environ.get"))


def depends_on_rank(index: Index, node: ast.expr, seen: FrozenSet[object] = frozenset()) -> bool:
    """Whether an expression is computed from the number of the rank.

    Followed are names, arithmetic, comparisons and the returns of functions of the file, but no
    arguments of calls: what is made with the rank need not differ in what is asked of it.
    """
    if node in seen:
        return False
    seen = seen | {node}
    if isinstance(node, ast.Call):
        if not index.resolve(node.func).names.isdisjoint(RANKS) or _reads_environment(index, node):
            return True
        if index.resolve(node.func).sole in _TRANSPARENT:
            return any(depends_on_rank(index, argument, seen) for argument in node.args)
    if isinstance(node, ast.Subscript):
        return _reads_environment(index, node)
    if isinstance(node, (ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp)):
        parts = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
        return any(depends_on_rank(index, part, seen) for part in parts)
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
        return False
    return any(
        depends_on_rank(index, producer, seen)
        for producer in index.producers(node)
        if not isinstance(producer, Binding) and producer is not node
    )


def _reads_environment(index: Index, node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        is_read = index.resolve(node.func).sole in _READERS and bool(node.args)
        return is_read and literal(node.args[0]) in ENVIRONMENT
    assert isinstance(node, ast.Subscript)
    if index.resolve(node.value).sole != "os.environ":
        return False
    return any(literal(part) in ENVIRONMENT for part in ast.walk(node.slice))
