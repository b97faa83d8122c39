"""Rebuilding a libcst node with other children."""

from dataclasses import fields
from typing import Callable, Dict, Type, TypeVar

import libcst as cst

Node = TypeVar("Node", bound=cst.CSTNode)

Change = Callable[[cst.CSTNode, str], cst.CSTNode]
"""What comes in place of a child, given the child and the field that holds it."""


def with_children(node: Node, change: Change) -> Node:
    """``node`` with each child replaced by what ``change`` makes of it."""
    changes: Dict[str, object] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, cst.CSTNode):
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
    return change(item, field) if isinstance(item, cst.CSTNode) else item
