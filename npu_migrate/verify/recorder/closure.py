"""Which operations a run needs."""

from typing import Any, Iterable, Set


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


def is_unconditional(tensor: Any) -> bool:
    """Whether a tensor has a value in every run that needs its operation: not in a branch."""
    return tensor.op._get_control_flow_context() is None
