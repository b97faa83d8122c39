"""Scopes, the bindings that they hold, and the places of statements."""

import ast
from dataclasses import dataclass, field
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from npu_migrate.names.syntax import FUNCTIONS


class Binding:
    """One place where a name gets a value.

    ``target`` is a qualified name (imports, ``def`` and ``class``), ``value`` an expression whose
    element ``path`` is bound. Both empty: the value can't be known (a parameter, a loop variable).
    """

    __slots__ = (
        "name",
        "scope",
        "statement",
        "target",
        "value",
        "path",
        "alias",
        "parameter",
        "augmented",
        "iterates",
        "definition",
    )

    def __init__(
        self,
        name: str,
        scope: "Scope",
        statement: Optional[ast.stmt],
        target: str = "",
        value: Optional[ast.expr] = None,
        path: Tuple[int, ...] = (),
        alias: Optional[ast.alias] = None,
        parameter: bool = False,
        augmented: bool = False,
        iterates: bool = False,
        definition: Optional[ast.stmt] = None,
    ) -> None:
        self.name = name
        self.scope = scope
        self.statement = statement
        self.target = target
        self.value = value
        self.path = path
        self.alias = alias
        self.parameter = parameter
        self.augmented = augmented
        self.iterates = iterates
        """The name takes the elements of ``value`` one after the other."""
        self.definition = definition


@dataclass(eq=False)
class Scope:
    """A module, class, function, lambda or comprehension with the names that it binds."""

    node: ast.AST
    parent: Optional["Scope"]
    qualname: str
    bindings: Dict[str, List[Binding]] = field(default_factory=dict)
    shared: Dict[str, "Scope"] = field(default_factory=dict)
    """Names declared ``global`` or ``nonlocal`` here, with the scope that owns them."""

    def owner(self, name: str) -> "Scope":
        """The scope that owns what is bound to a name here."""
        return self.shared.get(name, self)

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    def function(self) -> "Scope":
        """The innermost function, class or module that holds this scope's expressions."""
        scope = self
        while not isinstance(scope.node, FUNCTIONS + (ast.ClassDef, ast.Module)):
            assert scope.parent is not None
            scope = scope.parent
        return scope


class Place(NamedTuple):
    """Where a statement stands: in which block, of which statement, in which scope."""

    block: Sequence[ast.stmt]
    position: int
    parent: Optional[ast.AST]
    scope: Scope
