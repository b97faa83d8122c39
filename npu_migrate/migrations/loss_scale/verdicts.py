"""Which loss-scaling optimizers can be migrated, and with what manager."""

import ast
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument, unpacks
from npu_migrate.migrations.distributed import nesting
from npu_migrate.migrations.distributed.nesting import Nesting
from npu_migrate.migrations.optimizers import APPLYING, Optimizers
from npu_migrate.names import dotted, is_none, literal

RULES = {
    vocabulary.CONTRIB_OPTIMIZER: "loss-scale-optimizer",
    vocabulary.EXPERIMENTAL_OPTIMIZER: "mixed-precision-loss-scale-optimizer",
    vocabulary.GRAPH_REWRITE: "mixed-precision-graph-rewrite",
}
DEFAULTS = ("init_loss_scale=2 ** 15", "incr_every_n_steps=2000", "incr_ratio=2.0")
"""Of ``tf.train.experimental.DynamicLossScale``, under the manager's names."""

DYNAMIC = (
    f"@dynamic({DEFAULTS[0]}, {DEFAULTS[1]}, decr_every_n_nan_or_inf=1, {DEFAULTS[2]}, "
    "decr_ratio=0.5)"
)
FIXED = "@fixed($it)"
"""Sources of managers; the names behind ``@`` are filled in once it is sure they are needed."""


class Verdict(NamedTuple):
    """Why a wrapping call can't be migrated."""

    rule: str
    subject: str = ""


