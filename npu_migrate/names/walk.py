"""The one walk over a file: fills its tables.

It is what ``--check`` pays for in every file that it looks closely at, so it does little at a node:
the visitor of a kind of node is looked up once, and nothing is made anew for an expression.
"""

import ast
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Sequence, Set, Tuple, Union

from npu_migrate.names.resolver import Resolver
from npu_migrate.names.scopes import Binding, Place, Scope
from npu_migrate.names.syntax import (
    COMPREHENSIONS,
    FUNCTIONS,
    FunctionNode,
    positional,
)

Importer = Callable[[str, int], str]
"""``(dotted module, level) -> qualified name`` of an import, for one importing file."""

Where = Tuple[Scope, ast.stmt]
"""The scope that evaluates an expression, and the statement that holds it."""

_BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")
_NO_PARTS = frozenset((*_BLOCKS, "ctx", "op", "ops"))
_NOTHING: FrozenSet[str] = frozenset()


class Walk:
    """The one walk over a file: fills an index."""

    def __init__(self, index: Resolver, importer: Importer) -> None:
        self.index = index
        self.importer = importer
        self._parents = index.parents
        self._held = index.held
        self._chains = index.chains
        self._assigned: List[Tuple[Union[ast.Name, ast.ClassDef], Binding]] = []
        """What attributes get, each with what has them: a class, or a name that may be ``self``."""

    def run(self) -> None:
        self._block(self.index.tree.body, None, self.index.root)
        for holder, binding in self._assigned:  # who is ``self`` is known once all is bound
            if isinstance(holder, ast.ClassDef):
                owner: Optional[ast.ClassDef] = holder
            else:
                owner = self.index.class_of_self(holder)
            if owner is not None:
                self.index.attributes.setdefault((owner, binding.name), []).append(binding)

    # Statements -------------------------------------------------------------------------------

    def _block(
        self, block: Sequence[ast.stmt], parent: Optional[ast.AST], scope: Scope
    ) -> Set[str]:
        bound: Set[str] = set()
        places, holder = self.index.places, parent or scope.node
        for position, statement in enumerate(block):
            places[statement] = Place(block, position, parent, scope)
            self._parents[statement] = holder
            bound |= self._statement(statement, scope)
        return bound

    def _statement(self, node: ast.stmt, scope: Scope) -> Union[Set[str], FrozenSet[str]]:
        """Visit a statement and the blocks in it; the names that they bind."""
        kind = type(node)
        _VISITORS[kind](self, node, (scope, node))
        own = self.index._own.get(node)
        blocks = _BLOCKS_OF[kind]
        if not own and not blocks:
            return _NOTHING
        names = {binding.name for binding in own or ()}
        for name in blocks:
            if name in ("handlers", "cases"):
                for part in getattr(node, name):
                    names |= self._block(part.body, part, scope)
            else:
                names |= self._block(getattr(node, name), node, scope)
        self.index._bound[node] = names
        return names

    def _bind(self, binding: Binding) -> None:
        scope = binding.scope.owner(binding.name)
        scope.bindings.setdefault(binding.name, []).append(binding)
        if binding.statement is not None:
            self.index._own.setdefault(binding.statement, []).append(binding)

    def _bind_target(
        self,
        target: ast.expr,
        value: Optional[ast.expr],
        where: Where,
        path: Tuple[int, ...] = (),
        iterates: bool = False,
    ) -> None:
        scope, statement = where
        if isinstance(target, ast.Name):
            self._bind(
                Binding(target.id, scope, statement, value=value, path=path, iterates=iterates)
            )
        elif isinstance(target, ast.Starred):
            self._bind_target(target.value, None, where)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for position, item in enumerate(target.elts):
                self._bind_target(item, value, where, (*path, position), iterates)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            binding = Binding(
                target.attr, scope, statement, value=value, path=path, iterates=iterates
            )
            self._assigned.append((target.value, binding))

    def _visit_Assign(self, node: ast.Assign, where: Where) -> None:
        for target in node.targets:
            self._expression(target, node, where)
        self._expression(node.value, node, where)
        for target in node.targets:
            self._bind_target(target, node.value, where)

    def _visit_AnnAssign(self, node: ast.AnnAssign, where: Where) -> None:
        self._parts(node, where)
        if node.value is not None:
            self._bind_target(node.target, node.value, where)

    def _visit_AugAssign(self, node: ast.AugAssign, where: Where) -> None:
        self._parts(node, where)
        if isinstance(node.target, ast.Name):
            self._chains.append(node.target)
            self._bind(Binding(node.target.id, where[0], node, value=node.value, augmented=True))

    def _visit_For(self, node: ast.For, where: Where) -> None:
        self._parts(node, where)
        self._bind_target(node.target, node.iter, where, iterates=True)

    _visit_AsyncFor = _visit_For

    def _visit_With(self, node: ast.With, where: Where) -> None:
        for item in node.items:
            self._parents[item] = node
            self._parts(item, where)
        for item in node.items:
            if item.optional_vars is not None:
                self._bind_target(item.optional_vars, item.context_expr, where)

    _visit_AsyncWith = _visit_With

    def _visit_Try(self, node: ast.Try, where: Where) -> None:
        for handler in node.handlers:
            self._parents[handler] = node
            self._parts(handler, where)
            if handler.name:
                self._bind(Binding(handler.name, where[0], node))

    _visit_TryStar = _visit_Try

    def _visit_Match(self, node: Any, where: Where) -> None:
        self._parts(node, where)
        for case in node.cases:
            self._parents[case] = node
            for pattern in ast.walk(case.pattern):
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if isinstance(name, str):
                    self._bind(Binding(name, where[0], node))
                if isinstance(pattern, ast.expr):
                    self._parents[pattern] = case
            if case.guard is not None:
                self._expression(case.guard, case, where)

    def _visit_Global(self, node: ast.Global, where: Where) -> None:
        for name in node.names:
            where[0].shared[name] = self.index.root

    def _visit_Nonlocal(self, node: ast.Nonlocal, where: Where) -> None:
        scope = where[0]
        for name in node.names:
            owner = scope.parent
            while owner is not None and (owner.is_class or name not in owner.bindings):
                owner = owner.parent
            if owner is not None:
                scope.shared[name] = owner

    def _visit_Import(self, node: ast.Import, where: Where) -> None:
        self.index.imports.append(node)
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            target = self.importer(alias.name if alias.asname else name, 0)
            self._bind(Binding(name, where[0], node, target=target, alias=alias))

    def _visit_ImportFrom(self, node: ast.ImportFrom, where: Where) -> None:
        self.index.imports.append(node)
        module = self.importer(node.module or "", node.level or 0)
        for alias in node.names:
            if alias.name == "*":
                self.index.stars.append((where[0], module))
                continue
            name = alias.asname or alias.name
            target = module + alias.name if module == ":" else f"{module}.{alias.name}"
            self._bind(Binding(name, where[0], node, target=target, alias=alias))

    def _visit_FunctionDef(self, node: FunctionNode, where: Where) -> None:
        self.index.functions.append(node)
        self._parents[node.args] = node
        for outside in node.decorator_list + _defaults(node.args) + _annotations(node):
            self._expression(outside, node, where)
        inner = self._enter(node, where[0])
        self._bind_parameters(node.args, inner)
        self._block(node.body, node, inner)

    _visit_AsyncFunctionDef = _visit_FunctionDef

    def _enter(self, node: Union[FunctionNode, ast.ClassDef], scope: Scope) -> Scope:
        """The scope of a function or class, whose name is bound around it."""
        inner = Scope(node, scope, f"{scope.qualname}.{node.name}")
        self.index.scopes[node] = self.index._scope_of[node] = inner
        self._bind(Binding(node.name, scope, node, target=inner.qualname, definition=node))
        return inner

    def _bind_parameters(self, arguments: ast.arguments, scope: Scope) -> None:
        for argument in positional(arguments) + arguments.kwonlyargs:
            self._bind(Binding(argument.arg, scope, None, parameter=True))
        for rest in (arguments.vararg, arguments.kwarg):
            if rest is not None:
                self._bind(Binding(rest.arg, scope, None))

    def _visit_ClassDef(self, node: ast.ClassDef, where: Where) -> None:
        index = self.index
        index.classes.append(node)
        for outside in node.decorator_list + node.bases:
            self._expression(outside, node, where)
        self._keywords(node, where)
        inner = self._enter(node, where[0])
        self._block(node.body, node, inner)
        for bindings in inner.bindings.values():
            for binding in bindings:
                if binding.value is not None or binding.alias is not None:
                    self._assigned.append((node, binding))

    # Expressions ------------------------------------------------------------------------------

    def _expression(self, node: ast.expr, parent: ast.AST, where: Where) -> None:
        self._parents[node] = parent
        _VISITORS[type(node)](self, node, where)

    def _parts(self, node: ast.AST, where: Where) -> None:
        """Visit the expressions of a node that is nothing special (not the blocks of it)."""
        parents = self._parents
        for name in _PARTS_OF[type(node)]:
            value = getattr(node, name)
            for part in value if type(value) is list else (value,):
                if isinstance(part, ast.AST):
                    parents[part] = node
                    _VISITORS[type(part)](self, part, where)

    def _visit_Name(self, node: ast.Name, where: Where) -> None:
        self._held[node] = where
        if type(node.ctx) is not ast.Store:  # to delete a name is to use it
            self._chains.append(node)

    def _visit_Attribute(self, node: ast.Attribute, where: Where) -> None:
        if type(node.ctx) is not ast.Store:
            self._chains.append(node)
        value = node.value
        self._parents[value] = node
        while type(value) is ast.Attribute:
            self._parents[value.value] = value
            value = value.value
        if type(value) is ast.Name:
            self._held[value] = where
        else:
            _VISITORS[type(value)](self, value, where)

    def _visit_Call(self, node: ast.Call, where: Where) -> None:
        self.index.calls.append(node)
        parents = self._parents
        for part in (node.func, *node.args):
            parents[part] = node
            _VISITORS[type(part)](self, part, where)
        if node.keywords:
            self._keywords(node, where)

    def _keywords(self, node: Union[ast.Call, ast.ClassDef], where: Where) -> None:
        for keyword in node.keywords:
            value = keyword.value
            self._parents[keyword] = node
            self._parents[value] = keyword
            _VISITORS[type(value)](self, value, where)

    def _visit_Constant(self, node: ast.Constant, where: Where) -> None:
        if isinstance(node.value, str):
            self.index.string_nodes.append(node)

    def _visit_Str(self, node: ast.expr, where: Where) -> None:
        self.index.string_nodes.append(node)

    def _visit_Num(self, node: ast.expr, where: Where) -> None:
        pass

    _visit_Bytes = _visit_NameConstant = _visit_Ellipsis = _visit_Num

    def _visit_Expr(self, node: ast.Expr, where: Where) -> None:
        self._expression(node.value, node, where)

    def _visit_BinOp(self, node: ast.BinOp, where: Where) -> None:
        self._expression(node.left, node, where)
        self._expression(node.right, node, where)

    def _visit_Tuple(self, node: Union[ast.Tuple, ast.List], where: Where) -> None:
        for item in node.elts:
            self._expression(item, node, where)

    _visit_List = _visit_Tuple

    def _visit_IfExp(self, node: ast.IfExp, where: Where) -> None:
        for part in (node.test, node.body, node.orelse):
            self._expression(part, node, where)

    def _visit_NamedExpr(self, node: Any, where: Where) -> None:
        self._expression(node.value, node, where)
        self._parents[node.target] = node
        holder, statement = where
        while isinstance(holder.node, COMPREHENSIONS) and holder.parent is not None:
            holder = holder.parent
        self._bind_target(node.target, node.value, (holder, statement))

    def _visit_Lambda(self, node: ast.Lambda, where: Where) -> None:
        scope, statement = where
        self._parents[node.args] = node
        for default in _defaults(node.args):
            self._expression(default, node.args, where)
        inner = Scope(node, scope, scope.qualname + ".<lambda>")
        self.index._scope_of[node] = inner
        self._bind_parameters(node.args, inner)
        self._expression(node.body, node, (inner, statement))

    def _visit_ListComp(self, node: Any, where: Where) -> None:
        scope, statement = where
        inner = Scope(node, scope, scope.qualname + ".<comprehension>")
        self.index._scope_of[node] = inner
        inside = (inner, statement)
        for generator in node.generators:
            self._parents[generator] = node
            self._expression(generator.iter, generator, inside)
            self._bind_comprehension_target(generator.target, generator.iter, inner)
            self._expression(generator.target, generator, inside)
            for condition in generator.ifs:
                self._expression(condition, generator, inside)
        for name in ("elt", "key", "value"):
            part = getattr(node, name, None)
            if part is not None:
                self._expression(part, node, inside)

    _visit_SetComp = _visit_DictComp = _visit_GeneratorExp = _visit_ListComp

    def _bind_comprehension_target(
        self, target: ast.expr, iterable: ast.expr, scope: Scope, path: Tuple[int, ...] = ()
    ) -> None:
        if isinstance(target, ast.Name):
            binding = Binding(target.id, scope, None, value=iterable, path=path, iterates=True)
            scope.bindings.setdefault(target.id, []).append(binding)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for position, item in enumerate(target.elts):
                self._bind_comprehension_target(item, iterable, scope, (*path, position))
        elif isinstance(target, ast.Starred):
            self._bind_comprehension_target(target.value, iterable, scope, path)


