"""The style of classes: ``NPUEstimator`` and ``NPURunConfig`` in place of TensorFlow's.

``NPUEstimator`` takes nothing but an ``NPURunConfig``, so an Estimator changes only with every
configuration that it may get; one that comes from elsewhere leaves it to ``npu_run_config_init``.
"""

import ast
from typing import Dict, List, Set, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument, place_of, unpacks
from npu_migrate.migrations.optimizers import Producer
from npu_migrate.migrations.session import precision
from npu_migrate.migrations.session.estimator_classes import (
    CONFIG_AT,
    ESTIMATOR,
    NOT_TAKEN,
    RUN_CONFIG,
    STRATEGIES,
)
from npu_migrate.migrations.session.run_configs import DISTRIBUTES, RunConfigs, arguments
from npu_migrate.names import Binding, is_none
from npu_migrate.plan import Argument, EditCall

NPU_CLASSES = {
    ESTIMATOR: vocabulary.NPU_ESTIMATOR,
    vocabulary.MODEL_TO_ESTIMATOR: vocabulary.MODEL_TO_NPU_ESTIMATOR,
}
PARAMETERS: Dict[str, Tuple[str, ...]] = {
    ESTIMATOR: ("model_fn", "model_dir", "config", "params", "warm_start_from"),
    vocabulary.MODEL_TO_ESTIMATOR: (
        "keras_model",
        "keras_model_path",
        "custom_objects",
        "model_dir",
        "config",
        "checkpoint_format",
    ),
}
ALIKE = 4
"""How many of them, from the first on, stand at the same place in the NPU's."""


class NpuEstimators:
    """Which Estimators and configurations of one file become the NPU's classes."""

    def __init__(self, context: Context, configs: RunConfigs) -> None:
        self.context = context
        self.index = context.index
        self.configs = configs
        self.run_configs: Set[ast.Call] = set()

    def takes(self, call: ast.Call, name: str) -> bool:
        """Whether an Estimator becomes the NPU's; its configurations then do too."""
        if not self.context.options.prefers_npu_estimators or self.obstacle(call, name):
            return False
        made = [made for made in self._made(call, name) if isinstance(made, ast.Call)]
        self.run_configs.update(call for call in made if self._becomes_npu(call))
        return True

    def obstacle(self, call: ast.Call, name: str) -> str:
        """What keeps an Estimator from becoming the NPU's, in words; empty for nothing."""
        resolution = self.index.resolve(call.func)
        if name not in NPU_CLASSES:
            return f"it has no counterpart of {name.rpartition('.')[2]}"
        if resolution.sole != name or resolution.unknown:
            return f"what is called is not seen to be {name.rpartition('.')[2]} itself"
        if unpacks(call):
            return "*args or **kwargs hide what is given"
        for made in self._made(call, name):
            if isinstance(made, Binding):
                return f"its config ({made.name}) may be any configuration"
            if not self._is_npu(made) and not self._becomes_npu(made):
                return f"its config (of line {made.lineno}) is not seen to be a plain RunConfig"
        return ""

    def _made(self, call: ast.Call, name: str) -> List[Producer]:
        """What makes the configuration of an Estimator, where it gets one."""
        config = argument(call, CONFIG_AT[name], "config")
        if config is None or is_none(config):
            return []
        return self.configs.origins(config) or [config]

    def _is_npu(self, made: Producer) -> bool:
        return isinstance(made, ast.Call) and self.configs.is_npu_class(made)

    def _becomes_npu(self, call: Producer) -> bool:
        if not isinstance(call, ast.Call):
            return False
        resolution = self.index.resolve(call.func)
        return resolution.sole == RUN_CONFIG and not resolution.unknown and not unpacks(call)

    # Edits ------------------------------------------------------------------------------------

    def estimator(self, call: ast.Call, name: str) -> EditCall:
        """The change of an Estimator to the NPU's."""
        callee = self.context.local(NPU_CLASSES[name], call)
        self.context.discard(call.func)
        config = argument(call, CONFIG_AT[name], "config")
        is_new = config is None or is_none(config)
        made = f"{self.context.local(vocabulary.NPU_RUN_CONFIG, call)}()" if is_new else "$it"
        made = precision.around(self.context, made, call)
        made = "" if made == "$it" else made
        changes = []
        for at, value in enumerate(call.args):
            rename = PARAMETERS[name][at] if at >= ALIKE else ""
            code = made if value is config else ""
            if rename or code:
                changes.append(Argument(at, code, rename))
        if made and config not in call.args:
            changes.append(Argument("config", made))
        return EditCall(call, callee, tuple(changes))

    def run_config(self, call: ast.Call) -> Tuple[EditCall, str]:
        """The change of a configuration to the NPU's, and what a finding says of it."""
        callee = self.context.local(vocabulary.NPU_RUN_CONFIG, call)
        self.context.discard(call.func)
        given = arguments(call)
        values = _new_values(given)
        changes: List[Argument] = []
        for name, value in given.items():
            at = place_of(call, value)
            rename = name if isinstance(at, int) else ""
            if name in NOT_TAKEN:
                self.context.discard(value)
                changes.append(Argument(at))
            elif name in values or rename:
                changes.append(Argument(at, values.pop(name, ""), rename))
        changes += [Argument(name, code) for name, code in values.items()]
        return EditCall(call, callee, tuple(changes)), _wording(given)


def _new_values(given: Dict[str, ast.expr]) -> Dict[str, str]:
    """``NPURunConfig`` saves every 100 steps where both are ``None``; a zero keeps it from that."""
    times = [given.get(name) for name in ("save_checkpoints_steps", "save_checkpoints_secs")]
    if all(value is None or is_none(value) for value in times) and any(times):
        return {"save_checkpoints_steps": "0"}
    return {}


def _wording(given: Dict[str, ast.expr]) -> str:
    notes = []
    if "save_summary_steps" not in given:
        notes.append("it writes no summaries unless save_summary_steps is given")
    if not {"save_checkpoints_steps", "save_checkpoints_secs"} & set(given):
        notes.append("it saves every 100 steps, where RunConfig saves every 600 s")
    dropped = [name for name in given if name in NOT_TAKEN and not is_none(given[name])]
    if dropped:
        notes.append("dropped: " + ", ".join(dropped))
    distributes = DISTRIBUTES if set(dropped) & set(STRATEGIES) else ""
    return "".join("; " + note for note in notes) + distributes
