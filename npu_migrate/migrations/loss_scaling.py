"""Loss-scaling optimizers, managers and loss-scale objects, and what they become (NPU10x).

On the NPU an overflow saturates, so the finite check of TensorFlow's own classes never fires; the
vendor's classes of the same shape read a status register instead.
"""

import ast
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import (
    COMBINED_OPTIMIZER,
    DISTRIBUTED_OPTIMIZER,
    EXPONENTIAL_MANAGER,
    FIXED_MANAGER,
    LOSS_SCALE_OPTIMIZER,
    Context,
    argument,
    unpacks,
)
from npu_migrate.migrations.control_dependencies import (
    MANAGER_NAME,
    ControlDependencies,
    Parts,
    spelled,
)
from npu_migrate.migrations.nesting import Nesting
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import dotted, is_none, literal
from npu_migrate.plan import Argument, Edit, EditCall, ReplaceExpression, ReplaceStatement, Status

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

STRICTER = (
    "stricter than the original: a step that overflows is skipped, where the original applied it "
    "and its weights became Inf"
)
NO_RESTORE = "the state of the loss scale is not restored from checkpoints of the original"
DENSE = (
    "sparse gradients of embeddings become dense, which differs under optimizers with slots "
    "(Momentum, RMSProp, lazy Adam): they also move the rows that are not in the batch"
)


class Verdict(NamedTuple):
    """Why a wrapping call can't be migrated."""

    rule: str
    subject: str = ""