class _Visitors(Dict[type, Callable[[Walk, Any, Where], None]]):
    """Kind of node -> the method that visits it, looked up by name when it is first met."""

    def __missing__(self, kind: type) -> Callable[[Walk, Any, Where], None]:
        self[kind] = visitor = getattr(Walk, "_visit_" + kind.__name__, Walk._parts)
        return visitor


class _PartsOf(Dict[type, Tuple[str, ...]]):
    """Kind of node -> the fields that may hold expressions."""

    def __missing__(self, kind: Any) -> Tuple[str, ...]:
        self[kind] = names = tuple(name for name in kind._fields if name not in _NO_PARTS)
        return names


class _BlocksOf(Dict[type, Tuple[str, ...]]):
    """Kind of statement -> the fields that hold blocks of the same scope, in order."""

    def __missing__(self, kind: Any) -> Tuple[str, ...]:
        opens_scope = issubclass(kind, (*FUNCTIONS, ast.ClassDef))
        names = () if opens_scope else tuple(name for name in _BLOCKS if name in kind._fields)
        self[kind] = names
        return names


_VISITORS, _PARTS_OF, _BLOCKS_OF = _Visitors(), _PartsOf(), _BlocksOf()


def _defaults(arguments: ast.arguments) -> List[ast.expr]:
    return arguments.defaults + [d for d in arguments.kw_defaults if d is not None]


def _annotations(node: FunctionNode) -> List[ast.expr]:
    every = positional(node.args) + node.args.kwonlyargs
    every += [a for a in (node.args.vararg, node.args.kwarg) if a is not None]
    found = [a.annotation for a in every if a.annotation is not None]
    return found + ([node.returns] if node.returns is not None else [])
