"""The index of one file, which every migration asks."""

import ast
from typing import Collection, Dict, FrozenSet, List, Optional, Sequence, Set, Tuple, Union

from npu_migrate.canonical import Canonical
from npu_migrate.names.calls import Calls
from npu_migrate.names.project import Exports
from npu_migrate.names.resolver import Resolver
from npu_migrate.names.scopes import Binding
from npu_migrate.names.syntax import FUNCTIONS, FunctionNode, element, is_none, literal
from npu_migrate.names.walk import Importer, Walk


class Index(Resolver):
    """Scopes, bindings, names and values of one file.

    ``module`` is the qualified name of the file's module, ``importer`` tells what its imports mean,
    ``canonical`` gives the one name of a thing that has several.
    """

    def __init__(
        self,
        tree: ast.Module,
        module: str,
        importer: Importer,
        canonical: Canonical,
    ) -> None:
        super().__init__(tree, module, canonical)
        self._calls_by_name: Optional[Calls] = None
        self._statements: Optional[Dict[ast.AST, List[ast.stmt]]] = None
        self._names_read: Optional[Dict[str, List[ast.Name]]] = None
        self._classes_by_name: Optional[Dict[str, ast.ClassDef]] = None
        self._strings: Optional[Dict[object, List[int]]] = None
        self._bindings_by_name: Optional[Dict[str, List[Binding]]] = None
        self._reads_by_binding: Dict[str, Dict[Binding, List[ast.Name]]] = {}
        self._names_by_target: Optional[Dict[str, List[str]]] = None
        self._producers: Dict[ast.expr, Sequence[Union[ast.expr, Binding]]] = {}
        Walk(self, importer).run()

    def producers(self, node: ast.expr) -> Sequence[Union[ast.expr, Binding]]:
        """The expressions whose value ``node`` may have, and parameters where the trail ends.

        Follows names, attributes of ``self``, conditional expressions and the returns of functions
        of this file.
        """
        known = self._producers.get(node)
        if known is None:
            found: Dict[object, None] = {}
            self._produce(node, (), found, set())
            known = self._producers[node] = tuple(found)  # type: ignore[arg-type]
        return known

    def _produce(
        self, node: ast.expr, path: Tuple[int, ...], found: Dict[object, None], seen: Set[object]
    ) -> None:
        if (node, path) in seen:
            return
        seen.add((node, path))
        if path:
            part = element(node, path[:1])
            if part is not None:
                self._produce(part, path[1:], found, seen)
                return
        if isinstance(node, ast.IfExp):
            self._produce(node.body, path, found, seen)
            self._produce(node.orelse, path, found, seen)
            return
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                self._produce(value, path, found, seen)
            return
        if hasattr(ast, "NamedExpr") and isinstance(node, ast.NamedExpr):
            self._produce(node.value, path, found, seen)
            return
        bindings: Optional[List[Binding]] = None
        if isinstance(node, ast.Name):
            bindings = self.bindings(node)
        elif isinstance(node, ast.Attribute):
            bindings = self.self_attribute(node)
        if bindings:
            for binding in bindings:
                if binding.value is None or binding.augmented or binding.iterates:
                    found[binding] = None
                else:
                    self._produce(binding.value, binding.path + path, found, seen)
            return
        returns = self._returns(node)
        if returns:
            for value in returns:
                self._produce(value, path, found, seen)
            return
        if not path:
            found[node] = None

    def _returns(self, node: ast.expr) -> List[ast.expr]:
        if not isinstance(node, ast.Call):
            return []
        function = self.function_called(node)
        if function is None:
            return []
        return [r.value for r in self.returns(function) if r.value is not None]

    def function_called(self, call: ast.Call) -> Optional[FunctionNode]:
        """The function or method of this file that a call runs, where there is just one."""
        return self.function_named(call.func)

    def function_named(self, node: ast.expr) -> Optional[FunctionNode]:
        """The function or method of this file that a name stands for, where there is just one."""
        if isinstance(node, ast.Name):
            definitions = [b.definition for b in self.bindings(node)]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = self.class_of_self(node.value)
            scope = self.scopes.get(owner) if owner is not None else None
            bindings = scope.bindings.get(node.attr, []) if scope is not None else []
            definitions = [b.definition for b in bindings]
        else:
            return None
        if len(definitions) == 1 and isinstance(definitions[0], FUNCTIONS):
            return definitions[0]
        return None

    def calls_of(self, names: FrozenSet[str]) -> List[ast.Call]:
        """The calls of what may stand for one of the qualified names, in the order of the file."""
        return [
            call
            for call in self.possible_calls(names)
            if not self.resolve(call.func).names.isdisjoint(names)
        ]

    def possible_calls(
        self, names: FrozenSet[str], words: FrozenSet[str] = frozenset()
    ) -> List[ast.Call]:
        """Calls that have to be resolved to see what they are, and all of what is so called.

        Among them is each that may be of one of the qualified ``names``, or whose name ends with
        one of the ``words``.
        """
        return self._calls_named().possible(self.canonical.words(names) | words)

    def chains_of(self, names: FrozenSet[str]) -> List[ast.expr]:
        """The reads of what may stand for one of the qualified names, in the order of the walk."""
        possible = self._calls_named().which_may_be(self.chains, self.canonical.words(names))
        return [c for c in possible if not self.resolve(c).names.isdisjoint(names)]

    def may_be(self, node: ast.expr, names: FrozenSet[str]) -> bool:
        """Whether an expression has to be resolved to see that it is none of the names."""
        return self._calls_named().may_be(node, self.canonical.words(names))

    def calls_written(self, words: Collection[str]) -> List[ast.Call]:
        """The calls of what is written with one of these last words, in the order of the file."""
        return self._calls_named().written(words)

    def _calls_named(self) -> Calls:
        if self._calls_by_name is None:
            self._calls_by_name = Calls(self)
        return self._calls_by_name

    def class_named(self, name: str) -> Optional[ast.ClassDef]:
        """The class of this file that has a qualified name."""
        if self._classes_by_name is None:
            self._classes_by_name = {self.qualname(node): node for node in self.classes}
        return self._classes_by_name.get(name)

    def returns(self, function: FunctionNode) -> List[ast.Return]:
        """The ``return`` statements of a function's own body, in order."""
        return [s for s in self.statements(function) if isinstance(s, ast.Return)]

    def statements(self, owner: ast.AST) -> List[ast.stmt]:
        """All statements of a scope's own body, nested blocks included, nested scopes not."""
        if self._statements is None:
            self._statements = {}
            for statement, place in self.places.items():
                self._statements.setdefault(place.scope.node, []).append(statement)  # type: ignore[arg-type]
        return self._statements.get(owner, [])

    def reads(self, binding: Binding) -> List[ast.Name]:
        """The reads of a name that may see this binding."""
        if binding.name not in self._reads_by_binding:
            found: Dict[Binding, List[ast.Name]] = {}
            for read in self.reads_of(binding.name):
                for seen in dict.fromkeys(self.bindings(read)):
                    found.setdefault(seen, []).append(read)
            self._reads_by_binding[binding.name] = found
        return self._reads_by_binding[binding.name].get(binding, [])

    def _reads_by_name(self) -> Dict[str, List[ast.Name]]:
        if self._names_read is None:
            self._names_read = {}
            for chain in self.chains:
                base: ast.AST = chain
                while isinstance(base, ast.Attribute):
                    base = base.value
                if isinstance(base, ast.Name):
                    self._names_read.setdefault(base.id, []).append(base)
        return self._names_read

    def reads_of(self, name: str) -> List[ast.Name]:
        """Every read of a name in the file, whatever binds it."""
        return self._reads_by_name().get(name, [])

    def statement_bindings(self, statement: ast.AST) -> List[Binding]:
        """The bindings that a statement makes itself (not those of nested statements)."""
        return self._own.get(statement, [])

    def bindings_of(self, name: str) -> Sequence[Binding]:
        """Every binding of a name in the file, in whatever scope."""
        if self._bindings_by_name is None:
            self._bindings_by_name = {}
            for scope in self.all_scopes():
                for bound, bindings in scope.bindings.items():
                    self._bindings_by_name.setdefault(bound, []).extend(bindings)
        return self._bindings_by_name.get(name, ())

    def names_of(self, target: str) -> Sequence[str]:
        """The names of the module's own scope that may stand for a qualified name."""
        if self._names_by_target is None:
            self._names_by_target = {}
            for name, bindings in self.root.bindings.items():
                for found in {binding.target for binding in bindings if binding.target}:
                    self._names_by_target.setdefault(found, []).append(name)
        return self._names_by_target.get(target, ())

    def strings(self, values: Collection[str]) -> List[ast.expr]:
        """The strings of the file that are one of some values, in the order of the walk."""
        if self._strings is None:
            self._strings = {}
            for position, node in enumerate(self.string_nodes):
                self._strings.setdefault(literal(node), []).append(position)
        positions = (p for value in set(values) for p in self._strings.get(value, ()))
        return [self.string_nodes[position] for position in sorted(positions)]

    def release(self) -> None:
        """Break the circles of scopes and bindings, so that all goes as soon as it is let go."""
        for scope in self.all_scopes():
            scope.bindings.clear()


def exports(index: Index) -> Exports:
    """What the module of an index offers to the other files of the run."""
    names: Dict[str, Tuple[str, ...]] = {}
    for name, bindings in index.root.bindings.items():
        reaching = index.reaching(name, index.root, None)
        shared = [b for b in bindings if b.scope is not index.root]
        names[name] = tuple(
            dict.fromkeys(
                target
                for b in dict.fromkeys(reaching + shared)
                for target in _export(index, b, name)
            )
        )
    stars = tuple(module for scope, module in index.stars if scope is index.root)
    return Exports(names, stars)


def _export(index: Index, binding: Binding, name: str) -> List[str]:
    if binding.target:
        own = f"{index.module}.{name}"
        return ["." + name] if binding.target == own else [binding.target]
    value = element(binding.value, binding.path) if binding.value is not None else None
    if value is None or is_none(value):
        return [] if is_none(value) else [""]
    found = index.resolve(value)
    return sorted(found.names) + ([""] if found.unknown else [])
