"""Rebuilding a libcst node with other children."""

from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Callable, Dict, List, Tuple, Type, TypeVar

import libcst as cst

if TYPE_CHECKING:
    from typing_extensions import TypeGuard

Node = TypeVar("Node", bound=cst.CSTNode)

Change = Callable[[cst.CSTNode, str], cst.CSTNode]
"""What comes in place of a child, given the child and the field that holds it."""


def is_node(value: object) -> "TypeGuard[cst.CSTNode]":
    """Whether a value is a node: to ask an abstract class of what is none takes milliseconds."""
    return hasattr(value, "with_changes")


def with_children(node: Node, change: Change) -> Node:
    """``node`` with each child replaced by what ``change`` makes of it."""
    changes: Dict[str, object] = {}
    for name in _fields(type(node)):
        value = getattr(node, name)
        if is_node(value):
            new: object = change(value, name)
            if new is not value:
                changes[name] = new
        elif isinstance(value, (list, tuple)):
            several = [change(item, name) if is_node(item) else item for item in value]
            if any(one is not other for one, other in zip(several, value)):
                changes[name] = several
    return node.with_changes(**changes) if changes else node


def holds(node: cst.CSTNode, kind: Type[cst.CSTNode]) -> bool:
    """Whether a node is of a kind, or one inside it."""
    pending: List[object] = [node]
    while pending:
        value = pending.pop()
        if isinstance(value, kind):
            return True
        if isinstance(value, (list, tuple)):
            pending += value
        elif is_node(value):
            pending += [getattr(value, name) for name in _fields(type(value))]
    return False


@lru_cache(maxsize=None)
def _fields(kind: Type[cst.CSTNode]) -> Tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
