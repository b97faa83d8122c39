"""Resolves the names of one file: which qualified name a dotted expression stands for.

One walk over an ``ast`` module builds an :class:`Index` of scopes, bindings and places; everything
else asks that index. A name resolves to a *set* of qualified names, since a script may bind it in
several ways. Nothing here knows TensorFlow, and nothing is imported or run.

Qualified names of the run's own modules begin with ``:`` (``:models.lamb.Lamb``), so that a user's
file called ``tensorflow.py`` is never taken for the real one.
"""

import ast
import builtins
from dataclasses import dataclass, field
from typing import (
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
    cast,
)

FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef]
ImportNode = Union[ast.Import, ast.ImportFrom]

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
WITHS = (ast.With, ast.AsyncWith)
TRIES: Tuple[type, ...] = (ast.Try,) + ((ast.TryStar,) if hasattr(ast, "TryStar") else ())
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
BUILTINS = frozenset(dir(builtins))


class Resolution(NamedTuple):
    """What a dotted expression stands for.

    ``unknown`` says that it may also be something else; ``assumed`` that ``names`` were taken by
    convention (a parameter called ``hvd``) and not from a binding.
    """

    names: FrozenSet[str]
    unknown: bool = False
    assumed: bool = False

    @property
    def sole(self) -> str:
        """The one qualified name, or an empty string."""
        return next(iter(self.names)) if len(self.names) == 1 else ""


UNKNOWN = Resolution(frozenset(), unknown=True)
NOTHING = Resolution(frozenset())


@dataclass(frozen=True, eq=False)
class Binding:
    """One place where a name gets a value.

    ``target`` is a qualified name (imports, ``def`` and ``class``), ``value`` an expression whose
    element ``path`` is bound. Both empty: the value can't be known (a parameter, a loop variable).
    """

    name: str
    scope: "Scope"
    statement: Optional[ast.stmt]
    target: str = ""
    value: Optional[ast.expr] = None
    path: Tuple[int, ...] = ()
    alias: Optional[ast.alias] = None
    parameter: bool = False
    augmented: bool = False
    iterates: bool = False
    """The name takes the elements of ``value`` one after the other."""
    definition: Optional[ast.stmt] = None


@dataclass(eq=False)
class Scope:
    """A module, class, function, lambda or comprehension with the names that it binds."""

    node: ast.AST
    parent: Optional["Scope"]
    qualname: str
    bindings: Dict[str, List[Binding]] = field(default_factory=dict)
    shared: Dict[str, "Scope"] = field(default_factory=dict)
    """Names declared ``global`` or ``nonlocal`` here, with the scope that owns them."""

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    @property
    def is_function(self) -> bool:
        return isinstance(self.node, FUNCTIONS)

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


@dataclass(frozen=True)
class Exports:
    """What a module of the run offers to the others, small enough to outlive its tree."""

    names: Mapping[str, Tuple[str, ...]]
    """Name -> qualified names; one that starts with ``.`` is relative to the module itself."""
    stars: Tuple[str, ...] = ()
    takes: FrozenSet[str] = frozenset()
    """Qualified names that this module imports from others."""
    modules: FrozenSet[str] = frozenset()
    """Qualified names of the modules that this one imports."""


Importer = Callable[[str, int], str]
"""``(dotted module, level) -> qualified name`` of an import, for one importing file."""


