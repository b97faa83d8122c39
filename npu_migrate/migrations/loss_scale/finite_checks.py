"""Scripts that test their own gradients with ``tf.is_finite``: blind where overflow saturates."""

import ast
from typing import List, Optional, Set

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.removal import Removal
from npu_migrate.migrations.unsupported.host import Host
from npu_migrate.names import FUNCTIONS, dotted, parameters
from npu_migrate.plan import ReplaceExpression


class FiniteChecks:
    """The finite checks of one file."""

    def __init__(
        self, context: Context, optimizers: Optimizers, removal: Removal, reported: Set[ast.AST]
    ) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self.removal = removal
        self.reported = reported
        """Classes and functions that are reported as a whole."""
        self.on_gradients: Set[ast.stmt] = set()

    def guards(self) -> None:
        """Replace the checks that only guard clipping."""
        for cond in self.index.calls_of(frozenset((vocabulary.COND,))):
            norm = self._guarded_norm(cond)
            if norm is None or not self._is_scaled(cond):
                continue
            edit = ReplaceExpression(cond, "$norm", {"norm": norm})
            if self.context.report(
                "finite-check-guards-clipping", cond, edit, symbol=vocabulary.COND
            ):
                self.removal.expression(cond)
                self.context.keep(norm)

    def _guarded_norm(self, cond: ast.Call) -> Optional[ast.expr]:
        """``tf.global_norm(...)`` of ``tf.cond(finite, lambda: tf.global_norm(...), ...)``."""
        predicate = argument(cond, 0, "pred")
        norm = argument(cond, 1, "true_fn", "fn1")
        if predicate is None or not isinstance(norm, ast.Lambda):
            return None
        if not self.context.calls_to(norm.body, vocabulary.GLOBAL_NORM):
            return None
        if not self.optimizers.derives_from(predicate, vocabulary.FINITE_CHECKS):
            return None
        return norm.body

    def _is_scaled(self, node: ast.AST) -> bool:
        uses = self.optimizers.uses(self.index.region(node))
        return any(self.optimizers.scalings(self.optimizers.receiver(use)) for use in uses)

    def report_left(self) -> None:
        """Report the checks that are still there once everything else is planned."""
        for call in self.index.calls_of(vocabulary.FINITE_CHECKS):
            statement = self.index.statement(call)
            if (
                statement in self.on_gradients
                or self.context.without(call)
                or self._is_reported(call)
            ):
                continue
            value = argument(call, 0, "x")
            if value is None:
                continue
            certain = bool(
                self.optimizers.derives_from(
                    value, (vocabulary.GRADIENTS,), ("compute_gradients", "gradient")
                )
            )
            if not certain and not self._comes_from_parameter(call, value):
                continue
            self.on_gradients.add(statement)
            symbol = self.index.resolve(call.func).sole
            self.context.report(
                "finite-check-on-gradients",
                call,
                symbol=symbol,
                assumed=not certain,
                check=dotted(call.func),
            )

    def report_elsewhere(self, host: Host) -> None:
        """Report the checks of anything else than gradients."""
        for call in self.index.calls_of(vocabulary.FINITE_CHECKS):
            if self.index.statement(call) in self.on_gradients or self._is_reported(call):
                continue
            if self.context.stands(call) and not self.context.without(call) and not host.runs(call):
                self.context.report("finite-check", call, symbol=self.index.resolve(call.func).sole)

    def _is_reported(self, call: ast.Call) -> bool:
        return any(ancestor in self.reported for ancestor in self.index.ancestors(call))

    def _comes_from_parameter(self, call: ast.Call, value: ast.expr) -> bool:
        """Whether the check reads a parameter that is called gradients."""
        function = self.index.enclosing_function(call)
        if function is None:
            return False
        names = [name for name in parameters(function) if "grad" in name.lower()]
        pending: List[ast.expr] = [value]
        seen: Set[ast.AST] = set()
        while pending:
            current = pending.pop()
            for inner in ast.walk(current):
                if not isinstance(inner, ast.Name) or inner not in self.index.parents:
                    continue
                for binding in self.index.bindings(inner):
                    if binding.parameter and binding.name in names:
                        return isinstance(binding.scope.node, FUNCTIONS)
                    if binding.value is not None and binding.value not in seen:
                        seen.add(binding.value)
                        pending.append(binding.value)
        return False
