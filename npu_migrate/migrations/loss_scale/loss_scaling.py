"""Loss-scaling optimizers and what they become (NPU10x).

On the NPU an overflow saturates, so the finite check of TensorFlow's own classes never fires; the
vendor's classes of the same shape read a status register instead.
"""

import ast
from typing import List, Optional, Sequence, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument, place_of
from npu_migrate.migrations.distributed import nesting
from npu_migrate.migrations.distributed.nesting import Nesting
from npu_migrate.migrations.loss_scale.control_dependencies import MANAGER_NAME, ControlDependencies
from npu_migrate.migrations.loss_scale.managers import Managers
from npu_migrate.migrations.loss_scale.verdicts import RULES, Verdicts
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.session import precision
from npu_migrate.names import LOOPS, arguments_of, dotted
from npu_migrate.plan import Argument, Edit, EditCall, ReplaceStatement, Status

STRICTER = (
    "stricter than the original: a step that overflows is skipped, where the original applied it "
    "and its weights became Inf"
)
SCALED_ALREADY = "the script scales its loss already, so --loss-scale adds nothing"
NO_RESTORE = "the state of the loss scale is not restored from checkpoints of the original"
DENSE = (
    "sparse gradients of embeddings become dense, which differs under optimizers with slots "
    "(Momentum, RMSProp, lazy Adam): they also move the rows that are not in the batch"
)


