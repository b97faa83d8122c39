"""The one walk over a file: fills its tables."""

import ast
from typing import Callable, Iterator, List, Optional, Sequence, Set, Tuple

from npu_migrate.names.resolver import Resolver
from npu_migrate.names.scopes import Binding, Place, Scope
from npu_migrate.names.syntax import (
    COMPREHENSIONS,
    FUNCTIONS,
    FunctionNode,
    literal,
    positional,
)

Importer = Callable[[str, int], str]
"""``(dotted module, level) -> qualified name`` of an import, for one importing file."""


class Walk:
    """The one walk over a file: fills an index."""

    def __init__(self, index: Resolver, importer: Importer) -> None:
        self.index = index
        self.importer = importer

    def run(self) -> None:
        index = self.index
        self._block(index.tree.body, None, index.root)

    # Statements -------------------------------------------------------------------------------

    def _block(
        self, block: Sequence[ast.stmt], parent: Optional[ast.AST], scope: Scope
    ) -> Set[str]:
        bound: Set[str] = set()
        for position, statement in enumerate(block):
            self.index.places[statement] = Place(block, position, parent, scope)
            if parent is not None:
                self.index.parents[statement] = parent
            else:
                self.index.parents[statement] = scope.node
            bound |= self._statement(statement, scope)
        return bound

    def _statement(self, node: ast.stmt, scope: Scope) -> Set[str]:
        method = getattr(self, "_visit_" + type(node).__name__, None)
        if method is not None:
            method(node, scope)
        else:
            self._expressions(node, node, scope)
        names = {binding.name for binding in self.index._own.get(node, ())}
        if not isinstance(node, FUNCTIONS + (ast.ClassDef,)):
            for block, parent in _blocks(node):
                names |= self._block(block, parent, scope)
        self.index._bound[node] = names
        return names

    def _expressions(self, node: ast.AST, statement: ast.stmt, scope: Scope) -> None:
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                self._expression(value, node, statement, scope)
            elif isinstance(value, list) and name not in ("body", "orelse", "finalbody"):
                for item in value:
                    if isinstance(item, ast.expr):
                        self._expression(item, node, statement, scope)
                    elif isinstance(item, (ast.keyword, ast.withitem)):
                        self.index.parents[item] = node
                        self._expressions(item, statement, scope)

    def _bind(self, binding: Binding) -> None:
        scope = binding.scope.owner(binding.name)
        scope.bindings.setdefault(binding.name, []).append(binding)
        if binding.statement is not None:
            self.index._own.setdefault(binding.statement, []).append(binding)

    def _bind_target(
        self,
        target: ast.expr,
        value: Optional[ast.expr],
        statement: ast.stmt,
        scope: Scope,
        path: Tuple[int, ...] = (),
        iterates: bool = False,
    ) -> None:
        if isinstance(target, ast.Name):
            self._bind(
                Binding(target.id, scope, statement, value=value, path=path, iterates=iterates)
            )
        elif isinstance(target, ast.Starred):
            self._bind_target(target.value, None, statement, scope)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for position, item in enumerate(target.elts):
                self._bind_target(item, value, statement, scope, path + (position,), iterates)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            owner = self.index.class_of_self(target.value)
            if owner is not None:
                binding = Binding(
                    target.attr, scope, statement, value=value, path=path, iterates=iterates
                )
                self.index.attributes.setdefault((owner, target.attr), []).append(binding)

    def _visit_Assign(self, node: ast.Assign, scope: Scope) -> None:
        self._expressions(node, node, scope)
        for target in node.targets:
            self._bind_target(target, node.value, node, scope)

    def _visit_AnnAssign(self, node: ast.AnnAssign, scope: Scope) -> None:
        self._expressions(node, node, scope)
        if node.value is not None:
            self._bind_target(node.target, node.value, node, scope)

    def _visit_AugAssign(self, node: ast.AugAssign, scope: Scope) -> None:
        self._expressions(node, node, scope)
        if isinstance(node.target, ast.Name):
            self.index.chains.append(node.target)
            self._bind(Binding(node.target.id, scope, node, value=node.value, augmented=True))

    def _visit_For(self, node: ast.For, scope: Scope) -> None:
        self._expressions(node, node, scope)
        self._bind_target(node.target, node.iter, node, scope, iterates=True)

    _visit_AsyncFor = _visit_For

    def _visit_With(self, node: ast.With, scope: Scope) -> None:
        self._expressions(node, node, scope)
        for item in node.items:
            if item.optional_vars is not None:
                self._bind_target(item.optional_vars, item.context_expr, node, scope)

    _visit_AsyncWith = _visit_With

    def _visit_Try(self, node: ast.Try, scope: Scope) -> None:
        for handler in node.handlers:
            self.index.parents[handler] = node
            self._expressions(handler, node, scope)
            if handler.name:
                self._bind(Binding(handler.name, scope, node))

    _visit_TryStar = _visit_Try

    def _visit_Match(self, node: ast.AST, scope: Scope) -> None:
        self._expressions(node, node, scope)  # type: ignore[arg-type]
        for case in node.cases:  # type: ignore[attr-defined]
            self.index.parents[case] = node
            for pattern in ast.walk(case.pattern):
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if isinstance(name, str):
                    self._bind(Binding(name, scope, node))  # type: ignore[arg-type]
                if isinstance(pattern, ast.expr):
                    self.index.parents[pattern] = case
            if case.guard is not None:
                self._expression(case.guard, case, node, scope)  # type: ignore[arg-type]

    def _visit_Global(self, node: ast.Global, scope: Scope) -> None:
        for name in node.names:
            scope.shared[name] = self.index.root

    def _visit_Nonlocal(self, node: ast.Nonlocal, scope: Scope) -> None:
        for name in node.names:
            owner = scope.parent
            while owner is not None and (owner.is_class or name not in owner.bindings):
                owner = owner.parent
            if owner is not None:
                scope.shared[name] = owner

    def _visit_Import(self, node: ast.Import, scope: Scope) -> None:
        self.index.imports.append(node)
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            target = self.importer(alias.name if alias.asname else name, 0)
            self._bind(Binding(name, scope, node, target=target, alias=alias))

    def _visit_ImportFrom(self, node: ast.ImportFrom, scope: Scope) -> None:
        self.index.imports.append(node)
        module = self.importer(node.module or "", node.level or 0)
        for alias in node.names:
            if alias.name == "*":
                self.index.stars.append((scope, module))
                continue
            name = alias.asname or alias.name
            target = module + alias.name if module == ":" else f"{module}.{alias.name}"
            self._bind(Binding(name, scope, node, target=target, alias=alias))

    def _visit_FunctionDef(self, node: FunctionNode, scope: Scope) -> None:
        index = self.index
        index.functions.append(node)
        index.parents[node.args] = node
        for outside in node.decorator_list + _defaults(node.args) + _annotations(node):
            self._expression(outside, node, node, scope)
        inner = Scope(node, scope, f"{scope.qualname}.{node.name}")
        index.scopes[node] = index._scope_of[node] = inner
        self._bind(Binding(node.name, scope, node, target=inner.qualname, definition=node))
        self._bind_parameters(node.args, inner)
        self._block(node.body, node, inner)

    _visit_AsyncFunctionDef = _visit_FunctionDef

    def _bind_parameters(self, arguments: ast.arguments, scope: Scope) -> None:
        everything = positional(arguments) + list(arguments.kwonlyargs)
        for argument in everything:
            self._bind(Binding(argument.arg, scope, None, parameter=True))
        for rest in (arguments.vararg, arguments.kwarg):
            if rest is not None:
                self._bind(Binding(rest.arg, scope, None))

    def _visit_ClassDef(self, node: ast.ClassDef, scope: Scope) -> None:
        index = self.index
        index.classes.append(node)
        for outside in node.decorator_list + node.bases:
            self._expression(outside, node, node, scope)
        for keyword in node.keywords:
            index.parents[keyword] = node
            self._expression(keyword.value, keyword, node, scope)
        inner = Scope(node, scope, f"{scope.qualname}.{node.name}")
        index.scopes[node] = index._scope_of[node] = inner
        self._bind(Binding(node.name, scope, node, target=inner.qualname, definition=node))
        self._block(node.body, node, inner)
        for name, bindings in inner.bindings.items():
            values = [b for b in bindings if b.value is not None or b.alias is not None]
            if values:
                index.attributes.setdefault((node, name), []).extend(values)

    # Expressions ------------------------------------------------------------------------------

    def _expression(
        self, node: ast.expr, parent: ast.AST, statement: ast.stmt, scope: Scope
    ) -> None:
        index = self.index
        index.parents[node] = parent
        if isinstance(node, (ast.Name, ast.Attribute)):
            if not isinstance(node.ctx, ast.Store):  # to delete a name is to use it
                index.chains.append(node)
            while isinstance(node, ast.Attribute):
                index.parents[node.value] = node
                node = node.value
            if isinstance(node, ast.Name):
                index.held[node] = (scope, statement)
            else:
                self._expression(node, index.parents[node], statement, scope)
            return
        if isinstance(node, ast.Call):
            index.calls.append(node)
            self._expression(node.func, node, statement, scope)
            for argument in node.args:
                self._expression(argument, node, statement, scope)
            for keyword in node.keywords:
                index.parents[keyword] = node
                self._expression(keyword.value, keyword, statement, scope)
            return
        if isinstance(node, ast.Lambda):
            self._lambda(node, statement, scope)
            return
        if isinstance(node, COMPREHENSIONS):
            self._comprehension(node, statement, scope)
            return
        if hasattr(ast, "NamedExpr") and isinstance(node, ast.NamedExpr):
            self._expression(node.value, node, statement, scope)
            index.parents[node.target] = node
            holder = scope
            while isinstance(holder.node, COMPREHENSIONS) and holder.parent is not None:
                holder = holder.parent
            self._bind_target(node.target, node.value, statement, holder)
            return
        value = literal(node)
        if isinstance(value, str):
            index.string_nodes.append(node)
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expression(child, node, statement, scope)
            elif hasattr(child, "_fields") and not isinstance(
                child, (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)
            ):
                index.parents[child] = node
                for deeper in ast.iter_child_nodes(child):
                    if isinstance(deeper, ast.expr):
                        self._expression(deeper, child, statement, scope)

    def _lambda(self, node: ast.Lambda, statement: ast.stmt, scope: Scope) -> None:
        self.index.parents[node.args] = node
        for default in _defaults(node.args):
            self._expression(default, node.args, statement, scope)
        inner = Scope(node, scope, scope.qualname + ".<lambda>")
        self.index._scope_of[node] = inner
        self._bind_parameters(node.args, inner)
        self._expression(node.body, node, statement, inner)

    def _comprehension(self, node: ast.expr, statement: ast.stmt, scope: Scope) -> None:
        index = self.index
        inner = Scope(node, scope, scope.qualname + ".<comprehension>")
        index._scope_of[node] = inner
        for generator in node.generators:  # type: ignore[attr-defined]
            index.parents[generator] = node
            self._expression(generator.iter, generator, statement, inner)
            self._bind_comprehension_target(generator.target, generator.iter, inner)
            self._expression(generator.target, generator, statement, inner)
            for condition in generator.ifs:
                self._expression(condition, generator, statement, inner)
        for name in ("elt", "key", "value"):
            part = getattr(node, name, None)
            if part is not None:
                self._expression(part, node, statement, inner)

    def _bind_comprehension_target(
        self, target: ast.expr, iterable: ast.expr, scope: Scope, path: Tuple[int, ...] = ()
    ) -> None:
        if isinstance(target, ast.Name):
            binding = Binding(target.id, scope, None, value=iterable, path=path, iterates=True)
            scope.bindings.setdefault(target.id, []).append(binding)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for position, item in enumerate(target.elts):
                self._bind_comprehension_target(item, iterable, scope, path + (position,))
        elif isinstance(target, ast.Starred):
            self._bind_comprehension_target(target.value, iterable, scope, path)


def _defaults(arguments: ast.arguments) -> List[ast.expr]:
    return list(arguments.defaults) + [d for d in arguments.kw_defaults if d is not None]


def _annotations(node: FunctionNode) -> List[ast.expr]:
    every = positional(node.args) + list(node.args.kwonlyargs)
    every += [a for a in (node.args.vararg, node.args.kwarg) if a is not None]
    found = [a.annotation for a in every if a.annotation is not None]
    return found + ([node.returns] if node.returns is not None else [])


def _blocks(node: ast.stmt) -> Iterator[Tuple[List[ast.stmt], ast.AST]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if block:
            yield block, node
        if name == "body":
            for handler in getattr(node, "handlers", ()):
                yield handler.body, handler
            for case in getattr(node, "cases", ()):
                yield case.body, case