def dotted(node: ast.AST) -> str:
    """``a.b.c`` for a chain of attributes on a name, an empty string for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def is_none(node: Optional[ast.AST]) -> bool:
    """Whether the node is the literal ``None``."""
    return type(node).__name__ in ("Constant", "NameConstant") and node.value is None  # type: ignore[union-attr]


def literal(node: Optional[ast.AST]) -> object:
    """The value of a literal number, string, ``True``... (``None`` for anything else)."""
    attribute = _LITERALS.get(type(node).__name__)
    return getattr(node, attribute) if attribute else None


_LITERALS = {"Constant": "value", "Num": "n", "Str": "s", "Bytes": "s", "NameConstant": "value"}
"""Literal nodes; Python 3.7 has one class for each kind."""


class Project:
    """What is known across the files of one run; an index of one file asks it."""

    def __init__(self, exports: Optional[Mapping[str, Exports]] = None) -> None:
        self.exports = dict(exports or {})
        self.parameters: Dict[Tuple[str, str], Resolution] = {}
        """(function, parameter) -> what calls in the run hand over."""

    def lookup(self, name: str, seen: FrozenSet[str] = frozenset()) -> Resolution:
        """Follow a qualified name of the run (``:pkg.mod.name``) through re-exports."""
        if not name.startswith(":") or name in seen:
            return Resolution(frozenset((name,)))
        module, _, rest = self._split(name)
        if not module or not rest:
            return Resolution(frozenset((name,)))
        exported, _, attributes = rest.partition(".")
        targets = self._targets(module, exported, seen | {name})
        if targets is None:
            return Resolution(frozenset((name,)))
        suffix = "." + attributes if attributes else ""
        found: Set[str] = set()
        unknown = False
        for target in targets:
            if not target:
                unknown = True
                continue
            full = target + suffix
            if full == name:
                found.add(name)
                continue
            further = self.lookup(full, seen | {name})
            found |= further.names
            unknown = unknown or further.unknown
        return Resolution(frozenset(found), unknown)

    def _targets(self, module: str, name: str, seen: FrozenSet[str]) -> Optional[List[str]]:
        exports = self.exports[module]
        if name in exports.names:
            return [self._absolute(module, target) for target in exports.names[name]]
        for star in exports.stars:
            if star in self.exports and f"{star}.{name}" not in seen:
                targets = self._targets(star, name, seen | {f"{star}.{name}"})
                if targets is not None:
                    return targets
            elif star and not star.startswith(":"):
                return [f"{star}.{name}"]
        return None

    def _absolute(self, module: str, target: str) -> str:
        if not target.startswith("."):
            return target
        root, _, rest = target[1:].partition(".")
        if root not in self.exports[module].names:
            return ""
        if rest == "" or self.exports[module].names[root] == (target,):
            return f"{module}.{target[1:]}"
        resolved = self.lookup(f"{module}.{root}", frozenset((f"{module}{target}",))).sole
        return f"{resolved}.{rest}" if resolved else ""

    def _split(self, name: str) -> Tuple[str, str, str]:
        module = name
        while module:
            if module in self.exports:
                return module, ".", name[len(module) + 1 :]
            module = module.rpartition(".")[0]
        return "", "", name

    def module_of(self, name: str) -> str:
        """The run's module that holds a qualified name, or an empty string."""
        return self._split(name)[0] if name.startswith(":") else ""


