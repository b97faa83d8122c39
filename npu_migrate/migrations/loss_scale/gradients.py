"""How a loss-scaling optimizer is handed its gradients (NPU114 to NPU117)."""

import ast
from typing import FrozenSet, List, Set

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument
from npu_migrate.migrations.loss_scale.hand_scaling import HandScaling
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import dotted, method_name
from npu_migrate.plan import ReplaceExpression

MAKERS = ("gradients", "gradient", "compute_gradients")
"""Methods that make gradients."""

APPLY_ARGUMENTS = ("grads_and_vars", "global_step", "name")


class Gradients:
    """The gradients on their way through the optimizers of one file."""

    def __init__(self, context: Context, optimizers: Optimizers) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers

    def run(self) -> None:
        self._iterators()
        self._extra_arguments()
        self._bypasses()
        self._scaled_by_hand()

    def _scaled_uses(self) -> List[ast.Call]:
        """The calls of ``apply_gradients`` of loss-scaling optimizers."""
        return [
            use
            for use in self.optimizers.uses()
            if method_name(use) == "apply_gradients"
            and self.optimizers.scalings(self.optimizers.receiver(use))
        ]

    def _iterators(self) -> None:
        """The wrapper walks its gradients twice; an iterator is empty the second time."""
        done: Set[ast.AST] = set()
        for use in self._scaled_uses():
            gradients = argument(use, 0, "grads_and_vars")
            if gradients is None:
                continue
            for producer in self.optimizers.producers(gradients):
                if producer in done or not isinstance(producer, ast.expr):
                    continue
                if self._is_iterator(producer):
                    done.add(producer)
                    edit = ReplaceExpression(producer, "list($it)", {"it": producer})
                    self.context.report(
                        "gradients-iterator", producer, edit, symbol=_callee(producer)
                    )

    def _is_iterator(self, node: ast.expr) -> bool:
        if isinstance(node, ast.GeneratorExp):
            return True
        if self.context.calls_to(node, *vocabulary.ITERATORS):
            return True
        function = self.index.function_called(node) if isinstance(node, ast.Call) else None
        return function is not None and any(
            isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in ast.walk(function)
        )

    def _extra_arguments(self) -> None:
        for use in self._scaled_uses():
            extra = [str(k.arg) for k in use.keywords if k.arg and k.arg not in APPLY_ARGUMENTS]
            if extra or len(use.args) > len(APPLY_ARGUMENTS):
                self.context.report(
                    "apply-gradients-argument", use, arguments=", ".join(extra) or "the fourth"
                )

    def _bypasses(self) -> None:
        """Gradients that do not come from the scaling optimizer's ``compute_gradients``."""
        done: Set[ast.Call] = set()
        for use in self._scaled_uses():
            gradients = argument(use, 0, "grads_and_vars")
            if gradients is None:
                continue
            for call in self.optimizers.derives_from(gradients, (vocabulary.GRADIENTS,), MAKERS):
                if call not in done and self.context.stands(call) and not self._is_scaled(call):
                    done.add(call)
                    symbol = self.index.resolve(call.func).sole or dotted(call.func)
                    self.context.report("gradients-bypass-scaling", call, symbol=symbol)

    def _is_scaled(self, call: ast.Call) -> bool:
        """Whether a call is ``compute_gradients`` of an optimizer that scales the loss."""
        if method_name(call) != "compute_gradients":
            return False
        receiver = self.optimizers.receiver(call)
        origins = self.optimizers.origins(receiver)
        return bool(self.optimizers.scalings(receiver)) or any(not o.name for o in origins)

    def _scaled_by_hand(self) -> None:
        with_numbers = bool(self.context.run.loss_scale)
        scaled = HandScaling(self.index, self.optimizers).calls(with_numbers)
        checked = self._checked() if scaled else frozenset()
        for call, scale in scaled.items():
            if call not in checked:
                self.context.report("scaled-by-hand", call, scale=_source(scale))

    def _checked(self) -> FrozenSet[ast.Call]:
        """The gradients whose finite check is reported in any case."""
        return frozenset(
            call
            for check in self.index.calls_of(vocabulary.FINITE_CHECKS)
            if check.args
            for call in self.optimizers.derives_from(check.args[0], (vocabulary.GRADIENTS,))
            if self.context.is_named(call.func, (vocabulary.GRADIENTS,))
        )


def _callee(node: ast.expr) -> str:
    return dotted(node.func) if isinstance(node, ast.Call) else "generator"


def _source(node: ast.expr) -> str:
    return dotted(node) or "a factor"