class LossScaling:
    """Migrates the loss scaling of one file."""

    def __init__(self, context: Context, optimizers: Optimizers, order: Nesting) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self.nesting = order
        self.verdicts = Verdicts(context, optimizers, order)
        self.dependencies = ControlDependencies(context, optimizers)
        self.unresolved: List[ast.Call] = []
        """Calls inside that look like averaging, and are reported."""
        self.by_rank_count: List[ast.Call] = []
        """The wrapping calls that get an averaging optimizer where several ranks train."""

    def run(self) -> None:
        verdicts = self.verdicts
        Managers(self.context, self.optimizers, verdicts, self.dependencies).run()
        for wrap in verdicts.migrated:
            self._migrate(wrap)
        for wrap, verdict in verdicts.left.items():
            symbol = verdicts.symbol(wrap)
            if verdict.rule == precision.DUMMY_RULE and precision.is_carried(self.context, wrap):
                continue  # its work is done by the sessions, and it goes
            is_order = verdict.rule == nesting.RULE
            if is_order and self.nesting.can_move:
                continue  # the averaging around it is reported
            status = Status.MANUAL if is_order else None
            self.context.report(
                verdict.rule, wrap, status=status, symbol=symbol, subject=verdict.subject
            )

    def _migrate(self, wrap: ast.Call) -> None:
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
        notes = [SCALED_ALREADY] if self.context.run.loss_scale else []
        if self.verdicts.symbol(wrap) == vocabulary.CONTRIB_OPTIMIZER:
            return notes
        source = self.verdicts.manager_source(wrap) or ""
        if "@fixed" in source:
            notes.append(STRICTER)
        if "@dynamic" in source:
            notes.append(NO_RESTORE)
        if self.context.run.has_embeddings(self.index.module):
            notes.append(DENSE)
        return notes

    def _edits(self, wrap: ast.Call) -> List[Edit]:
        return self._wrapping(wrap, self._hoisted(wrap, self._source_of_manager(wrap)))

    def _hoisted(self, wrap: ast.Call, source: str) -> str:
        """A new dynamic manager is built before the control dependencies around its optimizer."""
        is_new = source.startswith(self.context.known(vocabulary.EXPONENTIAL_MANAGER) + "(")
        if not is_new or not self.dependencies.holds(wrap):
            return source
        hoisted = self.dependencies.hoist(wrap, source, {})
        if hoisted is None:
            self.context.report("manager-in-control-dependencies-stuck", wrap)
            return source
        name, edit = hoisted
        self.context.report("manager-in-control-dependencies", wrap, edit)
        return name

    def _wrapping(self, wrap: ast.Call, source: str) -> List[Edit]:
        arguments = self._manager_argument(wrap, source) + self._is_distributed(wrap)
        averages = wrap in self.nesting.to_swap or self._is_distributed_already(wrap)
        if not averages:
            self.by_rank_count.append(wrap)
        if self.context.options.combines_optimizers and not averages:
            arguments.append(Argument("is_loss_scale", "True"))
            callee = self.context.local(vocabulary.COMBINED_OPTIMIZER, wrap)
            return [EditCall(wrap, callee, tuple(arguments))]
        callee = self.context.local(vocabulary.LOSS_SCALE_OPTIMIZER, wrap)
        if wrap in self.nesting.to_swap:
            distributed = self.context.local(vocabulary.DISTRIBUTED_OPTIMIZER, wrap)
            arguments.insert(0, self._argument_inside(wrap, f"{distributed}($it)"))
        elif not averages and self._is_plain_statement(wrap):
            return [self._by_rank_count(wrap, callee, source)]
        elif not averages:
            arguments.insert(0, self._wrapped_inner(wrap))
        return [EditCall(wrap, callee, tuple(arguments))]

    def _is_distributed_already(self, wrap: ast.Call) -> bool:
        return self.is_averaged(wrap, self.optimizers.uses_of(wrap))

    def is_averaged(self, optimizer: ast.expr, uses: Sequence[ast.Call]) -> bool:
        """Whether the script averages an optimizer's gradients over ranks, or its program does."""
        distributions = self.optimizers.distributions(optimizer)
        for call in distributions:
            if self.optimizers.may_distribute(call) and call not in self.unresolved:
                self.unresolved.append(call)
                self.context.report("receiver-not-resolved", call, attribute="DistributedOptimizer")
        if distributions or self.context.run.uses_horovod(self.index.module):
            return True
        return self.optimizers.averaged_by_hand(uses)

    def _source_of_manager(self, wrap: ast.Call) -> str:
        if self.verdicts.symbol(wrap) == vocabulary.CONTRIB_OPTIMIZER:
            return "$it"
        source = self.verdicts.manager_source(wrap)
        assert source is not None
        for mark, target in (
            ("@fixed", vocabulary.FIXED_MANAGER),
            ("@dynamic", vocabulary.EXPONENTIAL_MANAGER),
        ):
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
        distributed = self.context.local(vocabulary.DISTRIBUTED_OPTIMIZER, wrap)
        adapter = self.context.local(vocabulary.ADAPTER, wrap)
        return self._argument_inside(wrap, f"{distributed}($it) if {adapter}.size() > 1 else $it")

    def _argument_inside(self, wrap: ast.Call, code: str) -> Argument:
        """The change of the inner optimizer, wherever the call has it."""
        inner = self.optimizers.inner(wrap)
        assert inner is not None
        return Argument(place_of(wrap, inner), code)

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
        target = dotted(statement.targets[0])
        if len(statement.targets) != 1 or not target:
            return False
        given = arguments_of(wrap)
        others = [a for a in given if a is not self.optimizers.inner(wrap)]
        return target not in {dotted(node) for other in others for node in ast.walk(other)}

    def _by_rank_count(self, wrap: ast.Call, callee: str, source: str) -> ReplaceStatement:
        context = self.context
        statement = self.index.statement(wrap)
        inner = self.optimizers.inner(wrap)
        assert inner is not None
        distributed = context.local(vocabulary.DISTRIBUTED_OPTIMIZER, wrap)
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
        if inner.id not in scope.bindings or inner.id in scope.shared:
            return False
        if not self._is_bound_in_same_loop(inner, statement):
            return False
        return not any(
            self.index.scope(read) is not scope or _position(read) > _position(inner)
            for read in self.index.reads_of(inner.id)
            if read is not inner
        )

    def _is_bound_in_same_loop(self, inner: ast.Name, statement: ast.stmt) -> bool:
        """Whether each pass of a loop around a wrap begins with a new inner optimizer."""
        loop = next((n for n in self.index.ancestors(statement) if isinstance(n, LOOPS)), None)
        return loop is None or all(
            bound.statement is not None and self.index.inside(bound.statement, loop)
            for bound in self.index.bindings(inner)
        )


def _position(node: ast.expr) -> Tuple[int, int]:
    return (node.lineno, node.col_offset)
