"""Configurations of sessions that run on the NPU already."""

import ast
from typing import FrozenSet, List, Set

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import argument
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import Binding, Index, dotted, is_none, literal

MAKING = frozenset((vocabulary.CONFIG_PROTO, vocabulary.RUN_CONFIG_INIT, vocabulary.NPU_RUN_CONFIG))
CUSTOM_OPTIMIZERS = ".graph_options.rewrite_options.custom_optimizers"


class NpuConfigs:
    """Tells of the expressions of one file whether they give a configuration of the NPU.

    ``known`` are functions and variables of other files that do.
    """

    def __init__(
        self, index: Index, optimizers: Optimizers, known: FrozenSet[str] = frozenset()
    ) -> None:
        self.index = index
        self.optimizers = optimizers
        self.known = known
        self._changed = self._changed_by_hand()

    def is_npu(self, node: ast.expr) -> bool:
        """Whether an expression always gives a configuration that runs on the NPU."""
        return self._is_npu(node, set())

    def _is_npu(self, node: ast.expr, seen: Set[ast.AST]) -> bool:
        if node in seen:
            return False
        if dotted(node) and self._is_known(node):
            return True
        producers = [p for p in self.optimizers.producers(node) if not _is_nothing(p)]
        return bool(producers) and all(self._made(p, seen | {node}) for p in producers)

    def _made(self, producer: object, seen: Set[ast.AST]) -> bool:
        if not isinstance(producer, ast.expr):
            return producer in self._changed
        if producer in self._changed or self._is_known(producer):
            return True
        if not isinstance(producer, ast.Call):
            return False
        names = self.index.resolve(producer.func).names
        if names & MAKING:
            return True
        if vocabulary.SET_PRECISION_MODE in names:
            inner = argument(producer, 0, "config")
            return inner is not None and self._is_npu(inner, seen)
        return self._is_known(producer.func)

    def _is_known(self, node: ast.expr) -> bool:
        if not isinstance(node, (ast.Name, ast.Attribute)) or node not in self.index.parents:
            return False
        paths = self._paths(node)
        return bool(paths) and paths <= self.known

    def _paths(self, node: ast.expr) -> Set[str]:
        """The qualified names of a function or variable, whatever its value is."""
        if isinstance(node, ast.Name):
            return {binding.target for binding in self.index.bindings(node)}
        names = self.index.resolve(node.value).names  # type: ignore[attr-defined]
        return {f"{name}.{node.attr}" for name in names}  # type: ignore[attr-defined]

    def _changed_by_hand(self) -> Set[object]:
        """What made the configurations that get an ``NpuOptimizer`` as the vendor's guide shows.

        ``optimizer = config.graph_options.rewrite_options.custom_optimizers.add()``, and then
        ``optimizer.name = "NpuOptimizer"``.
        """
        if not any(literal(string) == "NpuOptimizer" for string in self.index.string_nodes):
            return set()
        found: Set[object] = set()
        for call in self.index.calls:
            callee = call.func
            if not isinstance(callee, ast.Attribute) or callee.attr != "add":
                continue
            config: ast.expr = callee.value
            for _ in range(3):
                config = config.value if isinstance(config, ast.Attribute) else config
            if dotted(callee.value) == dotted(config) + CUSTOM_OPTIMIZERS and dotted(config):
                found.update(self.optimizers.producers(config))
        return found

    def names(self) -> List[str]:
        """The functions and variables of this file that give a configuration of the NPU."""
        index = self.index
        found = []
        for function in index.functions:
            returned = [r.value for r in index.returns(function) if r.value is not None]
            if returned and all(map(self.is_npu, returned)):
                found.append(index.qualname(function))
        for name, bindings in index.root.bindings.items():
            if all(_has_value(b) and self.is_npu(b.value) for b in bindings):  # type: ignore[arg-type]
                found.append(f"{index.module}.{name}")
        return found


def _has_value(binding: Binding) -> bool:
    return binding.value is not None and not binding.path and not binding.iterates


def _is_nothing(producer: object) -> bool:
    return isinstance(producer, ast.expr) and is_none(producer)
