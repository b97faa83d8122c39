"""Puts the reads of the global step in the order that a script means, where it says none.

A script that moves the step itself, beside the update, leaves open whether the update reads it
before or after that. BERT's scripts do. What was built before the optimizer applies gradients, the
learning rate, means the step of before; what an optimizer of the script's own builds while it
applies them, a bias correction, counts from 1 and means the step of after.
"""

from typing import Any, Iterator, List, Set

import tensorflow.compat.v1 as tf

from npu_migrate.verify.recorder.closure import closure, is_unconditional
from npu_migrate.verify.recorder.gradients import storage
from npu_migrate.verify.recorder.notes import Application, GraphNotes

_ALIASES = ("Identity", "Switch", "RefSwitch", "RefIdentity", "Enter", "RefEnter")
_WRITES = tuple(
    kind + suffix for kind in ("Assign", "AssignAdd", "AssignSub") for suffix in ("", "VariableOp")
)
_BROADCASTS = ("HorovodBroadcast", "HcomBroadcast")


def order_steps(graph: Any, notes: GraphNotes, seen: int) -> List[str]:
    """Adds control edges between what moves the step and what reads it.

    Args:
      graph: to which they are added.
      notes: of the graph.
      seen: how many operations sessions have seen, to which nothing can be added.

    Returns:
      For each operation that moves the step in no order, which it is and what reads it.
    """
    races = []
    for step in _global_steps(graph, notes):
        for write in _own_writes(step, notes.applications):
            ordered = _order(step, write, notes.applications, seen) if write._id > seen else []
            if ordered:
                names = ", ".join(sorted(read.name for read in ordered))
                races.append(f"{write.name} moves the step in no order with what reads it: {names}")
    return races


def _order(step: Any, write: Any, applications: List[Application], seen: int) -> List[Any]:
    updates = closure(one.done for one in applications if one.done is not None)
    reads = [read for read in _reads(step) if read in updates]
    within = [read for read in reads if _is_own(read, applications)]
    return [
        *[read for read in reads if read not in within and _put_before(read, write)],
        *[read for read in within if read._id > seen and _put_after(read, write)],
    ]


def _put_before(read: Any, write: Any) -> bool:
    if read in closure([write]) or write in closure([read]) or not is_unconditional(read):
        return False
    write._add_control_input(read)
    return True


def _put_after(read: Any, write: Any) -> bool:
    if read in closure([write]) or write in closure([read]) or not is_unconditional(write):
        return False
    read._add_control_input(write)
    return True


def _is_own(read: Any, applications: List[Application]) -> bool:
    """Whether an optimizer of the script's own reads the step while it applies gradients."""
    for one in applications:
        if one.made(read):
            return not type(one.optimizer).__module__.startswith("tensorflow")
    return False


def _global_steps(graph: Any, notes: GraphNotes) -> List[Any]:
    given = [one.global_step for one in notes.applications]
    steps = [tf.train.get_global_step(graph), *given] if notes.applications else []
    return list({step.name: step for step in steps if isinstance(step, tf.Variable)}.values())


def _own_writes(step: Any, applications: List[Application]) -> Iterator[Any]:
    """What moves the step from its value, outside of every optimizer."""
    for operation in _consumers(step):
        if operation.type not in _WRITES:
            continue
        if any(one.made(operation) for one in applications):
            continue
        value = closure([operation.inputs[1].op])
        is_broadcast = any(other.type in _BROADCASTS for other in value)
        moves = not operation.type.startswith("AssignV") and operation.type != "Assign"
        if moves or (storage(step) in value and not is_broadcast):
            yield operation


def _reads(step: Any) -> List[Any]:
    return [operation for operation in _consumers(step) if operation.type not in _WRITES]


def _consumers(step: Any) -> List[Any]:
    """The operations that get the variable, or what shares its memory."""
    pending = [storage(step)]
    found: List[Any] = []
    seen: Set[Any] = set()
    while pending:
        for consumer in _users(pending.pop()):
            if consumer in seen:
                continue
            seen.add(consumer)
            if consumer.type in _ALIASES:
                pending.append(consumer)
            else:
                found.append(consumer)
    return found


def _users(operation: Any) -> Iterator[Any]:
    for output in operation.outputs:
        yield from output.consumers()
