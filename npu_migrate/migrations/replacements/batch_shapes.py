"""Batches of one shape: training datasets drop what is left over at the end of an epoch.

A last batch of another size makes the NPU compile the graph anew. A dataset that is evaluated never
loses its remainder, since its metrics would change.
"""

import ast
from typing import Dict, Optional, Tuple

from npu_migrate.migrations.context import Context, argument, place_of, unpacks
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.replacements.datasets import Certainty, Datasets
from npu_migrate.migrations.replacements.purposes import BY_NAME, OTHER, TRAINING, Purposes
from npu_migrate.names import literal, method_name
from npu_migrate.plan import Argument, EditCall, Status

RULE = "static-batch"

POSITIONS = {"batch": 1, "padded_batch": 3, "map_and_batch": 3}
"""Where ``drop_remainder`` stands among the arguments."""

Value = Tuple[str, Dict[str, ast.expr]]


def run(context: Context, optimizers: Optimizers) -> None:
    """Find the batches of a file that may have another shape at the end."""
    if RULE not in context.rules:
        return
    batches = _Batches(context, optimizers)
    for call in context.index.calls:
        if isinstance(call.func, (ast.Attribute, ast.Name)) and not context.without(call):
            batches.look_at(call)


class _Batches:
    def __init__(self, context: Context, optimizers: Optimizers) -> None:
        self._context = context
        self._datasets = Datasets(context.index, optimizers)
        self._purposes = Purposes(context.index)

    def look_at(self, call: ast.Call) -> None:
        """Judge one call that may batch."""
        names = self._context.index.resolve(call.func).names
        method = method_name(call)
        if any(name in self._context.rules[RULE].match for name in names):
            self._judge(call, "map_and_batch", self._applied_to(call), Certainty.YES)
        elif not names and method in ("batch", "padded_batch"):
            receiver = call.func.value  # type: ignore[attr-defined]
            certainty = self._datasets.certainty(receiver)
            if certainty is Certainty.NO and method == "padded_batch":
                certainty = Certainty.MAYBE
            if certainty is not Certainty.NO and not self._datasets.is_unbatched(call):
                self._judge(call, method, receiver, certainty)

    def _applied_to(self, call: ast.Call) -> Optional[ast.expr]:
        """The dataset that a transformation is applied to."""
        apply = self._context.index.parents.get(call)
        method = apply.func if isinstance(apply, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr == "apply":
            return method.value
        return None

    def _judge(
        self, call: ast.Call, method: str, dataset: Optional[ast.expr], certainty: Certainty
    ) -> None:
        present = argument(call, POSITIONS[method], "drop_remainder")
        size = argument(call, int(method == "map_and_batch"), "batch_size")
        if literal(size) == 1 or (present is not None and literal(present) is not False):
            return
        purposes = self._purposes.of(call)
        assumed = BY_NAME in purposes
        purposes.discard(BY_NAME)
        if purposes == {OTHER}:
            return
        if unpacks(call) or certainty is not Certainty.YES:
            self._leave(call)
            return
        if dataset is not None and self._datasets.is_endless(dataset):
            self._drop(
                call,
                method,
                ("True", {}),
                "gives batches of one shape; it never ends, so that nothing is dropped",
            )
            return
        value = self._when(call, purposes == {TRAINING})
        if value is None:
            self._leave(call)
        else:
            fate = "drops what is left over at the end of an epoch when it trains"
            self._drop(call, method, value, fate, assumed and value[0] == "True")

    def _when(self, call: ast.Call, only_trains: bool) -> Optional[Value]:
        """When the remainder is dropped; ``None`` where that can't be told."""
        if self._purposes.around(call) == TRAINING:
            return "True", {}
        return self._purposes.flag(call) or (("True", {}) if only_trains else None)

    def _drop(
        self, call: ast.Call, method: str, value: Value, fate: str, assumed: bool = False
    ) -> None:
        code, parts = value
        present = argument(call, POSITIONS[method], "drop_remainder")
        at = place_of(call, present) if present is not None else "drop_remainder"
        edit = EditCall(call, arguments=(Argument(at, code, parts=parts),))
        self._context.report(RULE, call, edit, symbol=method, fate=fate, assumed=assumed)

    def _leave(self, call: ast.Call) -> None:
        fate = "may end with a smaller batch, and whether it trains can't be told"
        self._context.report(RULE, call, status=Status.MANUAL, fate=fate)
