"""The functions that a file hands to datasets: they run on the host, in a graph of their own."""

import ast
from typing import Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from npu_migrate.migrations.context import argument
from npu_migrate.migrations.optimizers import Optimizers, Producer
from npu_migrate.migrations.replacements.datasets import DATASETS, METHODS, TAKE_FUNCTIONS
from npu_migrate.migrations.unsupported.host import Function, functions_of
from npu_migrate.names import (
    FUNCTIONS,
    Binding,
    Index,
    arguments_of,
    dotted,
    parameters,
)


class Mapped(NamedTuple):
    """A function that runs in the input pipeline, and the call that hands it to the dataset."""

    call: ast.Call
    function: Function


class Pipelines:
    """The input pipelines of one file."""

    def __init__(self, index: Index, optimizers: Optimizers) -> None:
        self.index = index
        self._optimizers = optimizers
        self._partials: Dict[ast.AST, List[ast.Call]] = {}
        self._roots_of: Dict[Producer, Dict[Producer, str]] = {}
        self._called_in: Dict[Function, List[Function]] = {}
        self.mapped: List[Mapped] = [
            Mapped(call, function)
            for call in index.calls
            for value in self._handed_over(call)
            for function in self._with_called(self._functions(value))
        ]

    def values(self, node: ast.expr) -> List[Producer]:
        """What may have made a value, also where ``functools.partial`` hands it over."""
        found: List[Producer] = []
        for producer in self._optimizers.producers(node):
            bound = self._bound(producer) if isinstance(producer, Binding) else []
            for value in bound:
                found += self._optimizers.producers(value)
            if not bound:
                found.append(producer)
        return found

    def makes_dataset(self, call: ast.Call) -> bool:
        """Whether a call makes a dataset, or another of one, as far as names tell."""
        roots = self._roots(call)
        return any(map(self._is_maker, roots)) or (
            bool(roots) and all(self._is_called_dataset(*root) for root in roots.items())
        )

    def is_assumed(self, call: ast.Call) -> bool:
        """Whether a dataset is one only by what it is called."""
        return not all(map(self._is_maker, self._roots(call)))

    def _is_maker(self, root: Producer) -> bool:
        return isinstance(root, ast.Call) and any(
            name.startswith(DATASETS) for name in self.index.resolve(root.func).names
        )

    def _is_called_dataset(self, root: Producer, name: str) -> bool:
        """The convention for what comes from elsewhere, and not from a library that is known."""
        if isinstance(root, ast.Call):
            makers = self.index.resolve(root.func).names
            if any(not maker.startswith(":") for maker in makers):
                return False
        last = name.rpartition(".")[2].lower()
        return last in ("ds", "d") or "dataset" in last

    def _roots(self, call: ast.Call) -> Dict[Producer, str]:
        """What the chains of methods begin with that a call may end, and what it is called."""
        if call not in self._roots_of:
            self._roots_of[call] = self._followed(call)
        return self._roots_of[call]

    def _followed(self, call: ast.Call) -> Dict[Producer, str]:
        """The same, followed back to calls whose roots are known."""
        found: Dict[Producer, str] = {}
        pending: List[Tuple[Producer, str]] = [(call, "")]
        seen: Set[Producer] = set()
        while pending:
            producer, name = pending.pop(0)
            if producer in seen:
                continue
            seen.add(producer)
            receiver = self._receiver(producer)
            if producer in self._roots_of and receiver is not None:
                for root, called in self._roots_of[producer].items():
                    found.setdefault(root, called)
            elif receiver is None:
                found.setdefault(producer, name)
            else:
                called = dotted(receiver)
                pending += [(p, called) for p in self._optimizers.producers(receiver)]
        return found

    def _receiver(self, producer: Producer) -> Optional[ast.expr]:
        """The dataset that a method makes another one of."""
        function = producer.func if isinstance(producer, ast.Call) else None
        if not isinstance(function, ast.Attribute) or function.attr not in METHODS:
            return None
        return None if self.index.resolve(function).names else function.value

    def _handed_over(self, call: ast.Call) -> List[ast.expr]:
        """The arguments of a call that the dataset may run."""
        takes = isinstance(call.func, ast.Attribute) and call.func.attr in TAKE_FUNCTIONS
        if takes and self.makes_dataset(call):
            return arguments_of(call)
        names = self.index.resolve(call.func).names
        if any(name.startswith(DATASETS) for name in names):
            return arguments_of(call)
        return []

    def _functions(self, value: ast.expr) -> List[Function]:
        """The functions that a value may be; what ``functools.partial`` gives them is noted."""
        found: List[Function] = []
        for function, partials in functions_of(self.index, value):
            self._partials.setdefault(function, []).extend(partials)
            found.append(function)
        return found

    def _with_called(self, functions: List[Function]) -> Iterator[Function]:
        """The functions, and those of this file that they call."""
        pending = list(functions)
        seen: Set[Function] = set()
        while pending:
            function = pending.pop(0)
            if function in seen:
                continue
            seen.add(function)
            yield function
            pending += self._called(function)

    def _called(self, function: Function) -> List[Function]:
        if function not in self._called_in:
            calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            called = [self.index.function_called(call) for call in calls]
            self._called_in[function] = [one for one in called if one is not None]
        return self._called_in[function]

    def _bound(self, binding: Binding) -> List[ast.expr]:
        """What ``functools.partial`` gives a parameter."""
        function = binding.scope.node
        if not binding.parameter or not isinstance(function, FUNCTIONS):
            return []
        names = parameters(function)
        position = names.index(binding.name) if binding.name in names else -2
        partials = self._partials.get(function, ())
        found = [argument(partial, position + 1, binding.name) for partial in partials]
        return [value for value in found if value is not None]
