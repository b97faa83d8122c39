"""Rebuilding a libcst node with other children."""

from dataclasses import fields
from typing import TYPE_CHECKING, Callable, Dict, Type, TypeVar

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
    for field in fields(node):
        value = getattr(node, field.name)
        if is_node(value):
            new: object = change(value, field.name)
            if new is not value:
                changes[field.name] = new
        elif isinstance(value, (list, tuple)):
            several = [_changed(item, field.name, change) for item in value]
            if any(one is not other for one, other in zip(several, value)):
                changes[field.name] = several
    return node.with_changes(**changes) if changes else node


def holds(node: cst.CSTNode, kind: Type[cst.CSTNode]) -> bool:
    """Whether a node is of a kind, or one inside it."""
    return isinstance(node, kind) or any(holds(child, kind) for child in node.children)


def _changed(item: object, field: str, change: Change) -> object:
    return change(item, field) if is_node(item) else item
