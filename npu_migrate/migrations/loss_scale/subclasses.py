"""Subclasses of the loss-scaling classes (NPU118)."""

import ast
from typing import Set

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context
from npu_migrate.names import FUNCTIONS
from npu_migrate.plan import ReplaceExpression, Status


class Subclasses:
    """The user's own loss-scaling classes in one file."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.index = context.index
        self.reported: Set[ast.AST] = set()
        """Classes that a person must see to as a whole."""

    def run(self) -> None:
        bases = {**dict.fromkeys(vocabulary.TO_MIGRATE, "optimizer")}
        bases.update(dict.fromkeys(vocabulary.SAME_NAME, "manager"))
        bases.update(dict.fromkeys(vocabulary.LOSS_SCALES, "scale"))
        for node in self.index.classes:
            for base in node.bases:
                name = self.index.resolve(base).sole
                if name in bases:
                    self._subclass(node, base, name, bases[name])

    def _subclass(self, node: ast.ClassDef, base: ast.expr, name: str, kind: str) -> None:
        methods = {s.name for s in node.body if isinstance(s, FUNCTIONS)}
        blind = methods & {"apply_gradients", "update_loss_scale", "update", "compute_gradients"}
        private = [
            inner
            for inner in ast.walk(node)
            if isinstance(inner, ast.Attribute)
            and isinstance(inner.value, ast.Name)
            and inner.value.id == "self"
            and inner.attr.startswith("_")
            and not self.index.attributes.get((node, inner.attr))
            and inner.attr not in methods
        ]
        replaced = vocabulary.CONTRIB_OPTIMIZER, *vocabulary.SAME_NAME
        if blind or private or name not in replaced:
            self.reported.add(node)
            self.context.report(
                "loss-scaling-subclass",
                node,
                symbol=name,
                what=", ".join(sorted(blind) or sorted({p.attr for p in private}) or [name]),
            )
            return
        target = (
            vocabulary.BRIDGE
            + {
                "optimizer": "npu_loss_scale_optimizer.NPULossScaleOptimizer",
                "manager": "npu_loss_scale_manager." + name.rpartition(".")[2],
            }[kind]
        )
        edit = ReplaceExpression(base, self.context.local(target, node))
        self.context.discard(base)
        self.context.report(
            "loss-scaling-subclass", node, edit, symbol=name, status=Status.MIGRATED, what=name
        )
