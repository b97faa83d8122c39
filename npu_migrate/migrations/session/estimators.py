"""Estimators train on the NPU by the configuration that they are given (NPU42x).

By default ``config=c`` becomes ``config=npu_run_config_init(run_config=c)``, which any Estimator
takes. In the style of classes ``tf.estimator.Estimator`` and the ``RunConfig`` that it gets become
the NPU's own; an Estimator that has no such class keeps the default.
"""

import ast
from typing import List, Optional, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument, place_of, unpacks
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.session import precision
from npu_migrate.migrations.session.estimator_classes import (
    CONFIG_AT,
    RUN_CONFIG,
    TPU_ESTIMATOR,
    USE_TPU_AT,
)
from npu_migrate.migrations.session.npu_estimators import NpuEstimators
from npu_migrate.migrations.session.run_configs import RunConfigs
from npu_migrate.names import FUNCTIONS, dotted, is_none, literal
from npu_migrate.plan import Argument, EditCall

ON_NPU = "gets a configuration whose sessions run on the NPU, in the precision that the script has"
NO_CLASS = "; NPUEstimator can't take its place: {}"

Made = Tuple[str, int]
"""An Estimator's qualified name, and how many arguments stand before its own (``self``)."""

_ESTIMATORS = frozenset(CONFIG_AT)
_INIT = frozenset(("__init__",))


class Estimators:
    """Migrates the Estimators of one file."""

    def __init__(self, context: Context, optimizers: Optimizers) -> None:
        self.context = context
        self.index = context.index
        self.configs = RunConfigs(context, optimizers)
        self.classes = NpuEstimators(context, self.configs)

    def run(self) -> None:
        own = frozenset(node.name for node in self.index.classes)
        for call in self.index.possible_calls(_ESTIMATORS, own | _INIT):
            made = self._made(call)
            if made is not None:
                self._estimator(call, *made)
        self._run_configs()
        for node in self.index.classes:
            self._class(node)
        for chain in self.index.chains_of(_ESTIMATORS):
            self._handed_on(chain)
        self.configs.report(self.classes.run_configs)

    # What makes an Estimator ------------------------------------------------------------------

    def _made(self, call: ast.Call) -> Optional[Made]:
        """The Estimator that a call makes, also as the base of a class of the script's own."""
        names = self.index.resolve(call.func).names
        for name in sorted(names):
            if name in CONFIG_AT:
                return name, 0
            base = name[: -len(".__init__")]
            if name.endswith(".__init__") and base in CONFIG_AT:
                return base, 1
        if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__":
            receiver = call.func.value
            is_super = isinstance(receiver, ast.Call) and dotted(receiver.func) == "super"
            owner = self._class_around(call) if is_super else None
            base = self._base(owner) if owner is not None else ""
            return (base, 0) if base else None
        for node in map(self.index.class_named, sorted(names)):
            if node is not None and not _has_init(node):
                base = self._base(node)
                return (base, 0) if base else None
        return None

    def _class_around(self, node: ast.AST) -> Optional[ast.ClassDef]:
        return next((a for a in self.index.ancestors(node) if isinstance(a, ast.ClassDef)), None)

    def _base(self, node: ast.ClassDef) -> str:
        """The Estimator of TensorFlow that the arguments of ``super().__init__`` go to."""
        pending, seen = [node], {node}
        while pending:
            for base in pending.pop().bases:
                name = self.index.resolve(base).sole
                if name in CONFIG_AT:
                    return name
                parent = self.index.class_named(name)
                if parent is not None and parent not in seen and not _has_init(parent):
                    seen.add(parent)
                    pending.append(parent)
        return ""

    # Calls ------------------------------------------------------------------------------------

    def _estimator(self, call: ast.Call, name: str, before: int) -> None:
        is_tpu = name == TPU_ESTIMATOR
        rule = "tpu-estimator" if is_tpu else "estimator-config"
        if rule not in self.context.rules:
            return
        config = argument(call, CONFIG_AT[name] + before, "config")
        if unpacks(call) and (config is None or is_tpu):
            self.context.report("estimator-arguments-not-visible", call, symbol=name)
            return
        if config is None and is_tpu:
            self.context.report("tpu-estimator-without-config", call, symbol=name)
            return
        changes = self._tpu_off(call, before) if is_tpu else []
        if config is not None and self.configs.is_for_npu(config):
            change = "keeps its configuration for the NPU"
        elif self.classes.takes(call, name):
            edit = self.classes.estimator(call, name)
            self.context.report(rule, call, edit, symbol=name, change=f"becomes {edit.callee}")
            return
        else:
            change = ON_NPU
            if self.context.options.prefers_npu_estimators:
                change += NO_CLASS.format(self.classes.obstacle(call, name))
            changes.append(self._on_npu(call, config))
        if changes:
            resolution = self.index.resolve(call.func)
            self.context.report(
                rule,
                call,
                EditCall(call, "", tuple(changes)),
                symbol=name,
                assumed=bool(resolution.names) and resolution.unknown,
                change=change,
            )

    def _run_configs(self) -> None:
        for call in self.index.calls:
            if call in self.classes.run_configs:
                edit, notes = self.classes.run_config(call)
                change = f"becomes {edit.callee}{notes}"
                self.context.report(
                    "estimator-config", call, edit, symbol=RUN_CONFIG, change=change
                )

    def _on_npu(self, call: ast.Call, config: Optional[ast.expr]) -> Argument:
        init = self.context.local(vocabulary.RUN_CONFIG_INIT, call)
        given = config is not None and not is_none(config)
        code = f"{init}(run_config=$it)" if given else f"{init}()"
        code = precision.around(self.context, code, call)
        return Argument("config" if config is None else place_of(call, config), code)

    def _tpu_off(self, call: ast.Call, before: int) -> List[Argument]:
        use_tpu = argument(call, USE_TPU_AT + before, "use_tpu")
        if use_tpu is None:
            return [Argument("use_tpu", "False")]
        if literal(use_tpu) is False:
            return []
        self.context.discard(use_tpu)
        return [Argument(place_of(call, use_tpu), "False")]

    # Classes ----------------------------------------------------------------------------------

    def _class(self, node: ast.ClassDef) -> None:
        """A subclass without an ``__init__`` gets its configuration where it is called."""
        base = self._base(node)
        if base and not _has_init(node) and self.context.is_taken(node.name):
            self.context.report("estimator-subclass", node, symbol=base)

    def _handed_on(self, chain: ast.expr) -> None:
        """``functools.partial(tf.estimator.Estimator, ...)``, tables of Estimators."""
        parent = self.index.parents.get(chain)
        if isinstance(parent, ast.keyword):
            parent = self.index.parents.get(parent)
        if isinstance(parent, ast.Call):
            if parent.func is chain or not self._may_call(parent):
                return
        elif not isinstance(parent, (ast.Dict, ast.Return)):
            return
        name = self.index.resolve(chain).sole
        if name in CONFIG_AT:
            self.context.report("estimator-handed-on", chain, symbol=name)

    def _may_call(self, call: ast.Call) -> bool:
        """Whether what is called calls the class that it is handed: ``partial``, own functions."""
        names = self.index.resolve(call.func).names
        return "functools.partial" in names or any(name.startswith(":") for name in names)


def _has_init(node: ast.ClassDef) -> bool:
    return any(isinstance(s, FUNCTIONS) and s.name == "__init__" for s in node.body)
