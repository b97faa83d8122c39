"""The loss-scaling graph: how optimizers are made, wrapped and used in one file.

An optimizer is made by a call (``tf.train.AdamOptimizer(lr)``), wrapped by calls that take it as
their first argument (loss scaling, averaging over ranks), and used by ``compute_gradients``,
``apply_gradients`` or ``minimize``. Everything here follows values backwards, from a use to the
calls that may have made it.
"""

import ast
from dataclasses import dataclass, field
from typing import (
    Collection,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Union,
)

from npu_migrate.facts import ScalingFunction
from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import argument
from npu_migrate.names import FUNCTIONS, Binding, Index, dotted, method_name, parameters

Producer = Union[ast.expr, Binding]

APPLYING = ("apply_gradients", "minimize")
"""Methods of an optimizer that give a training op."""

COMPUTING = ("compute_gradients",)
"""Methods of an optimizer that give gradients."""


@dataclass(frozen=True)
class Origin:
    """The innermost optimizer that a use may rest on.

    ``name`` is the qualified name of its class or factory, empty where it can't be known.
    """

    name: str
    node: Optional[ast.AST] = None
    binding: Optional[Binding] = None
    """The parameter that hands the optimizer over."""


@dataclass(frozen=True)
class _Descent:
    """What lies between a value and the innermost optimizers that it may rest on."""

    calls: Dict[ast.Call, None] = field(default_factory=dict)
    others: Dict[Producer, None] = field(default_factory=dict)
    """What is no call: parameters, and what can't be known."""