class Index:
    """Scopes, bindings, places and parents of one file, and the resolution of its names."""

    def __init__(
        self,
        tree: ast.Module,
        module: str,
        importer: Importer,
        canonical: Callable[[str], str] = str,
    ) -> None:
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
        self._stars: List[Tuple[Scope, str]] = []
        self._cache: Dict[ast.AST, Resolution] = {}
        self._scope_of: Dict[ast.AST, Scope] = {}
        self.root = Scope(tree, None, module)
        _Walk(self, importer).run()

    def attach(self, project: Project, convention: Callable[[str], Resolution]) -> None:
        """Let names resolve across the files of a run, and parameters by convention."""
        self.project = project
        self.convention = convention
        self._cache.clear()

    # Where things stand -----------------------------------------------------------------------

    def scope(self, node: ast.AST) -> Scope:
        """The scope in which an expression or statement is evaluated."""
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

    def enclosing_class(self, node: ast.AST) -> Optional[ast.ClassDef]:
        """The innermost class around a node."""
        for ancestor in self.ancestors(node):
            if isinstance(ancestor, ast.ClassDef):
                return ancestor
        return None

    def inside(self, node: ast.AST, outer: ast.AST) -> bool:
        """Whether ``node`` is ``outer`` or lies in it."""
        return node is outer or any(ancestor is outer for ancestor in self.ancestors(node))

    def stands_alone(self, statement: ast.stmt) -> bool:
        """Whether a statement has its line to itself: no ``;`` beside it, no one-line suite."""
        place = self.places[statement]
        neighbours = place.block[max(place.position - 1, 0) : place.position + 2]
        shared = any(s is not statement and s.lineno == statement.lineno for s in neighbours)
        return not shared and getattr(place.parent, "lineno", 0) != statement.lineno

    # Bindings that reach a use ----------------------------------------------------------------

    def bindings(self, name: ast.Name) -> List[Binding]:
        """The bindings whose value a read of ``name`` may see (empty: builtin or unbound)."""
        return self.bindings_at(name.id, name)

    def bindings_at(self, name: str, node: ast.AST) -> List[Binding]:
        """The bindings of ``name`` that reach the place of ``node``."""
        scope: Optional[Scope] = self.scope(node)
        place: Optional[ast.AST] = node
        first = True
        while scope is not None:
            owner = scope.shared.get(name)
            if owner is not None:
                return owner.bindings.get(name, [])
            if name in scope.bindings and (first or not scope.is_class):
                return self._reaching(name, scope, place)
            first = first and not isinstance(scope.node, FUNCTIONS + (ast.ClassDef,))
            if isinstance(scope.node, FUNCTIONS):
                place = None
            scope = scope.parent
        return []

    def _reaching(self, name: str, scope: Scope, node: Optional[ast.AST]) -> List[Binding]:
        every = scope.bindings[name]
        sole = every[0] if len(every) == 1 else None
        if sole is not None and (sole.target or sole.parameter or sole.scope is not scope):
            return every
        if isinstance(scope.node, COMPREHENSIONS + (ast.Lambda,)):
            return every
        body = getattr(scope.node, "body", None)
        if not isinstance(body, list):
            return every
        if node is not None:
            statement: Optional[ast.AST] = self.statement(node)
            while statement is not None and (
                statement not in self.places or self.places[statement].scope is not scope
            ):
                statement = self.parents.get(statement)
            if statement is not None:
                return self._before(name, statement, node)
        found, definite = self._block(body, name, True)
        return (found if definite else found + self._parameters(scope, name)) or every

    def may_be_unbound(self, node: ast.Name) -> bool:
        """Whether some path to a read of a local name binds it nowhere."""
        scope = self.scope(node)
        if node.id not in scope.bindings or node.id in scope.shared:
            return False
        if self._parameters(scope, node.id):
            return False
        statement: ast.AST = self.statement(node)
        while True:
            block, position, parent, _ = self.places[statement]
            for earlier in reversed(block[:position]):
                if self._made_by(earlier, node.id)[1]:
                    return False
            if (
                parent is None
                or parent not in self.places
                or self.places[parent].scope is not scope
            ):
                return True
            if self._own_bindings(parent, node.id):
                return False
            statement = parent

    def _parameters(self, scope: Scope, name: str) -> List[Binding]:
        return [b for b in scope.bindings.get(name, ()) if b.parameter]

    def _before(self, name: str, statement: ast.AST, node: ast.AST) -> List[Binding]:
        """What a read in ``statement`` sees: scan backwards, then outwards."""
        found: List[Binding] = []
        if isinstance(statement, LOOPS) and not self._is_header_iterable(statement, node):
            found += self._own_bindings(statement, name)
        while True:
            block, position, parent, scope = self.places[statement]
            for earlier in reversed(block[:position]):
                bindings, definite = self._made_by(earlier, name)
                found += bindings
                if definite:
                    return _unique(found)
            if parent is None or parent not in self.places:
                holder = self._holder(parent)
                if holder is None:
                    return _unique(found + self._parameters(scope, name))
                handler, statement = parent, holder
                if isinstance(handler, ast.ExceptHandler) and handler.name == name:
                    return _unique(found)
                if isinstance(handler, ast.ExceptHandler):
                    found += self._block(statement.body, name)[0]  # type: ignore[attr-defined]
                found += self._own_bindings(statement, name)
                continue
            found, done = self._leave(found, parent, block, name)
            if done:
                return _unique(found)
            statement = parent

    def _holder(self, parent: Optional[ast.AST]) -> Optional[ast.AST]:
        """The ``try`` or ``match`` of an except handler or case, whose block we are leaving."""
        if parent is None or isinstance(parent, ast.Module):
            return None
        return self.parents.get(parent)

    def _leave(
        self, found: List[Binding], parent: ast.AST, block: Sequence[ast.stmt], name: str
    ) -> Tuple[List[Binding], bool]:
        """Go from the start of a block to the statement that holds it."""
        if isinstance(parent, FUNCTIONS + (ast.ClassDef,)):
            return found + self._parameters(self.scopes[parent], name), True
        own = self._own_bindings(parent, name)
        if isinstance(parent, LOOPS):
            if block is parent.body:
                found = found + self._block(parent.body, name)[0]
                return found + own, bool(own)
            return found + own + self._block(parent.body, name)[0], False
        if isinstance(parent, WITHS):
            return found + own, bool(own)
        if isinstance(parent, TRIES) and block is not parent.body:  # type: ignore[attr-defined]
            bindings, definite = self._block(parent.body, name)  # type: ignore[attr-defined]
            after_body = block is parent.orelse  # type: ignore[attr-defined]
            if not after_body:
                for handler in parent.handlers:  # type: ignore[attr-defined]
                    bindings = bindings + self._block(handler.body, name)[0]
            return found + bindings, definite and after_body
        return found + own, False

    def _is_header_iterable(self, loop: ast.AST, node: ast.AST) -> bool:
        iterable = getattr(loop, "iter", None)
        return iterable is not None and self.inside(node, iterable)

    def _own_bindings(self, statement: ast.AST, name: str) -> List[Binding]:
        return [b for b in self._own.get(statement, ()) if b.name == name]

    def _made_by(
        self, statement: ast.stmt, name: str, lenient: bool = False
    ) -> Tuple[List[Binding], bool]:
        """The bindings of ``name`` that running ``statement`` leaves, and whether it always does.

        ``lenient`` takes arms that end in ``return`` as falling through, which is what a nested
        function that is called before the return sees.
        """
        if name not in self._bound.get(statement, ()):
            return [], False
        own = self._own_bindings(statement, name)
        if isinstance(statement, ast.If):
            arms = [self._block(statement.body, name, lenient)]
            leaves = [_leaves(statement.body), _leaves(statement.orelse)]
            arms.append(self._block(statement.orelse, name, lenient))
            kept = [arm for arm, gone in zip(arms, leaves) if lenient or not gone]
            found = [binding for arm in kept for binding in arm[0]]
            definite = bool(kept) and all(arm[1] for arm in kept)
            return found + own, definite or bool(own)
        if isinstance(statement, LOOPS):
            body, _ = self._block(statement.body, name, lenient)
            return own + body + self._block(statement.orelse, name, lenient)[0], False
        if isinstance(statement, WITHS):
            body, definite = self._block(statement.body, name, lenient)
            return (body, True) if definite else (own + body, bool(own))
        if isinstance(statement, TRIES):
            return self._made_by_try(cast(ast.Try, statement), name, lenient)
        if hasattr(statement, "cases"):
            found = list(own)
            for case in statement.cases:
                found += self._block(case.body, name, lenient)[0]
            return found, False
        return own, bool(own)

    def _made_by_try(
        self, statement: ast.Try, name: str, lenient: bool
    ) -> Tuple[List[Binding], bool]:
        final, definite = self._block(statement.finalbody, name, lenient)
        if definite:
            return final, True
        body, in_body = self._block([*statement.body, *statement.orelse], name, lenient)
        found, definite = final + body, in_body
        for handler in statement.handlers:
            arm, in_arm = self._block(handler.body, name, lenient)
            if lenient or not _leaves(handler.body):
                found, definite = found + arm, definite and in_arm
        return found, definite

    def _block(
        self, block: Sequence[ast.stmt], name: str, lenient: bool = False
    ) -> Tuple[List[Binding], bool]:
        found: List[Binding] = []
        for statement in reversed(block):
            bindings, definite = self._made_by(statement, name, lenient)
            found += bindings
            if definite:
                return found, True
        return found, False

    # Qualified names --------------------------------------------------------------------------

    def resolve(self, node: ast.expr) -> Resolution:
        """The qualified names that an expression may stand for."""
        cached = self._cache.get(node)
        if cached is None:
            found = self._resolve(node, frozenset())
            names = frozenset(map(self.canonical, found.names))
            cached = self._cache[node] = Resolution(names, found.unknown, found.assumed)
        return cached

    def _resolve(self, node: Optional[ast.expr], seen: FrozenSet[object]) -> Resolution:
        if node in seen or node is None:
            return UNKNOWN
        seen = seen | {node}
        if isinstance(node, ast.Name):
            return self._resolve_name(node, seen)
        if isinstance(node, ast.Attribute):
            return self._resolve_attribute(node, seen)
        if isinstance(node, ast.IfExp):
            return _union([self._resolve(node.body, seen), self._resolve(node.orelse, seen)])
        if isinstance(node, ast.BoolOp):
            return _union([self._resolve(value, seen) for value in node.values])
        if hasattr(ast, "NamedExpr") and isinstance(node, ast.NamedExpr):
            return self._resolve(node.value, seen)
        return NOTHING if is_none(node) else UNKNOWN

    def _resolve_name(self, node: ast.Name, seen: FrozenSet[object]) -> Resolution:
        bindings = self.bindings(node)
        if bindings:
            return _union([self._resolve_binding(binding, seen) for binding in bindings])
        stars = [module for scope, module in self._stars if module]
        offers = [s for s in stars if s.startswith(":")]
        for star in reversed(offers):
            found = self.project.lookup(f"{star}.{node.id}")
            if found.names != {f"{star}.{node.id}"} or self._exported(star, node.id):
                return found
        if node.id in BUILTINS:
            return Resolution(frozenset(("builtins." + node.id,)))
        outside = [s for s in stars if not s.startswith(":")]
        if outside:
            return Resolution(frozenset(f"{s}.{node.id}" for s in outside), unknown=True)
        return UNKNOWN

    def _exported(self, module: str, name: str) -> bool:
        exports = self.project.exports.get(module)
        return exports is not None and name in exports.names

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
            return _union(results) if own else _union(results)
        base = self._resolve(node.value, seen)
        if not base.names:
            return UNKNOWN
        found = [self.project.lookup(f"{name}.{node.attr}") for name in base.names]
        joined = _union(found)
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
        parent = self.parents.get(function)
        if not isinstance(function, FUNCTIONS) or not isinstance(parent, ast.ClassDef):
            return None
        arguments = _positional(function.args)
        return parent if arguments and arguments[0].arg == name.id else None

    def qualname(self, node: ast.AST) -> str:
        """The qualified name of a class or function of this file."""
        return self.scopes[node].qualname

    # Values -----------------------------------------------------------------------------------

    def producers(self, node: ast.expr) -> List[Union[ast.expr, Binding]]:
        """The expressions whose value ``node`` may have, and parameters where the trail ends.

        Follows names, attributes of ``self``, conditional expressions and the returns of functions
        of this file.
        """
        found: Dict[object, None] = {}
        self._produce(node, (), found, set())
        return list(found)  # type: ignore[arg-type]

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
        if isinstance(call.func, ast.Name):
            definitions = [b.definition for b in self.bindings(call.func)]
        elif isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            owner = self.class_of_self(call.func.value)
            scope = self.scopes.get(owner) if owner is not None else None
            bindings = scope.bindings.get(call.func.attr, []) if scope is not None else []
            definitions = [b.definition for b in bindings]
        else:
            return None
        if len(definitions) == 1 and isinstance(definitions[0], FUNCTIONS):
            return definitions[0]
        return None

    def returns(self, function: FunctionNode) -> List[ast.Return]:
        """The ``return`` statements of a function's own body, in order."""
        return [s for s in self.statements(function) if isinstance(s, ast.Return)]

    def statements(self, owner: ast.AST) -> List[ast.stmt]:
        """All statements of a scope's own body, nested blocks included, nested scopes not."""
        scope = self.root if owner is self.tree else self.scopes[owner]
        return [s for s, p in self.places.items() if p.scope is scope]  # type: ignore[misc]

    def reads(self, binding: Binding) -> List[ast.Name]:
        """The reads of a name that may see this binding."""
        return [
            chain
            for chain in self._reads_by_name().get(binding.name, ())
            if binding in self.bindings(chain)
        ]

    def _reads_by_name(self) -> Dict[str, List[ast.Name]]:
        cached: Optional[Dict[str, List[ast.Name]]] = self.__dict__.get("_names_read")
        if cached is None:
            cached = {}
            for chain in self.chains:
                base: ast.AST = chain
                while isinstance(base, ast.Attribute):
                    base = base.value
                if isinstance(base, ast.Name):
                    cached.setdefault(base.id, []).append(base)
            self.__dict__["_names_read"] = cached
        return cached

    def reads_of(self, name: str) -> List[ast.Name]:
        """Every read of a name in the file, whatever binds it."""
        return self._reads_by_name().get(name, [])

    def statement_bindings(self, statement: ast.AST) -> List[Binding]:
        """The bindings that a statement makes itself (not those of nested statements)."""
        return self._own.get(statement, [])

    def all_scopes(self) -> List[Scope]:
        """Every scope of the file, lambdas and comprehensions included."""
        return [self.root, *self._scope_of.values()]


