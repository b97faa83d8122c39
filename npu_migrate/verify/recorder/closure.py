"""What operations need, and what they do."""

from typing import Any, Iterable, Iterator, Optional, Set

VARIABLES = ("VarHandleOp", "Variable", "VariableV2")
"""Types of operations that stand for a variable."""
_READS = ("ReadVariableOp", *VARIABLES)
_FED = ("Placeholder", "PlaceholderWithDefault")


def closure(operations: Iterable[Any]) -> Set[Any]:
    """The operations with all that they depend on."""
    pending = list(operations)
    found: Set[Any] = set(pending)
    while pending:
        operation = pending.pop()
        for needed in (*(tensor.op for tensor in operation.inputs), *operation.control_inputs):
            if needed not in found:
                found.add(needed)
                pending.append(needed)
    return found


def is_unconditional(operation: Any) -> bool:
    """Whether an operation runs whenever it is needed: not only in a branch, or in a loop."""
    return operation._get_control_flow_context() is None


def conditions(context: Optional[Any]) -> Iterator[Any]:
    """The branches of conds that something in a context of control flow is in, innermost first."""
    while context is not None:
        if hasattr(context, "pred"):
            yield context
        context = context.outer_context


def may_join(operation: Any) -> bool:
    """Whether a run may do an operation which it was not asked for, and nobody notices."""
    if operation.type in _FED:
        return False
    return operation.type in _READS or not operation.op_def.is_stateful
