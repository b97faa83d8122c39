"""What keeps the loss scale: managers of ``tf.contrib``, objects of ``tf.train.experimental``."""

import ast
from typing import Iterable, List, Optional, Set, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument, unpacks
from npu_migrate.migrations.loss_scale.control_dependencies import (
    ControlDependencies,
    Parts,
    spelled,
)
from npu_migrate.migrations.loss_scale.verdicts import DEFAULTS, Verdicts, is_nothing, listing
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import dotted, literal
from npu_migrate.plan import Argument, Edit, EditCall, ReplaceExpression, Status

COUNTERPARTS = {
    vocabulary.CONTRIB_FIXED_MANAGER: ("fixed-loss-scale-manager", vocabulary.FIXED_MANAGER),
    vocabulary.CONTRIB_EXPONENTIAL_MANAGER: (
        "exponential-update-loss-scale-manager",
        vocabulary.EXPONENTIAL_MANAGER,
    ),
}
"""Manager of ``tf.contrib`` -> its rule, and the NPU's manager that is called alike."""


class Managers:
    """Migrates the managers and loss-scale objects of one file."""

    def __init__(
        self,
        context: Context,
        optimizers: Optimizers,
        verdicts: Verdicts,
        dependencies: ControlDependencies,
    ) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self.verdicts = verdicts
        self.dependencies = dependencies
        self.scales: Set[ast.Call] = set()
        """The loss-scale objects that become managers."""

    def run(self) -> None:
        self._managers()
        self._migrated_managers()
        self._loss_scales()
        if self.scales:
            self._loss_scale_calls()
            self._loss_scale_calls_elsewhere()
            self._loss_scale_attributes()

    # Managers of tf.contrib: the same name, the same arguments --------------------------------

    def _managers(self) -> None:
        left = self._taken_by(self.verdicts.left) - self._taken_by(self.verdicts.migrated)
        self.context.staying.update(call.func for call in left)
        for rule, target in COUNTERPARTS.values():
            for call in self.context.calls_matching(rule):
                if call in left:
                    continue
                resolution = self.index.resolve(call.func)
                if len(resolution.names) > 1:
                    self.context.report("ambiguous-name", call, subject=listing(resolution.names))
                    continue
                callee = self.context.local(target, call)
                self.context.discard(call.func)
                edits: List[Edit] = [EditCall(call, callee)]
                if target == vocabulary.EXPONENTIAL_MANAGER and not unpacks(call):
                    edits = self.dependencies.lift(call, edits[0], *spelled(call, callee))
                self.context.report(
                    rule,
                    call,
                    *edits,
                    symbol=resolution.sole,
                    assumed=resolution.unknown or resolution.assumed,
                )

    def _migrated_managers(self) -> None:
        """Managers of the NPU that are built inside control dependencies."""
        for call in self.index.calls_of(frozenset((vocabulary.EXPONENTIAL_MANAGER,))):
            if not unpacks(call):
                self.dependencies.lift(call, None, *spelled(call, dotted(call.func)))

    def _taken_by(self, wraps: Iterable[ast.Call]) -> Set[ast.Call]:
        """What optimizers take as their managers."""
        values = [argument(wrap, 1, "loss_scale_manager") for wrap in wraps]
        producers = [p for v in values if v is not None for p in self.optimizers.producers(v)]
        return {p for p in producers if isinstance(p, ast.Call)}

    # Loss-scale objects of tf.train.experimental ----------------------------------------------

    def _loss_scales(self) -> None:
        scales_of = self.verdicts.scales_of
        wanted = {scale for wrap in self.verdicts.migrated for scale in scales_of(wrap)}
        left = {scale for wrap in self.verdicts.left for scale in scales_of(wrap)}
        for call in self.index.calls_of(vocabulary.LOSS_SCALES):
            if call in wanted and not unpacks(call):
                self.scales.add(call)
                self._loss_scale(call)
            elif call not in left:
                self.context.report(
                    "loss-scale-without-optimizer", call, symbol=self.verdicts.symbol(call)
                )

    def _loss_scale(self, call: ast.Call) -> None:
        self.context.discard(call.func)
        symbol = self.verdicts.symbol(call)
        if symbol == vocabulary.FIXED_LOSS_SCALE:
            rename = Argument("loss_scale_value", rename="loss_scale")
            given = any(k.arg == "loss_scale_value" for k in call.keywords)
            edit: Edit = EditCall(
                call, self.context.local(vocabulary.FIXED_MANAGER, call), (rename,) if given else ()
            )
            self.context.report("fixed-loss-scale", call, edit, symbol=symbol)
        else:
            callee = self.context.local(vocabulary.EXPONENTIAL_MANAGER, call)
            code, parts = _dynamic_manager(call, callee)
            edit = self._renamed(call, callee) or ReplaceExpression(call, code, parts)
            edits = self.dependencies.lift(call, edit, code, parts)
            self.context.report("dynamic-loss-scale", call, *edits, symbol=symbol)

    def _renamed(self, call: ast.Call, callee: str) -> Optional[Edit]:
        """The call in its own layout, where it has all of its arguments by keyword."""
        names = ("initial_loss_scale", "increment_period", "multiplier")
        if call.args or {k.arg for k in call.keywords} != set(names):
            return None
        ratio = argument(call, 2, "multiplier")
        inverse = _inverse(ratio)
        parts = {"ratio": ratio} if ratio is not None and "$ratio" in inverse else {}
        new = ("init_loss_scale", "incr_every_n_steps", "incr_ratio")
        renames = [Argument(old, rename=name) for old, name in zip(names, new)]
        added = (
            Argument("decr_every_n_nan_or_inf", "1"),
            Argument("decr_ratio", inverse, parts=parts),
        )
        return EditCall(call, callee, (*renames, *added))

    # A loss-scale object is called for its value; a manager is asked ---------------------------

    def _loss_scale_calls(self) -> None:
        for call in self.index.calls:
            name = dotted(call.func)
            if not name or call.func not in self.index.parents or call in self.scales:
                continue
            if not isinstance(call.func, ast.Name) and self.index.self_attribute(call.func) is None:
                continue
            producers = [p for p in self.optimizers.producers(call.func) if not is_nothing(p)]
            if not producers or not any(p in self.scales for p in producers):
                continue
            if all(p in self.scales for p in producers) and not call.args and not call.keywords:
                self.context.report(
                    "loss-scale-called",
                    call,
                    EditCall(call, name + ".get_loss_scale"),
                    symbol="tensorflow.train.experimental.LossScale.__call__",
                    callee=name,
                )
            else:
                self.context.report("loss-scale-called", call, status=Status.MANUAL, callee=name)

    def _loss_scale_calls_elsewhere(self) -> None:
        """Calls through other objects, or in other files, that can't be followed to the end."""
        attributes = {
            name
            for (_, name), bindings in self.index.attributes.items()
            if any(b.value in self.scales for b in bindings)
        }
        for call in self.index.calls:
            function = call.func
            if call.args or call.keywords:
                continue
            returned = isinstance(function, ast.Call) and any(
                p in self.scales for p in self.optimizers.producers(function)
            )
            is_attribute = (
                isinstance(function, ast.Attribute)
                and function.attr in attributes
                and not self.index.self_attribute(function)
            )
            if returned or is_attribute:
                name = dotted(function) or "what is returned here"
                self.context.report("loss-scale-called", call, status=Status.MANUAL, callee=name)
        for scale in self.scales:
            for binding in self.index.statement_bindings(self.index.statement(scale)):
                if self.context.is_taken(binding.name):
                    self.context.report(
                        "loss-scale-called", scale, status=Status.MANUAL, callee=binding.name
                    )

    def _loss_scale_attributes(self) -> None:
        for chain in self.index.chains:
            if not isinstance(chain, ast.Attribute) or not isinstance(
                chain.value, (ast.Name, ast.Attribute)
            ):
                continue
            if chain.attr in ("get_loss_scale", "update_loss_scale") or chain in self.context.gone:
                continue
            if isinstance(chain.value, ast.Attribute) and not self.index.self_attribute(
                chain.value
            ):
                continue
            if any(p in self.scales for p in self.optimizers.producers(chain.value)):
                self.context.report(
                    "loss-scale-attribute", chain, attribute=chain.attr, symbol=dotted(chain)
                )


def _dynamic_manager(call: ast.Call, callee: str) -> Tuple[str, Parts]:
    """Source of the manager for a ``DynamicLossScale``, with all five arguments."""
    given = {
        "init": argument(call, 0, "initial_loss_scale"),
        "period": argument(call, 1, "increment_period"),
        "ratio": argument(call, 2, "multiplier"),
    }
    arguments = (
        "init_loss_scale=$init" if given["init"] is not None else DEFAULTS[0],
        "incr_every_n_steps=$period" if given["period"] is not None else DEFAULTS[1],
        "decr_every_n_nan_or_inf=1",
        "incr_ratio=$ratio" if given["ratio"] is not None else DEFAULTS[2],
        f"decr_ratio={_inverse(given['ratio'])}",
    )
    parts = {name: value for name, value in given.items() if value is not None}
    return f"{callee}({', '.join(arguments)})", parts


def _inverse(ratio: Optional[ast.expr]) -> str:
    """Source of ``1 / ratio``, worked out where that is exact."""
    if ratio is None:
        return "0.5"
    value = literal(ratio)
    if isinstance(value, (int, float)) and value > 0 and float(value).hex().startswith("0x1.0000"):
        return repr(1.0 / value)
    return "1.0 / $ratio"