def element(node: ast.expr, path: Tuple[int, ...]) -> Optional[ast.expr]:
    """The part of a tuple or list display at ``path``; ``None`` where it is no display."""
    for position in path:
        if not isinstance(node, (ast.Tuple, ast.List)) or position >= len(node.elts):
            return None
        if any(isinstance(item, ast.Starred) for item in node.elts):
            return None
        node = node.elts[position]
    return node


def exports(index: Index) -> Exports:
    """What the module of an index offers to the other files of the run."""
    names: Dict[str, Tuple[str, ...]] = {}
    for name, bindings in index.root.bindings.items():
        reaching = index._reaching(name, index.root, None)
        shared = [b for b in bindings if b.scope is not index.root]
        names[name] = tuple(
            dict.fromkeys(
                target for b in _unique(reaching + shared) for target in _export(index, b, name)
            )
        )
    takes = {
        b.target
        for scope in [index.root, *index.scopes.values()]
        for bindings in scope.bindings.values()
        for b in bindings
        if b.target.startswith(":") and b.alias is not None
    }
    stars = tuple(module for scope, module in index._stars if scope is index.root)
    modules = set(takes) | {t.rpartition(".")[0] for t in takes} | set(stars)
    return Exports(names, stars, frozenset(takes), frozenset(modules))


