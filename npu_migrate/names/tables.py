"""What the walk over one file finds, and where things stand in it."""

import ast
from typing import Callable, Dict, Iterator, List, Optional, Set, Tuple

from npu_migrate.canonical import Canonical
from npu_migrate.names.project import UNKNOWN, Project, Resolution
from npu_migrate.names.scopes import Binding, Place, Scope
from npu_migrate.names.syntax import (
    COMPREHENSIONS,
    FUNCTIONS,
    FunctionNode,
    ImportNode,
    last_line,
)


class Tables:
    """Scopes, bindings, places and parents of one file."""

    def __init__(self, tree: ast.Module, module: str, canonical: Canonical) -> None:
        self.canonical = canonical
        self.tree = tree
        self.module = module
        self.parents: Dict[ast.AST, ast.AST] = {}
        self.places: Dict[ast.AST, Place] = {}
        self.scopes: Dict[ast.AST, Scope] = {}
        self.calls: List[ast.Call] = []
        self.chains: List[ast.expr] = []
        """Every name and outermost dotted chain that is read, in the order of the walk."""
        self.classes: List[ast.ClassDef] = []
        self.functions: List[FunctionNode] = []
        self.imports: List[ImportNode] = []
        self.string_nodes: List[ast.expr] = []
        self.attributes: Dict[Tuple[ast.AST, str], List[Binding]] = {}
        """(class, attribute) -> what its methods assign to ``self.attribute``."""
        self.project = Project()
        self.convention: Callable[[str], Resolution] = lambda name: UNKNOWN
        self._bound: Dict[ast.AST, Set[str]] = {}
        self._own: Dict[ast.AST, List[Binding]] = {}
        self.held: Dict[ast.AST, Tuple[Scope, ast.stmt]] = {}
        """Name -> the scope that evaluates it and the statement that holds it."""
        self.stars: List[Tuple[Scope, str]] = []
        self._cache: Dict[ast.AST, Resolution] = {}
        self._bindings: Dict[ast.Name, List[Binding]] = {}
        self._binders: Dict[ast.stmt, Dict[str, List[int]]] = {}
        """First statement of a block -> name -> positions of the statements that bind it."""
        self._scope_of: Dict[ast.AST, Scope] = {}
        self._settled: Optional[Dict[str, List[Binding]]] = None
        self._by_path: Dict[str, Resolution] = {}
        self.root = Scope(tree, None, module)

    def attach(self, project: Project, convention: Callable[[str], Resolution]) -> None:
        """Let names resolve across the files of a run, and parameters by convention."""
        if project is not self.project or convention is not self.convention:
            self.project = project
            self.convention = convention
            self._cache.clear()
            self._by_path.clear()

    def all_scopes(self) -> List[Scope]:
        """Every scope of the file, lambdas and comprehensions included."""
        return [self.root, *self._scope_of.values()]

    def settled(self, name: str) -> Optional[List[Binding]]:
        """The bindings of a name that means the same in the whole file: an import, a function.

        None for a name that scopes may have for themselves.
        """
        if self._settled is None:
            self._settled = {
                name: bindings
                for name, bindings in self.root.bindings.items()
                if len(bindings) == 1 and bindings[0].target
            }
            for scope in self._scope_of.values():
                for bound in (scope.bindings, scope.shared):
                    for inner in self._settled.keys() & bound.keys():
                        del self._settled[inner]
        return self._settled.get(name)

    # Where things stand -----------------------------------------------------------------------

    def scope(self, node: ast.AST) -> Scope:
        """The scope in which an expression or statement is evaluated."""
        held = self.held.get(node)
        if held is not None:
            return held[0]
        below: Optional[ast.AST] = None
        current: Optional[ast.AST] = node
        while current is not None:
            place = self.places.get(current)
            if place is not None:
                return place.scope
            found = self._scope_of.get(current)
            if found is not None and current is not node:
                if not self._evaluated_outside(current, below):
                    return found
            below, current = current, self.parents.get(current)
        return self.root

    def _evaluated_outside(self, owner: ast.AST, child: Optional[ast.AST]) -> bool:
        """Defaults of a lambda and the first iterable of a comprehension belong outside."""
        if isinstance(owner, ast.Lambda):
            return child is owner.args
        return not isinstance(owner, COMPREHENSIONS)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds a node (the node itself if it is one)."""
        held = self.held.get(node)
        if held is not None:
            return held[1]
        current: ast.AST = node
        while not isinstance(current, ast.stmt):
            current = self.parents[current]
        return current

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, innermost first."""
        current = self.parents.get(node)
        while current is not None:
            yield current
            current = self.parents.get(current)

    def enclosing_function(self, node: ast.AST) -> Optional[FunctionNode]:
        """The innermost ``def`` around a node."""
        for ancestor in self.ancestors(node):
            if isinstance(ancestor, FUNCTIONS):
                return ancestor
        return None

    def region(self, node: ast.AST) -> ast.AST:
        """The outermost function around a node (a method, but not its class), or the module."""
        region: ast.AST = self.tree
        for ancestor in self.ancestors(node):
            if isinstance(ancestor, ast.ClassDef):
                return region
            if isinstance(ancestor, FUNCTIONS):
                region = ancestor
        return region

    def inside(self, node: ast.AST, outer: ast.AST) -> bool:
        """Whether ``node`` is ``outer`` or lies in it."""
        return node is outer or any(ancestor is outer for ancestor in self.ancestors(node))

    def stands_alone(self, statement: ast.stmt) -> bool:
        """Whether a statement has its line to itself: no ``;`` beside it, no one-line suite."""
        place = self.places[statement]
        before = place.block[max(place.position - 1, 0) : place.position]
        after = place.block[place.position + 1 : place.position + 2]
        shared = any(last_line(s) >= statement.lineno for s in before)
        shared = shared or any(s.lineno <= last_line(statement) for s in after)
        return not shared and getattr(place.parent, "lineno", 0) != statement.lineno
