"""Several loss-scaling optimizers in one run, as in most GANs (NPU119, NPU120)."""

import ast
from typing import Dict, FrozenSet, List, Set, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument
from npu_migrate.migrations.optimizers import APPLYING, Optimizers
from npu_migrate.migrations.paths import Paths
from npu_migrate.names import WITHS, dotted, method_name


class SeveralOptimizers:
    """What the loss-scaling optimizers of one file share."""

    def __init__(self, context: Context, optimizers: Optimizers, paths: Paths) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self.paths = paths

    def run(self) -> None:
        self._shared_overflow()
        self._shared_managers()

    def _shared_overflow(self) -> None:
        """Two loss-scaling optimizers in one ``session.run`` share one overflow register."""
        if len(self.optimizers.scaling()) < 2:
            return
        reported: Set[Tuple[int, ...]] = set()
        together: List[Tuple[ast.AST, List[ast.expr]]] = [
            (call, self._run_together(call)) for call in self.index.calls
        ]
        for statement in self.index.places:
            if isinstance(statement, WITHS):
                together += [(statement, both) for both in self._in_order(statement)]
        for node, fetched in together:
            apart = self._apart([wraps for element in fetched for wraps in self._wraps_of(element)])
            lines = tuple(sorted(min(wrap.lineno for wrap in wraps) for wraps in apart))
            if len(lines) > 1 and lines not in reported:
                reported.add(lines)
                text = ", ".join(str(line) for line in lines)
                self.context.report("overflow-shared", node, lines=text)

    def _wraps_of(self, element: ast.expr) -> List[FrozenSet[ast.Call]]:
        """For each training op in a value, the wraps that its optimizer may have gone through."""
        uses = [
            use
            for value in self._values(element)
            for use in self.optimizers.derives_from(value, (), APPLYING)
        ]
        found = [frozenset(self.optimizers.scalings(self.optimizers.receiver(u))) for u in uses]
        return [wraps for wraps in found if wraps]

    def _values(self, element: ast.expr) -> List[ast.expr]:
        """What is fetched; of ``model.train_op`` all that a class of the file assigns to it."""
        if not isinstance(element, ast.Attribute) or self.index.self_attribute(element):
            return [element]
        return [
            binding.value
            for (_, name), bindings in self.index.attributes.items()
            for binding in bindings
            if name == element.attr and binding.value is not None
        ]

    def _apart(self, optimizers: List[FrozenSet[ast.Call]]) -> List[FrozenSet[ast.Call]]:
        """The optimizers that have no wrap in common and may run on one path."""
        kept: List[FrozenSet[ast.Call]] = []
        for wraps in optimizers:
            if all(not wraps & other and self._meet(wraps, other) for other in kept):
                kept.append(wraps)
        return kept

    def _meet(self, some: FrozenSet[ast.Call], others: FrozenSet[ast.Call]) -> bool:
        return any(not self.paths.exclusive(one, other) for one in some for other in others)

    def _in_order(self, statement: ast.AST) -> List[List[ast.expr]]:
        """What ``with tf.control_dependencies`` runs first, with each training op after it."""
        found: List[ast.expr] = []
        for item in statement.items:  # type: ignore[attr-defined]
            call = item.context_expr
            if self.context.calls_to(call, vocabulary.CONTROL_DEPENDENCIES):
                found += call.args
        inside = [u for u in self.optimizers.uses() if self.index.inside(u, statement)]
        return [[*found, use] for use in inside] if found else []

    def _run_together(self, call: ast.Call) -> List[ast.expr]:
        is_run = method_name(call) == "run" and bool(call.args)
        is_group = self.context.is_named(call.func, (vocabulary.GROUP,))
        if not is_run and not is_group:
            return []
        found: List[ast.expr] = []
        for value in call.args[:1] if is_run else call.args:
            for producer in self.index.producers(value):
                if isinstance(producer, (ast.List, ast.Tuple)):
                    found += producer.elts
                elif isinstance(producer, ast.Dict):
                    found += producer.values
                elif is_group and isinstance(producer, ast.expr):
                    found.append(producer)
        return found

    def _independent(self, scalings: List[ast.Call]) -> List[ast.Call]:
        """Wraps that are not alternatives of each other (the arms of one ``if``)."""
        kept: List[ast.Call] = []
        for scaling in scalings:
            if not any(self.paths.exclusive(scaling, other, in_one_pass=True) for other in kept):
                kept.append(scaling)
        return kept

    def _shared_managers(self) -> None:
        """Two optimizers on one manager count every step twice."""
        owners: Dict[ast.Call, List[ast.Call]] = {}
        for call in self.index.calls_of(vocabulary.SCALED):
            manager = argument(call, 1, "loss_scale_manager", "loss_scale")
            if manager is None or not dotted(manager):
                continue
            for producer in self.optimizers.producers(manager):
                if isinstance(producer, ast.Call):
                    owners.setdefault(producer, []).append(call)
        for manager_call, wraps in owners.items():
            together = self._independent(wraps)
            if len(together) > 1:
                lines = ", ".join(str(wrap.lineno) for wrap in together)
                self.context.report("manager-shared", manager_call, lines=lines)
