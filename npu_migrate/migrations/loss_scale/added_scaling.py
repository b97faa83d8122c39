"""Loss scaling for a program that has none, as ``--loss-scale`` asks for it (NPU133 to NPU135)."""

import ast
from typing import Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument
from npu_migrate.migrations.loss_scale.control_dependencies import MANAGER_NAME
from npu_migrate.migrations.loss_scale.loss_scaling import LossScaling
from npu_migrate.migrations.loss_scale.training_optimizers import (
    KERAS,
    Training,
    TrainingOptimizers,
)
from npu_migrate.migrations.optimizers import COMPUTING, Optimizers
from npu_migrate.migrations.session.keras_training import compiles
from npu_migrate.names import method_name
from npu_migrate.plan import Edit, InsertStatements, ReplaceExpression, ReplaceStatement

DYNAMIC = (
    "init_loss_scale=2**32, incr_every_n_steps=1000, decr_every_n_nan_or_inf=2, decr_ratio=0.5"
)
"""The arguments that the vendor's guide gives its manager."""


class AddedScaling:
    """Wraps the training optimizers of one file."""

    def __init__(
        self,
        context: Context,
        optimizers: Optimizers,
        training: TrainingOptimizers,
        scaling: LossScaling,
    ) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self.training = training
        self.scaling = scaling

    def run(self) -> None:
        for training in self.training.obstacles:
            use = training.uses[0]
            self.context.report("loss-scale-not-added", use, obstacle=training.obstacle)
        if self.context.run.adds_scaling(self.index.module):
            self._compiled()
        if not self.training.obstacles:
            for training in self.training.found:
                self._scale(training)

    def _compiled(self) -> None:
        """``model.compile(optimizer=...)``: Keras trains by itself."""
        for call in self.index.calls:
            if compiles(self.index, call) and argument(call, -1, "optimizer") is not None:
                self.context.report("loss-scale-not-added", call, obstacle=KERAS)

    def _scale(self, training: Training) -> None:
        anchor = training.anchor
        assert anchor is not None
        name = training.name or self.context.numbered("optimizer")
        manager, managed = self._manager(anchor)
        code = managed + self._wrapped(training, name, manager)
        if training.name:
            edit: Edit = InsertStatements(anchor, code, training.before)
        else:
            named = ReplaceExpression(training.root, name)
            code = f"{name} = $made\n{code}$use\n"
            edit = ReplaceStatement(anchor, code, {"made": training.root}, {"use": (named,)})
        scale = self._words()
        if self.context.report("loss-scale-added", training.root, edit, symbol=name, scale=scale):
            self._gradients(training, name)

    def _words(self) -> str:
        scale = self.context.run.loss_scale
        return "a dynamic loss scale" if scale == "dynamic" else f"a loss scale of {scale}"

    def _manager(self, anchor: ast.stmt) -> Tuple[str, str]:
        """The name of a new manager, and the code that makes it outside control dependencies."""
        scale = self.context.run.loss_scale
        if scale == "dynamic":
            target, given = vocabulary.EXPONENTIAL_MANAGER, DYNAMIC
        else:
            target, given = vocabulary.FIXED_MANAGER, f"loss_scale={scale}"
        name = self.context.numbered(MANAGER_NAME)
        code = f"{name} = {self.context.local(target, anchor)}({given})\n"
        if self.scaling.dependencies.holds(anchor):
            tf = self.context.tensorflow(anchor)
            code = f"with {tf}.control_dependencies(None):\n    {code}"
        return name, code

    def _wrapped(self, training: Training, name: str, manager: str) -> str:
        """The guide's form, or one line where the script averages gradients itself."""
        context, anchor = self.context, training.anchor
        assert anchor is not None
        adapter = context.local(vocabulary.ADAPTER, anchor)
        if self._is_averaged(training):
            scaled = context.local(vocabulary.LOSS_SCALE_OPTIMIZER, anchor)
            several = f"is_distributed={adapter}.size() > 1"
            return f"{name} = {scaled}({name}, {manager}, {several})\n"
        self.scaling.by_rank_count.append(training.uses[0])
        if context.options.combines_optimizers:
            combined = context.local(vocabulary.COMBINED_OPTIMIZER, anchor)
            several = f"is_distributed={adapter}.size() > 1, is_loss_scale=True"
            return f"{name} = {combined}({name}, {manager}, {several})\n"
        scaled = context.local(vocabulary.LOSS_SCALE_OPTIMIZER, anchor)
        averaged = context.local(vocabulary.DISTRIBUTED_OPTIMIZER, anchor)
        return (
            f"if {adapter}.size() > 1:\n"
            f"    {name} = {averaged}({name})\n"
            f"    {name} = {scaled}({name}, {manager}, is_distributed=True)\n"
            f"else:\n"
            f"    {name} = {scaled}({name}, {manager})\n"
        )

    def _is_averaged(self, training: Training) -> bool:
        """Whether the script says where gradients are averaged over ranks."""
        return self.scaling.is_averaged(training.root, training.uses)

    # tf.gradients goes round the scaler -------------------------------------------------------

    def _gradients(self, training: Training, name: str) -> None:
        """Take from the optimizer what ``tf.gradients`` gave, where it is made before."""
        for use in training.uses:
            given = argument(use, 0, "grads_and_vars")
            if given is None or not training.name or method_name(use) != "apply_gradients":
                continue
            for call in self.optimizers.derives_from(given, (vocabulary.GRADIENTS,), COMPUTING):
                taken = self.optimizers.is_wrap(call, (vocabulary.GRADIENTS,))
                if taken and self.context.stands(call) and self._comes_later(call, training):
                    self._take_from(call, name)

    def _take_from(self, call: ast.Call, name: str) -> None:
        loss, variables = argument(call, 0, "ys"), argument(call, 1, "xs")
        if loss is None or variables is None or len(call.args) + len(call.keywords) > 2:
            return
        if any(
            isinstance(p, (ast.List, ast.Tuple, ast.ListComp)) for p in self.index.producers(loss)
        ):
            return
        gradient = self.context.fresh("gradient")
        code = f"[{gradient} for {gradient}, _ in {name}.compute_gradients($loss, $variables)]"
        edit = ReplaceExpression(call, code, {"loss": loss, "variables": variables})
        if self.context.report("gradients-by-optimizer", call, edit, symbol=vocabulary.GRADIENTS):
            self.context.discard(call)
            self.context.keep(loss)
            self.context.keep(variables)

    def _comes_later(self, call: ast.Call, training: Training) -> bool:
        """Whether the name stands for the wrapped optimizer where gradients are made."""
        anchor = training.anchor
        assert anchor is not None
        if isinstance(training.root, ast.Name):
            here = set(self.index.bindings_at(training.root.id, call))
            if here != set(self.index.bindings(training.root)):
                return False
        place = self.index.places[anchor]
        start = place.position if training.before else place.position + 1
        return any(self.index.inside(call, later) for later in place.block[start:])