class Optimizers:
    """The optimizers of one file."""

    def __init__(
        self,
        index: Index,
        functions: Optional[Mapping[str, ScalingFunction]] = None,
        to_scale: Collection[ast.Call] = (),
    ) -> None:
        self.index = index
        self._to_scale = to_scale
        """The calls that make optimizers to which loss scaling is added."""
        self._functions = functions or {}
        self._callers: Dict[str, List[ast.Call]] = {}
        self._producers: Dict[ast.expr, Sequence[Producer]] = {}
        self._descents: Dict[ast.expr, _Descent] = {}
        self._uses: Optional[Dict[Optional[ast.AST], List[ast.Call]]] = None
        """Region -> the uses in it; None for the whole file."""
        self._uses_by_layer: Optional[Dict[ast.Call, List[ast.Call]]] = None

    # Values -----------------------------------------------------------------------------------

    def producers(self, node: ast.expr) -> Sequence[Producer]:
        """The expressions that may have made a value, also through parameters of this file."""
        known = self._producers.get(node)
        if known is None:
            known = self._producers[node] = tuple(self._made_by(node))
        return known

    def _made_by(self, node: ast.expr) -> Iterable[Producer]:
        found: Dict[Producer, None] = {}
        pending: List[Producer] = list(self.index.producers(node))
        seen: Set[Producer] = set()
        while pending:
            producer = pending.pop(0)
            if producer in seen:
                continue
            seen.add(producer)
            handed = self.handed(producer) if isinstance(producer, Binding) else []
            if handed:
                for argument_value in handed:
                    pending += self.index.producers(argument_value)
            else:
                found[producer] = None
        return found

    def handed(self, binding: Binding) -> List[ast.expr]:
        """What the calls of this file hand over for a parameter."""
        function = binding.scope.node
        if not binding.parameter or not isinstance(function, FUNCTIONS):
            return []
        names = parameters(function)
        position = names.index(binding.name) if binding.name in names else -1
        found = []
        for call in self.callers(binding.scope.qualname):
            bound = self.index.is_method(function)
            value = argument(call, position - bound, binding.name)
            if value is not None:
                found.append(value)
        return found

    def callers(self, qualname: str) -> List[ast.Call]:
        """The calls in this file of a function, method or class of it."""
        known = self._callers.get(qualname)
        if known is None:
            made = qualname[: -len(".__init__")] if qualname.endswith(".__init__") else qualname
            words = frozenset(name.rpartition(".")[2] for name in (qualname, made))
            possible = self.index.possible_calls(frozenset(), words)
            known = [call for call in possible if qualname in self._called(call)]
            self._callers[qualname] = known
        return known

    def _called(self, call: ast.Call) -> Iterator[str]:
        function = self.index.function_called(call)
        if function is not None:
            yield self.index.qualname(function)
            return
        for name in self.index.resolve(call.func).names:
            yield name
            yield name + ".__init__"

    def scaling(self) -> List[ast.Call]:
        """The calls that make optimizers that scale the loss, or will."""
        known = self.index.possible_calls(vocabulary.SCALED.union(self._functions))
        scaling = [call for call in known if self.scales(call)]
        return list(dict.fromkeys([*self._to_scale, *scaling]))

    # The graph --------------------------------------------------------------------------------

    def is_wrap(self, node: object, names: Collection[str]) -> bool:
        """Whether a node is a call that wraps an optimizer in one of the named classes."""
        if not isinstance(node, ast.Call):
            return False
        return not self.index.resolve(node.func).names.isdisjoint(names)

    def inner(self, wrap: ast.Call) -> Optional[ast.expr]:
        """The optimizer that a wrapping call takes."""
        return argument(wrap, 0, "opt", "optimizer")

    def layers(self, node: ast.expr) -> List[ast.Call]:
        """Every wrapping call that a value may have gone through, outermost first."""
        return [call for call in self._descent(node).calls if self._wraps(call)]

    def _wraps(self, call: ast.Call) -> bool:
        known = self.is_wrap(call, vocabulary.SCALED | vocabulary.DISTRIBUTED)
        return known or self.may_distribute(call) or self._function(call) is not None

    def _passes(self, call: ast.Call) -> bool:
        """Whether a call wraps an optimizer in one that hands the step on to it."""
        return self.is_wrap(call, vocabulary.CROSS_SHARD)

    def _function(self, call: ast.Call) -> Optional[ScalingFunction]:
        """The function of another file that a call gets a loss-scaling optimizer from."""
        return self._functions.get(self.index.resolve(call.func).sole)

    def may_distribute(self, call: ast.Call) -> bool:
        """Whether a call looks like Horovod's wrap, though its receiver can't be resolved."""
        return (
            method_name(call) == "DistributedOptimizer" and not self.index.resolve(call.func).names
        )

    def _descent(self, node: ast.expr) -> "_Descent":
        known = self._descents.get(node)
        if known is None:
            known = self._descents[node] = _Descent()
            self._descend(node, known)
        return known

    def _descend(self, node: ast.expr, descent: "_Descent") -> None:
        for producer in self.producers(node):
            if not isinstance(producer, ast.Call):
                descent.others[producer] = None
                continue
            if producer in descent.calls:
                continue
            descent.calls[producer] = None
            for inner in self._inside(producer):
                self._descend(inner, descent)

    def _inside(self, call: ast.Call) -> List[ast.expr]:
        """The optimizers that a call may wrap: ours, and those of a class of the user's own."""
        function = self._function(call)
        if function is not None:
            given = [argument(call, position, name) for position, name in function.passed]
        else:
            given = [self.inner(call)] if self._wraps(call) or self._passes(call) else []
        return [value for value in given if value is not None]

    def scalings(self, node: ast.expr) -> List[ast.Call]:
        """The loss-scaling wraps that a value may have gone through, or will have."""
        return [call for call in self._descent(node).calls if self.scales(call)]

    def scales(self, call: ast.Call) -> bool:
        """Whether a call makes an optimizer that scales the loss, or will."""
        return (
            call in self._to_scale
            or self.is_wrap(call, vocabulary.SCALED)
            or self._function(call) is not None
        )

    def always_scaled(self, node: ast.expr, around: FrozenSet[Producer] = frozenset()) -> bool:
        """Whether a value has gone through loss scaling on every path.

        ``around`` are wraps that were gone through already: in a loop one may lead to itself.
        """
        producers = [producer for producer in self.producers(node) if producer not in around]
        return bool(producers) and all(self._is_scaled(p, around) for p in producers)

    def _is_scaled(self, producer: Producer, around: FrozenSet[Producer]) -> bool:
        if not isinstance(producer, ast.Call):
            return False
        if self.scales(producer):
            return True
        inside = self._inside(producer)
        return any(self.always_scaled(inner, around | {producer}) for inner in inside)

    def distributions(self, node: ast.expr) -> List[ast.Call]:
        """The distributed wraps that a value may have gone through."""
        return [
            c
            for c in self.layers(node)
            if self.is_wrap(c, vocabulary.DISTRIBUTED) or self.may_distribute(c)
        ]

    def origins(self, node: ast.expr) -> List[Origin]:
        """The innermost optimizers that a value may rest on."""
        descent = self._descent(node)
        found = [
            Origin("", binding=o) if isinstance(o, Binding) else Origin("", o)
            for o in descent.others
        ]
        for call in descent.calls:
            function = self._function(call)
            if function is not None:
                found += [Origin(name, call) for name in function.origins]
            elif not self._wraps(call) and not self._passes(call):
                names = self.index.resolve(call.func).names
                found += [Origin(name, call) for name in sorted(names)] or [Origin("", call)]
        return found

    def uses(self, owner: Optional[ast.AST] = None) -> Sequence[ast.Call]:
        """The calls ``x.apply_gradients(...)`` and ``x.minimize(...)`` in a region of the file."""
        if self._uses is None:
            self._uses = {None: []}
            for call in self.index.calls_written(APPLYING):
                if isinstance(call.func, ast.Attribute) and not self.is_super(call.func.value):
                    self._uses[None].append(call)
                    self._uses.setdefault(self.index.region(call), []).append(call)
        return self._uses.get(owner, [])

    def uses_of(self, wrap: ast.Call) -> List[ast.Call]:
        """The uses of an optimizer that a wrapping call may have made."""
        if self._uses_by_layer is None:
            self._uses_by_layer = {}
            for use in self.uses():
                for layer in self.layers(self.receiver(use)):
                    self._uses_by_layer.setdefault(layer, []).append(use)
        return self._uses_by_layer.get(wrap, [])

    def averaged_by_hand(self, uses: Sequence[ast.Call]) -> bool:
        """Whether gradients are reduced over ranks on their way to some of the uses."""
        for use in uses:
            gradients = argument(use, 0, "grads_and_vars")
            if gradients is None or method_name(use) != "apply_gradients":
                continue
            found = self.derives_from(gradients, vocabulary.ALLREDUCES, COMPUTING)
            if any(self.is_wrap(call, vocabulary.ALLREDUCES) for call in found):
                return True
        return False

    def is_super(self, node: ast.expr) -> bool:
        """Whether a receiver is ``super(...)``."""
        return isinstance(node, ast.Call) and dotted(node.func) == "super"

    def receiver(self, use: ast.Call) -> ast.expr:
        """The optimizer whose method a use calls."""
        assert isinstance(use.func, ast.Attribute)
        return use.func.value

    def derives_from(
        self, node: ast.expr, names: Collection[str], methods: Collection[str] = ()
    ) -> List[ast.Call]:
        """The calls of named functions or methods that a value is computed from."""
        found: Dict[ast.Call, None] = {}
        seen: Set[object] = set()
        pending: List[ast.expr] = [node]
        while pending:
            current = pending.pop()
            if current in seen:
                continue
            seen.add(current)
            for inner in _walk_to(current, found):
                if isinstance(inner, ast.Call):
                    if self.is_wrap(inner, names) or method_name(inner) in methods:
                        found[inner] = None
                if isinstance(inner, (ast.Name, ast.Attribute)):
                    pending += self._sources(inner)
                if isinstance(inner, ast.Call):
                    function = self.index.function_called(inner)
                    returns = self.index.returns(function) if function is not None else []
                    pending += [r.value for r in returns if r.value is not None]
        return sorted(found, key=lambda call: (call.lineno, call.col_offset))

    def _sources(self, name: ast.expr) -> List[ast.expr]:
        if name not in self.index.parents or not isinstance(name.ctx, ast.Load):  # type: ignore[attr-defined]
            return []
        if isinstance(name, ast.Name):
            bindings = self.index.bindings(name)
        else:
            bindings = self.index.self_attribute(name) or []
        found = []
        for binding in bindings:
            if binding.value is not None:
                found.append(binding.value)
            if binding.augmented and binding.statement is not None:
                earlier = self.index.bindings_at(binding.name, binding.statement)
                found += [b.value for b in earlier if b.value is not None]
        return found


def _walk_to(node: ast.AST, found: Mapping[ast.Call, None]) -> Iterator[ast.AST]:
    """``ast.walk``, but for what those calls are given that are found on the way."""
    pending = [node]
    while pending:
        current = pending.pop(0)
        yield current
        if current not in found:
            pending += ast.iter_child_nodes(current)