class Verdicts:
    """The judgement on every loss-scaling optimizer of one file."""

    def __init__(self, context: Context, optimizers: Optimizers, order: Nesting) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self.nesting = order
        wraps = self.index.calls_of(vocabulary.TO_MIGRATE)
        self._of = {wrap: self._judge(wrap) for wrap in wraps}
        self._agree()

    @property
    def migrated(self) -> List[ast.Call]:
        """The optimizers that become the NPU's."""
        return [wrap for wrap, verdict in self._of.items() if verdict is None]

    @property
    def left(self) -> Dict[ast.Call, Verdict]:
        """The optimizers that stay, and why."""
        return {wrap: verdict for wrap, verdict in self._of.items() if verdict is not None}

    def symbol(self, wrap: ast.Call) -> str:
        """The qualified name of what a call makes."""
        return sorted(self.index.resolve(wrap.func).names)[0]

    def _agree(self) -> None:
        """A loss-scale object becomes a manager for all of its optimizers or for none."""
        changed = True
        while changed:
            changed = False
            held = {scale for wrap in self.left for scale in self.scales_of(wrap)}
            for wrap in self.migrated:
                if held & set(self.scales_of(wrap)):
                    self._of[wrap] = Verdict("loss-scale-shared-with-unmigrated")
                    changed = True

    def scales_of(self, wrap: ast.Call) -> List[ast.Call]:
        """The loss-scale objects that an optimizer may be given."""
        if self.symbol(wrap) == vocabulary.CONTRIB_OPTIMIZER:
            return []
        value = argument(wrap, 1, "loss_scale")
        if value is None:
            return []
        return [
            p
            for p in self.optimizers.producers(value)
            if isinstance(p, ast.Call) and self.optimizers.is_wrap(p, vocabulary.LOSS_SCALES)
        ]

    def _judge(self, wrap: ast.Call) -> Optional[Verdict]:
        resolution = self.index.resolve(wrap.func)
        if len(resolution.names) > 1:
            return Verdict("ambiguous-name", listing(resolution.names))
        rule = RULES[resolution.sole]
        inner = self.optimizers.inner(wrap)
        if unpacks(wrap) or inner is None:
            return Verdict("arguments-not-visible", dotted(wrap.func))
        if self._is_keras(wrap, inner):
            return Verdict("keras-loss-scaling")
        if self.optimizers.always_scaled(inner):
            return Verdict("scaled-twice")
        if wrap in self.nesting.inside_out:
            return Verdict(nesting.RULE)
        if any(self._gives_an_operation(p) for p in self.optimizers.producers(inner)):
            return Verdict("wraps-an-operation")
        if rule == "mixed-precision-graph-rewrite" and self._trains_nothing(wrap):
            return Verdict("graph-rewrite-trains-nothing")
        if rule != "loss-scale-optimizer" and self.manager_source(wrap) is None:
            value = argument(wrap, 1, "loss_scale")
            return Verdict("loss-scale-not-known", dotted(value) if value is not None else "")
        return None

    def _is_keras(self, wrap: ast.Call, inner: ast.expr) -> bool:
        kept = [inner, *self._kept_before(inner)]
        origins = [o for value in kept for o in self.optimizers.origins(value)]
        if any(self.context.run.is_keras_optimizer(o.name) for o in origins):
            return True
        for call in self.index.calls_written(("compile",)):
            if isinstance(call.func, ast.Attribute):
                compiled = argument(call, 0, "optimizer")
                if compiled is not None and wrap in self.optimizers.producers(compiled):
                    return True
        return False

    def _kept_before(self, inner: ast.expr) -> Iterator[ast.expr]:
        """What the function assigns to an attribute such as ``model.optimizer``."""
        if not isinstance(inner, ast.Attribute) or self.index.self_attribute(inner) is not None:
            return
        for statement in self.index.statements(self.index.region(inner)):
            if isinstance(statement, ast.Assign):
                if dotted(inner) in map(dotted, statement.targets):
                    yield statement.value

    def _gives_an_operation(self, producer: object) -> bool:
        return (
            isinstance(producer, ast.Call)
            and isinstance(producer.func, ast.Attribute)
            and producer.func.attr in APPLYING
        )

    def _trains_nothing(self, wrap: ast.Call) -> bool:
        statement = self.index.statement(wrap)
        if isinstance(statement, ast.Expr):
            return statement.value is wrap
        if not isinstance(statement, ast.Assign) or statement.value is not wrap:
            return False
        bindings = self.index.statement_bindings(statement)
        return (
            bool(bindings)
            and all(isinstance(target, ast.Name) for target in statement.targets)
            and not any(self.index.reads(binding) for binding in bindings)
        )

    # The loss scale that a wrapping call of tf.train.experimental is given --------------------

    def manager_source(self, wrap: ast.Call) -> Optional[str]:
        """Source of the manager for a wrap: ``$it`` where the argument becomes one by itself.

        ``None`` where what the argument is can't be known.
        """
        value = argument(wrap, 1, "loss_scale")
        if value is None:
            if self.symbol(wrap) != vocabulary.GRAPH_REWRITE:
                return None
            return DYNAMIC
        return self._manager_of(value)

    def _manager_of(self, value: ast.expr) -> Optional[str]:
        constant = _number_or_string(value)
        if constant == "dynamic":
            return DYNAMIC
        if isinstance(constant, (int, float)):
            return FIXED
        producers = [p for p in self.optimizers.producers(value) if not is_nothing(p)]
        if isinstance(value, ast.IfExp) and len(producers) > 1:
            return self._conditional(value)
        kinds = {self._kind_of_scale(producer) for producer in producers}
        if len(kinds) != 1:
            return None
        kind = kinds.pop()
        if kind == "object":
            return "$it"
        if kind == "dynamic":
            return DYNAMIC
        return FIXED if kind == "number" else None

    def _conditional(self, value: ast.IfExp) -> Optional[str]:
        arms = [self._manager_of(value.body), self._manager_of(value.orelse)]
        if arms == ["$it", "$it"]:
            return "$it"
        if None in arms or "$it" in arms:
            return None
        body, orelse = (str(arm) for arm in arms)
        return f"{body.replace('$it', '$body')} if $test else {orelse.replace('$it', '$orelse')}"

    def _kind_of_scale(self, producer: object) -> str:
        if isinstance(producer, ast.Call) and self.optimizers.is_wrap(
            producer, vocabulary.LOSS_SCALES
        ):
            return "object"
        if isinstance(producer, ast.expr):
            constant = _number_or_string(producer)
            if constant == "dynamic":
                return "dynamic"
            if isinstance(constant, (int, float)):
                return "number"
        return ""


def is_nothing(producer: object) -> bool:
    """Whether a value is the literal ``None``."""
    return isinstance(producer, ast.expr) and is_none(producer)


def _number_or_string(node: ast.expr) -> object:
    """The value of a literal, or of arithmetic on literal numbers (``2 ** 15``)."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _number_or_string(node.operand)
        return -value if isinstance(value, (int, float)) else None
    if isinstance(node, ast.BinOp):
        left, right = _number_or_string(node.left), _number_or_string(node.right)
        numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
        return 1.0 if numbers else None
    value = literal(node)
    return None if isinstance(value, bool) else value


def listing(names: Iterable[str]) -> str:
    """Qualified names as a person reads them."""
    return ", ".join(sorted(name.lstrip(":") for name in names))