def _export(index: Index, binding: Binding, name: str) -> List[str]:
    if binding.target:
        own = f"{index.module}.{name}"
        return ["." + name] if binding.target == own else [binding.target]
    value = element(binding.value, binding.path) if binding.value is not None else None
    if value is None or is_none(value):
        return [] if is_none(value) else [""]
    found = index.resolve(value)
    return sorted(found.names) + ([""] if found.unknown else [])


def _positional(arguments: ast.arguments) -> List[ast.arg]:
    return list(getattr(arguments, "posonlyargs", [])) + list(arguments.args)


def parameters(function: ast.AST) -> List[str]:
    """The names of a function's positional parameters, in order."""
    return [argument.arg for argument in _positional(function.args)]  # type: ignore[attr-defined]


def _leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether a block never falls through to what follows it."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _leaves(last.body) and _leaves(last.orelse)
    if isinstance(last, WITHS):
        return _leaves(last.body)
    return isinstance(last, LEAVES)


def _unique(bindings: Iterable[Binding]) -> List[Binding]:
    return list(dict.fromkeys(bindings))


def _union(results: Sequence[Resolution]) -> Resolution:
    if len(results) == 1:
        return results[0]
    names: FrozenSet[str] = frozenset().union(*(result.names for result in results))
    unknown = any(result.unknown for result in results)
    return Resolution(names, unknown, any(result.assumed for result in results))


class _Walk:
    """The one walk over a file: fills an index."""

    def __init__(self, index: Index, importer: Importer) -> None:
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
        scope = binding.scope.shared.get(binding.name, binding.scope)
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
                self.index._stars.append((scope, module))
                continue
            name = alias.asname or alias.name
            target = f"{module}.{alias.name}"
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
        everything = _positional(arguments) + list(arguments.kwonlyargs)
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
            values = [b for b in bindings if b.value is not None]
            if values:
                index.attributes.setdefault((node, name), []).extend(values)

    # Expressions ------------------------------------------------------------------------------

    def _expression(
        self, node: ast.expr, parent: ast.AST, statement: ast.stmt, scope: Scope
    ) -> None:
        index = self.index
        index.parents[node] = parent
        if isinstance(node, (ast.Name, ast.Attribute)):
            if isinstance(node.ctx, ast.Load):
                index.chains.append(node)
            while isinstance(node, ast.Attribute):
                index.parents[node.value] = node
                node = node.value
            if not isinstance(node, ast.Name):
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
    every = _positional(node.args) + list(node.args.kwonlyargs)
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
