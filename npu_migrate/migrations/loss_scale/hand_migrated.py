"""Faults around loss-scaling optimizers, most often of scripts that were migrated by hand."""

import ast
from typing import List, Set

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import FUNCTIONS, dotted, literal, method_name

_ISINSTANCE = frozenset(("builtins.isinstance",))
_INT = frozenset(("builtins.int",))


class HandMigrated:
    """What the optimizers of one file would stumble over on the NPU."""

    def __init__(self, context: Context, optimizers: Optimizers) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers

    def run(self) -> None:
        self._unbound_managers()
        self._types_tested()
        self._already_migrated()
        self._environment()

    def _unbound_managers(self) -> None:
        """The manager exists only under a flag, the optimizer always."""
        for call in self.index.calls_of(vocabulary.SCALED):
            manager = argument(call, 1, "loss_scale_manager", "loss_scale")
            if not isinstance(manager, ast.Name):
                continue
            if not self.index.may_be_unbound(manager.id, manager):
                continue
            bound = {
                name
                for binding in self.index.bindings(manager)
                if binding.statement is not None
                for name in self._condition(binding.statement)
            }
            if bound and not bound & self._condition(call):
                self.context.report("manager-may-be-unbound", call, manager=manager.id)

    def _condition(self, node: ast.AST) -> Set[str]:
        """The names on which it depends whether a node runs."""
        tests: List[ast.expr] = []
        for ancestor in self.index.ancestors(node):
            if isinstance(ancestor, (ast.If, ast.IfExp)):
                tests.append(ancestor.test)
        statement: ast.AST = self.index.statement(node)
        while statement in self.index.places:
            place = self.index.places[statement]
            for earlier in place.block[: place.position]:
                if isinstance(earlier, ast.If) and isinstance(
                    earlier.body[-1], (ast.Return, ast.Raise)
                ):
                    tests.append(earlier.test)
            if place.parent is None or isinstance(place.parent, FUNCTIONS):
                break
            statement = place.parent
        return {
            dotted(n)
            for test in tests
            for n in ast.walk(test)
            if isinstance(n, (ast.Name, ast.Attribute)) and dotted(n)
        }

    def _types_tested(self) -> None:
        """``isinstance(opt, SomeOptimizer)`` is false once ``opt`` is wrapped."""
        for call in self.index.calls_of(_ISINSTANCE):
            if not call.args or self.context.without(call) or not dotted(call.args[0]):
                continue
            tested = call.args[0]
            if self.optimizers.layers(tested) or self.optimizers.scalings(tested):
                self.context.report("type-tested-after-wrapping", call, name=dotted(call.args[0]))

    def _already_migrated(self) -> None:
        """Faults of scripts that were migrated by hand."""
        for call in self.index.calls_of(vocabulary.NPU_SCALED):
            inner = self.optimizers.inner(call)
            if inner is None:
                continue
            if self.optimizers.always_scaled(inner):
                self.context.report("scaled-twice", call)
            if any(
                isinstance(p, ast.Call) and method_name(p) in ("minimize",)
                for p in self.optimizers.producers(inner)
            ):
                self.context.report("wraps-an-operation", call)
            self._agreement(call, inner)

    def _agreement(self, call: ast.Call, inner: ast.expr) -> None:
        """``is_distributed`` and the averaging optimizer must agree."""
        flag = argument(call, 2, "is_distributed")
        value = literal(flag)
        distributions = self.optimizers.distributions(inner)
        for averaging in filter(self.optimizers.may_distribute, distributions):
            self.context.report(
                "receiver-not-resolved", averaging, attribute="DistributedOptimizer"
            )
        averaged = bool(distributions) or self.optimizers.averaged_by_hand(
            self.optimizers.uses_of(call)
        )
        if averaged and (flag is None or value is False) and not self._in_rank_arm(call):
            self.context.report("ranks-judge-apart", call)
        elif value is True and not self._under_rank_test(call):
            self.context.report("distributed-on-one-device", call)

    def _in_rank_arm(self, node: ast.AST) -> bool:
        """Whether a node stands in an arm of a test for the rank count."""
        return any(
            isinstance(a, (ast.If, ast.IfExp)) and self._asks_rank_count(a.test)
            for a in self.index.ancestors(node)
        )

    def _under_rank_test(self, node: ast.AST) -> bool:
        """Whether some condition around a node, or a return before it, asks for the rank count."""
        region = self.index.region(node)
        for test in ast.walk(region):
            if isinstance(test, (ast.If, ast.IfExp)) and self._asks_rank_count(test.test):
                return True
        return False

    def _asks_rank_count(self, test: ast.expr) -> bool:
        if self.optimizers.derives_from(test, vocabulary.RANK_COUNT, ("size",)):
            return True
        names = {literal(n) for n in ast.walk(test)}
        return bool(names & {"RANK_SIZE", "CM_WORKER_SIZE"}) or any(
            isinstance(n, (ast.Name, ast.Attribute))
            and any(word in dotted(n).lower() for word in ("rank_size", "ranksize", "world_size"))
            for n in ast.walk(test)
        )

    def _environment(self) -> None:
        """``int(os.getenv("RANK_SIZE"))`` fails on a plain shell."""
        for call in self.index.calls_of(_INT):
            if len(call.args) != 1:
                continue
            value = call.args[0]
            variable = self._variable_without_default(value)
            if variable:
                self.context.report("rank-without-default", call, variable=variable)

    def _variable_without_default(self, node: ast.expr) -> str:
        if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
            return ""
        if not self.context.is_named(node.func, ("os.getenv", "os.environ.get")):
            return ""
        name = literal(node.args[0])
        return str(name) if name in ("RANK_SIZE", "RANK_ID") else ""
