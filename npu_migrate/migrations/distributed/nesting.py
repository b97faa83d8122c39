"""Averaging and loss scaling in the wrong order: ``DistributedOptimizer(LossScaleOptimizer(...))``.

Gradients would be divided by the loss scale before they are averaged, which loses the small ones
under fp16 compression, and each rank would judge overflow by itself. The averaging belongs inside.
"""

import ast
from typing import Dict, Optional, Set

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context
from npu_migrate.migrations.distributed import horovod_optimizer
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.plan import Edit, MoveStatement, RemoveStatement, ReplaceExpression

RULE = "averaged-after-unscaling"
CHANGE = (
    "; gradients are now averaged while they are scaled, so results differ a little where they "
    "were compressed"
)


class Nesting:
    """Finds the wrong order in one file and decides whether it can be put right."""

    def __init__(self, context: Context, optimizers: Optimizers, can_move: bool) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self.to_swap: Dict[ast.Call, ast.Call] = {}
        """Loss-scaling call that takes the averaging inside -> the averaging call that goes."""
        self.moved: Dict[ast.Call, ast.Call] = {}
        """Loss-scaling call -> the averaging call whose statement moves before it, as it is."""
        self.inside_out: Set[ast.Call] = set()
        """Loss-scaling and averaging calls that a person must put in order."""
        self.can_move = can_move
        if RULE in context.rules:
            for call in self.index.calls_of(frozenset(vocabulary.HOROVOD_OPTIMIZERS)):
                self._judge(call)

    def _judge(self, averaging: ast.Call) -> None:
        inner = self.optimizers.inner(averaging)
        if inner is None:
            return
        scalings = [
            c
            for c in self.optimizers.layers(inner)
            if self.optimizers.is_wrap(c, vocabulary.TO_MIGRATE)
        ]
        if not scalings:
            return
        given = horovod_optimizer.arguments(averaging)
        if not self.can_move or given is None or horovod_optimizer.refused(self.index, given):
            self.inside_out |= {averaging, *scalings}
        elif len(scalings) == 1 and (
            scalings[0] is inner or self._in_a_row(scalings[0], averaging, inner)
        ):
            self.to_swap[scalings[0]] = averaging
        elif all(self._holder(scaling, averaging, inner) for scaling in scalings):
            for scaling in scalings:
                self.moved[scaling] = averaging
        else:
            self.inside_out |= {averaging, *scalings}

    def _in_a_row(self, scaling: ast.Call, averaging: ast.Call, inner: ast.expr) -> bool:
        """``a = Scale(b, m)`` and right after it ``a = Average(a)``."""
        first, second = self.index.statement(scaling), self.index.statement(averaging)
        if not self._rebinds(first, scaling, inner) or not self._rebinds(second, averaging, inner):
            return False
        place, next_place = self.index.places[first], self.index.places[second]
        return place.block is next_place.block and place.position + 1 == next_place.position

    def _rebinds(self, statement: ast.stmt, value: ast.Call, name: ast.expr) -> bool:
        """Whether a statement is ``name = value``."""
        return (
            isinstance(statement, ast.Assign)
            and statement.value is value
            and len(statement.targets) == 1
            and isinstance(name, ast.Name)
            and isinstance(statement.targets[0], ast.Name)
            and statement.targets[0].id == name.id
            and self.index.stands_alone(statement)
        )

    def _holder(
        self, scaling: ast.Call, averaging: ast.Call, inner: ast.expr
    ) -> Optional[ast.stmt]:
        """The ``if`` right before ``a = Average(a)`` in which ``a = Scale(a, m)`` stands."""
        first, second = self.index.statement(scaling), self.index.statement(averaging)
        base = self.optimizers.inner(scaling)
        if not self._rebinds(first, scaling, inner) or not self._rebinds(second, averaging, inner):
            return None
        if not isinstance(base, ast.Name) or base.id != getattr(inner, "id", None):
            return None
        place = self.index.places[second]
        holder = place.block[place.position - 1] if place.position else None
        if not isinstance(holder, ast.If) or not self.index.inside(first, holder):
            return None
        assert isinstance(inner, ast.Name)
        others = [
            b
            for b in self.index.scope(second).bindings[inner.id]
            if b.statement is not first
            and b.statement is not None
            and self.index.inside(b.statement, holder)
        ]
        return None if others else holder

    def run(self) -> None:
        """Report what is put right and what a person must put right."""
        for scaling, averaging in self.to_swap.items():
            statement = self.index.statement(averaging)
            if self.optimizers.inner(averaging) is scaling:
                edit = ReplaceExpression(averaging, "$scaled", {"scaled": scaling})
                self.context.discard(averaging.func)
                self._report(averaging, edit)
            else:
                self.context.discard(statement)
                removal = RemoveStatement(statement, self.context.options.comments_out)
                self._report(averaging, removal)
        for averaging in dict.fromkeys(self.moved.values()):
            place = self.index.places[self.index.statement(averaging)]
            move = MoveStatement(self.index.statement(averaging), place.block[place.position - 1])
            self._report(averaging, move)

    def _report(self, averaging: ast.Call, edit: Edit) -> None:
        self.context.report(
            RULE,
            averaging,
            edit,
            symbol=vocabulary.HOROVOD_OPTIMIZER,
            change=CHANGE,
            dropped=horovod_optimizer.wording(self.context, averaging),
        )