class LossScaling:
    """Migrates the loss scaling of one file."""

    def __init__(self, context: Context, optimizers: Optimizers, nesting: Nesting) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self.nesting = nesting
        self.dependencies = ControlDependencies(context, optimizers)
        self.migrated: List[ast.Call] = []
        """The wrapping calls that become the NPU's."""
        self.scales: Set[ast.Call] = set()
        """The loss-scale objects that become managers."""
        self.unresolved: List[ast.Call] = []
        """Calls inside that look like averaging, and are reported."""
        self.by_rank_count: List[ast.Call] = []
        """The wrapping calls that get an averaging optimizer where several ranks train."""

    def run(self) -> None:
        wraps = [c for c in self.index.calls if self._is_ours(c, vocabulary.TO_MIGRATE)]
        verdicts = {wrap: self._judge(wrap) for wrap in wraps}
        self._agree_on_scales(verdicts)
        self._managers(verdicts)
        for wrap in wraps:
            verdict = verdicts[wrap]
            if verdict is not None:
                self.context.report(
                    verdict.rule, wrap, symbol=self._symbol(wrap), subject=verdict.subject
                )
            else:
                self._migrate(wrap)
        self._loss_scales(verdicts)
        self._loss_scale_calls()

    def _is_ours(self, call: ast.Call, names: object) -> bool:
        return self.optimizers.is_wrap(call, names)  # type: ignore[arg-type]

    def _symbol(self, call: ast.Call) -> str:
        return sorted(self.index.resolve(call.func).names)[0]

    # Managers of tf.contrib: the same name, the same arguments --------------------------------

    def _managers(self, verdicts: Dict[ast.Call, Optional[Verdict]]) -> None:
        left = self._managers_of(verdicts, migrated=False)
        left -= self._managers_of(verdicts, migrated=True)
        for rule, target in (
            ("fixed-loss-scale-manager", FIXED_MANAGER),
            ("exponential-update-loss-scale-manager", EXPONENTIAL_MANAGER),
        ):
            for call in self.index.calls:
                if not self.context.matches(rule, call.func) or call in left:
                    continue
                resolution = self.index.resolve(call.func)
                if len(resolution.names) > 1:
                    self.context.report("ambiguous-name", call, subject=_listing(resolution.names))
                    continue
                callee = self.context.local(target, call)
                self.context.discard(call.func)
                edits: List[Edit] = [EditCall(call, callee)]
                if target == EXPONENTIAL_MANAGER and not unpacks(call):
                    edits = self.dependencies.lift(call, edits[0], *spelled(call, callee))
                self.context.report(
                    rule,
                    call,
                    *edits,
                    symbol=resolution.sole,
                    assumed=resolution.unknown or resolution.assumed,
                )

    def _managers_of(
        self, verdicts: Dict[ast.Call, Optional[Verdict]], migrated: bool
    ) -> Set[ast.Call]:
        """What the wraps that are migrated, or those that are left, take as their managers."""
        values = [
            argument(wrap, 1, "loss_scale_manager")
            for wrap, verdict in verdicts.items()
            if (verdict is None) is migrated
        ]
        producers = [p for v in values if v is not None for p in self.optimizers.producers(v)]
        return {p for p in producers if isinstance(p, ast.Call)}

    # Judging a wrapping call ------------------------------------------------------------------

    def _judge(self, wrap: ast.Call) -> Optional[Verdict]:
        resolution = self.index.resolve(wrap.func)
        if len(resolution.names) > 1:
            return Verdict("ambiguous-name", _listing(resolution.names))
        rule = RULES[resolution.sole]
        inner = self.optimizers.inner(wrap)
        if unpacks(wrap) or inner is None:
            return Verdict("arguments-not-visible", dotted(wrap.func))
        if self._is_keras(wrap, inner):
            return Verdict("keras-loss-scaling")
        if self.optimizers.always_scaled(inner):
            return Verdict("scaled-twice")
        if wrap in self.nesting.inside_out:
            return Verdict("averaged-after-unscaling")
        if any(self._gives_an_operation(p) for p in self.optimizers.producers(inner)):
            return Verdict("wraps-an-operation")
        if rule == "mixed-precision-graph-rewrite" and self._trains_nothing(wrap):
            return Verdict("graph-rewrite-trains-nothing")
        if rule != "loss-scale-optimizer" and self._manager_source(wrap) is None:
            value = argument(wrap, 1, "loss_scale")
            return Verdict("loss-scale-not-known", dotted(value) if value is not None else "")
        return None

    def _is_keras(self, wrap: ast.Call, inner: ast.expr) -> bool:
        origins = self.optimizers.origins(inner)
        if any(o.name.startswith(vocabulary.KERAS_OPTIMIZERS) for o in origins):
            return True
        for call in self.index.calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr == "compile":
                compiled = argument(call, 0, "optimizer")
                if compiled is not None and wrap in self.optimizers.producers(compiled):
                    return True
        return False

    def _gives_an_operation(self, producer: object) -> bool:
        return (
            isinstance(producer, ast.Call)
            and isinstance(producer.func, ast.Attribute)
            and producer.func.attr in ("minimize", "apply_gradients")
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

    def _manager_source(self, wrap: ast.Call) -> Optional[str]:
        """Source of the manager for a wrap: ``$it`` where the argument becomes one by itself.

        ``None`` where what the argument is can't be known.
        """
        value = argument(wrap, 1, "loss_scale")
        if value is None:
            if self._symbol(wrap) != vocabulary.GRAPH_REWRITE:
                return None
            return DYNAMIC
        return self._manager_of(value)

    def _manager_of(self, value: ast.expr) -> Optional[str]:
        constant = _number_or_string(value)
        if constant == "dynamic":
            return DYNAMIC
        if isinstance(constant, (int, float)):
            return FIXED
        if isinstance(value, ast.IfExp):
            return self._conditional(value)
        producers = self.optimizers.producers(value)
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
        if isinstance(producer, ast.Call) and self._is_ours(producer, vocabulary.LOSS_SCALES):
            return "object"
        if isinstance(producer, ast.expr):
            constant = _number_or_string(producer)
            if constant == "dynamic":
                return "dynamic"
            if isinstance(constant, (int, float)):
                return "number"
        return ""

    # Migrating a wrapping call ----------------------------------------------------------------

    def _migrate(self, wrap: ast.Call) -> None:
        self.migrated.append(wrap)
        self.context.discard(wrap.func)
        notes = self._notes(wrap)
        edits = self._edits(wrap)
        resolution = self.index.resolve(wrap.func)
        self.context.report(
            RULES[resolution.sole],
            wrap,
            *edits,
            symbol=resolution.sole,
            assumed=resolution.unknown or resolution.assumed,
            notes="".join(f"; {note}" for note in notes),
        )

    def _notes(self, wrap: ast.Call) -> List[str]:
        """What differs from the original beyond the place where overflow is read."""
        if self._symbol(wrap) == vocabulary.CONTRIB_OPTIMIZER:
            return []
        source = self._manager_source(wrap) or ""
        notes = []
        if "@fixed" in source:
            notes.append(STRICTER)
        if "@dynamic" in source:
            notes.append(NO_RESTORE)
        if self.context.run.has_embeddings(self.index.module):
            notes.append(DENSE)
        return notes

    def _edits(self, wrap: ast.Call) -> List[Edit]:
        source, before = self._hoisted(wrap, self._source_of_manager(wrap))
        return before + self._wrapping(wrap, source)

    def _hoisted(self, wrap: ast.Call, source: str) -> Tuple[str, List[Edit]]:
        """A new dynamic manager is built before the control dependencies around its optimizer."""
        is_new = source.startswith(self.context.known(EXPONENTIAL_MANAGER) + "(")
        if not is_new or not self.dependencies.holds(wrap):
            return source, []
        hoisted = self.dependencies.hoist(wrap, source, {})
        if hoisted is None:
            self.context.report("manager-in-control-dependencies-stuck", wrap)
            return source, []
        self.context.report("manager-in-control-dependencies", wrap, hoisted[1])
        return hoisted[0], []

    def _wrapping(self, wrap: ast.Call, source: str) -> List[Edit]:
        arguments = self._manager_argument(wrap, source) + self._is_distributed(wrap)
        averages = wrap in self.nesting.to_swap or self._is_distributed_already(wrap)
        if not averages:
            self.by_rank_count.append(wrap)
        if self.context.combined and not averages:
            arguments.append(Argument("is_loss_scale", "True"))
            return [EditCall(wrap, self.context.local(COMBINED_OPTIMIZER, wrap), tuple(arguments))]
        callee = self.context.local(LOSS_SCALE_OPTIMIZER, wrap)
        if wrap in self.nesting.to_swap:
            distributed = self.context.local(DISTRIBUTED_OPTIMIZER, wrap)
            arguments.insert(0, self._argument_inside(wrap, f"{distributed}($it)"))
        elif not averages and self._is_plain_statement(wrap):
            return [self._by_rank_count(wrap, callee, source)]
        elif not averages:
            arguments.insert(0, self._wrapped_inner(wrap))
        return [EditCall(wrap, callee, tuple(arguments))]

    def _is_distributed_already(self, wrap: ast.Call) -> bool:
        distributions = self.optimizers.distributions(wrap)
        for call in distributions:
            if self.optimizers.may_distribute(call) and call not in self.unresolved:
                self.unresolved.append(call)
                self.context.report("receiver-not-resolved", call, attribute="DistributedOptimizer")
        return bool(distributions) or self.context.run.uses_horovod(self.index.module)

    def _source_of_manager(self, wrap: ast.Call) -> str:
        if self._symbol(wrap) == vocabulary.CONTRIB_OPTIMIZER:
            return "$it"
        source = self._manager_source(wrap)
        assert source is not None
        for mark, target in (("@fixed", FIXED_MANAGER), ("@dynamic", EXPONENTIAL_MANAGER)):
            if mark in source:
                source = source.replace(mark, self.context.local(target, wrap))
        return source

    def _is_distributed(self, wrap: ast.Call) -> List[Argument]:
        adapter = self.context.local(vocabulary.ADAPTER, wrap)
        return [Argument("is_distributed", f"{adapter}.size() > 1")]

    def _manager_argument(self, wrap: ast.Call, source: str) -> List[Argument]:
        """The change to the second argument: a loss scale becomes a manager."""
        value = argument(wrap, 1, "loss_scale", "loss_scale_manager")
        if value is None:
            return [Argument(MANAGER_NAME, source)]
        by_keyword = any(k.arg == "loss_scale" for k in wrap.keywords)
        if source == "$it":
            return [Argument("loss_scale", rename=MANAGER_NAME)] if by_keyword else []
        at = "loss_scale" if by_keyword else 1
        parts = {}
        if isinstance(value, ast.IfExp):
            parts = {"test": value.test, "body": value.body, "orelse": value.orelse}
            parts = {name: part for name, part in parts.items() if "$" + name in source}
        return [Argument(at, source, MANAGER_NAME if by_keyword else "", parts)]

    def _wrapped_inner(self, wrap: ast.Call) -> Argument:
        distributed = self.context.local(DISTRIBUTED_OPTIMIZER, wrap)
        adapter = self.context.local(vocabulary.ADAPTER, wrap)
        return self._argument_inside(wrap, f"{distributed}($it) if {adapter}.size() > 1 else $it")

    def _argument_inside(self, wrap: ast.Call, code: str) -> Argument:
        """The change of the inner optimizer, wherever the call has it."""
        inner = self.optimizers.inner(wrap)
        return Argument(next((k.arg for k in wrap.keywords if k.value is inner and k.arg), 0), code)

    # The guide's form: a statement for each of one and several ranks --------------------------

    def _is_plain_statement(self, wrap: ast.Call) -> bool:
        statement = self.index.statement(wrap)
        return (
            isinstance(statement, ast.Assign)
            and statement.value is wrap
            and (self._is_name(self.optimizers.inner(wrap)) or self._may_bind_first(wrap))
            and self.index.stands_alone(statement)
        )

    def _is_name(self, node: Optional[ast.expr]) -> bool:
        return node is not None and bool(dotted(node))

    def _may_bind_first(self, wrap: ast.Call) -> bool:
        """Whether the target may hold the inner optimizer before it holds the wrapped one."""
        statement = self.index.statement(wrap)
        assert isinstance(statement, ast.Assign)
        target = statement.targets[0]
        if len(statement.targets) != 1 or not isinstance(target, ast.Name):
            return False
        given = [*wrap.args, *(keyword.value for keyword in wrap.keywords)]
        others = [a for a in given if a is not self.optimizers.inner(wrap)]
        names = [n.id for a in others for n in ast.walk(a) if isinstance(n, ast.Name)]
        return target.id not in names

    def _by_rank_count(self, wrap: ast.Call, callee: str, source: str) -> ReplaceStatement:
        context = self.context
        statement = self.index.statement(wrap)
        inner = self.optimizers.inner(wrap)
        assert inner is not None
        distributed = context.local(DISTRIBUTED_OPTIMIZER, wrap)
        adapter = context.local(vocabulary.ADAPTER, wrap)
        lines = []
        if "$it" not in source and "$test" not in source and not source.isidentifier():
            name = context.fresh(MANAGER_NAME)
            context.claim(name)
            lines.append(f"{name} = {source}")
            source = name
        arguments = self._manager_argument(wrap, source)
        lines.append(f"if {adapter}.size() > 1:")
        wrapping: Tuple[Argument, ...] = ()
        parts = {"inner": inner}
        if not dotted(inner):
            assert isinstance(statement, ast.Assign)
            target = dotted(statement.targets[0])
            lines.insert(-1, f"{target} = $inner")
            lines.append(f"    {target} = {distributed}({target})")
            arguments = [self._argument_inside(wrap, target), *arguments]
        elif self._may_rebind(inner, statement):
            lines.append(f"    $inner = {distributed}($inner)")
        else:
            wrapping = (self._argument_inside(wrap, f"{distributed}($it)"),)
        lines += ["    $several", "else:", "    $one"]
        several = (*wrapping, *arguments, Argument("is_distributed", "True"))
        return ReplaceStatement(
            statement,
            "\n".join(lines) + "\n",
            parts=parts,
            variants={
                "several": (EditCall(wrap, callee, several),),
                "one": (EditCall(wrap, callee, tuple(arguments)),),
            },
        )

    def _may_rebind(self, inner: ast.expr, statement: ast.stmt) -> bool:
        """Whether nothing else reads the inner optimizer under its own name afterwards."""
        if not isinstance(inner, ast.Name):
            return False
        targets = {b.name for b in self.index.statement_bindings(statement)}
        if inner.id in targets:
            return True
        scope = self.index.scope(statement)
        return not any(
            self.index.scope(read) is not scope or _position(read) > _position(inner)
            for read in self.index.reads_of(inner.id)
            if read is not inner
        )

    # Loss-scale objects of tf.train.experimental ----------------------------------------------

    def _agree_on_scales(self, verdicts: Dict[ast.Call, Optional[Verdict]]) -> None:
        """A loss-scale object becomes a manager for all of its optimizers or for none."""
        changed = True
        while changed:
            changed = False
            held = {s for w, v in verdicts.items() if v is not None for s in self._scales_of(w)}
            for wrap, verdict in verdicts.items():
                if verdict is None and held & set(self._scales_of(wrap)):
                    verdicts[wrap] = Verdict("loss-scale-shared-with-unmigrated")
                    changed = True

    def _scales_of(self, wrap: ast.Call) -> List[ast.Call]:
        if self._symbol(wrap) == vocabulary.CONTRIB_OPTIMIZER:
            return []
        value = argument(wrap, 1, "loss_scale")
        if value is None:
            return []
        return [
            p
            for p in self.optimizers.producers(value)
            if isinstance(p, ast.Call) and self._is_ours(p, vocabulary.LOSS_SCALES)
        ]

    def _loss_scales(self, verdicts: Dict[ast.Call, Optional[Verdict]]) -> None:
        wanted = {s for w, v in verdicts.items() if v is None for s in self._scales_of(w)}
        left = {s for w, v in verdicts.items() if v is not None for s in self._scales_of(w)}
        for call in self.index.calls:
            if not self._is_ours(call, vocabulary.LOSS_SCALES):
                continue
            if call in wanted and not unpacks(call):
                self.scales.add(call)
                self._loss_scale(call)
            elif call not in left:
                self.context.report("loss-scale-without-optimizer", call, symbol=self._symbol(call))

    def _loss_scale(self, call: ast.Call) -> None:
        self.context.discard(call.func)
        symbol = self._symbol(call)
        if symbol == vocabulary.FIXED_LOSS_SCALE:
            rename = Argument("loss_scale_value", rename="loss_scale")
            given = any(k.arg == "loss_scale_value" for k in call.keywords)
            edit: Edit = EditCall(
                call, self.context.local(FIXED_MANAGER, call), (rename,) if given else ()
            )
            self.context.report("fixed-loss-scale", call, edit, symbol=symbol)
        else:
            callee = self.context.local(EXPONENTIAL_MANAGER, call)
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
            producers = [p for p in self.optimizers.producers(call.func) if not _is_nothing(p)]
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


def _is_nothing(producer: object) -> bool:
    """Whether a value is the literal ``None``."""
    return isinstance(producer, ast.expr) and is_none(producer)


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


def _inverse(ratio: Optional[ast.expr]) -> str:
    """Source of ``1 / ratio``, worked out where that is exact."""
    if ratio is None:
        return "0.5"
    value = literal(ratio)
    if isinstance(value, (int, float)) and value > 0 and float(value).hex().startswith("0x1.0000"):
        return repr(1.0 / value)
    return "1.0 / $ratio"


def _listing(names: object) -> str:
    return ", ".join(sorted(str(name).lstrip(":") for name in names))  # type: ignore[attr-defined]


def _position(node: ast.expr) -> Tuple[int, int]:
    return (node.lineno, node.col_offset)
