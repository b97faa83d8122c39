"""The qualified names that expressions of one file stand for."""

import ast
from typing import FrozenSet, List, Optional

from npu_migrate.names.project import NOTHING, UNKNOWN, Resolution, union
from npu_migrate.names.reaching import Reaching
from npu_migrate.names.scopes import Binding
from npu_migrate.names.syntax import (
    BUILTINS,
    FUNCTIONS,
    FunctionNode,
    dotted,
    element,
    is_none,
    positional,
)


class Resolver(Reaching):
    """Resolves dotted expressions to sets of qualified names."""

    def resolve(self, node: ast.expr) -> Resolution:
        """The qualified names that an expression may stand for."""
        cached = self._cache.get(node)
        if cached is None:
            cached = self._cache[node] = self._resolve_path(node)
        return cached

    def _resolve_path(self, node: ast.expr) -> Resolution:
        """Paths that begin with the same import are resolved once."""
        start = node
        while isinstance(start, ast.Attribute):
            start = start.value
        if not isinstance(start, ast.Name) or self.settled(start.id) is None:
            return self._canonical(self._resolve(node, frozenset()))
        path = dotted(node)
        known = self._by_path.get(path)
        if known is None:
            known = self._canonical(self._resolve(node, frozenset()))
            self._by_path[path] = known
        return known

    def _canonical(self, found: Resolution) -> Resolution:
        if not found.names:
            return found
        names = frozenset(map(self.canonical, found.names))
        return Resolution(names, found.unknown, found.assumed)

    def _resolve(self, node: Optional[ast.expr], seen: FrozenSet[object]) -> Resolution:
        if node in seen or node is None:
            return UNKNOWN
        seen = seen | {node}
        if isinstance(node, ast.Name):
            return self._resolve_name(node, seen)
        if isinstance(node, ast.Attribute):
            return self._resolve_attribute(node, seen)
        if isinstance(node, ast.IfExp):
            return union([self._resolve(node.body, seen), self._resolve(node.orelse, seen)])
        if isinstance(node, ast.BoolOp):
            return union([self._resolve(value, seen) for value in node.values])
        if hasattr(ast, "NamedExpr") and isinstance(node, ast.NamedExpr):
            return self._resolve(node.value, seen)
        return NOTHING if is_none(node) else UNKNOWN

    def _resolve_name(self, node: ast.Name, seen: FrozenSet[object]) -> Resolution:
        bindings = self.bindings(node)
        if bindings:
            return union([self._resolve_binding(binding, seen) for binding in bindings])
        offered = [module for _, module in self.stars if module]
        offers = [s for s in offered if s.startswith(":")]
        for star in reversed(offers):
            found = self.project.lookup(f"{star}.{node.id}")
            if found.names != {f"{star}.{node.id}"} or self._exported(star, node.id):
                return found
        if node.id in BUILTINS:
            return Resolution(frozenset(("builtins." + node.id,)))
        outside = [s for s in offered if not s.startswith(":")]
        if outside:
            return Resolution(frozenset(f"{s}.{node.id}" for s in outside), unknown=True)
        return UNKNOWN

    def _exported(self, module: str, name: str) -> bool:
        return name in self.project.exports(module).names

    def _resolve_binding(self, binding: Binding, seen: FrozenSet[object]) -> Resolution:
        if binding.target:
            return self.project.lookup(binding.target)
        if binding.parameter:
            return self._resolve_parameter(binding)
        if binding.value is None or binding.augmented or binding.iterates:
            return UNKNOWN
        value = element(binding.value, binding.path)
        return self._resolve(value, seen) if value is not None else UNKNOWN

    def _resolve_parameter(self, binding: Binding) -> Resolution:
        handed = self.project.parameters.get((binding.scope.qualname, binding.name))
        return handed if handed is not None else self.convention(binding.name)

    def _resolve_attribute(self, node: ast.Attribute, seen: FrozenSet[object]) -> Resolution:
        own = self.self_attribute(node)
        if own is not None:
            results = [self._resolve_binding(binding, seen) for binding in own]
            if not any(result.names for result in results):
                results.append(self.convention(node.attr))
            return union(results) if own else union(results)
        base = self._resolve(node.value, seen)
        if not base.names:
            return UNKNOWN
        found = [self.project.lookup(f"{name}.{node.attr}") for name in base.names]
        joined = union(found)
        return Resolution(joined.names, joined.unknown or base.unknown, base.assumed)

    def self_attribute(self, node: ast.expr) -> Optional[List[Binding]]:
        """The bindings of ``self.x`` within its class; ``None`` if the node is no such thing."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return None
        owner = self.class_of_self(node.value)
        if owner is None:
            return None
        return self.attributes.get((owner, node.attr), [])

    def class_of_self(self, name: ast.Name) -> Optional[ast.ClassDef]:
        """The class whose instance a method's first parameter is."""
        bindings = self.bindings(name)
        if len(bindings) != 1 or not bindings[0].parameter:
            return None
        function = bindings[0].scope.node
        if not isinstance(function, FUNCTIONS) or not self.is_method(function):
            return None
        parent = self.parents[function]
        arguments = positional(function.args)
        is_first = bool(arguments) and arguments[0].arg == name.id
        return parent if is_first and isinstance(parent, ast.ClassDef) else None

    def is_method(self, function: FunctionNode) -> bool:
        """Whether a function's first parameter is not for its callers: ``self`` or ``cls``."""
        is_static = any(dotted(d) == "staticmethod" for d in function.decorator_list)
        return isinstance(self.parents.get(function), ast.ClassDef) and not is_static

    def qualname(self, node: ast.AST) -> str:
        """The qualified name of a class or function of this file."""
        return self.scopes[node].qualname
