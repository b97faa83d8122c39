"""How a move of the global step comes out of a training function, and whether it can."""

import ast
from dataclasses import dataclass, field
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from npu_migrate.facts import RunFacts
from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import argument, same, unpacks
from npu_migrate.migrations.optimizers import APPLYING, Optimizers
from npu_migrate.migrations.step.conds import Conds
from npu_migrate.migrations.step.steps import Move, Steps, handed_step
from npu_migrate.names import LOOPS, WITHS, Index, dotted, literal, method_name
from npu_migrate.plan import DropElement, Edit, ReplaceExpression, ReplaceStatement

TENSORFLOW = "@tf"
"""Stands in the code of edits for the file's own name of the ``tensorflow`` module."""


TAKES_OPS = ("tensorflow.group", "tensorflow.tuple", vocabulary.CONTROL_DEPENDENCIES)
"""Functions to which an operation is as good as a tensor."""


class TrainingOp(NamedTuple):
    """What stands for the training op once the move is out: an expression in a statement."""

    node: ast.expr
    statement: ast.stmt


@dataclass(frozen=True)
class TakenOut:
    """What takes one move out of a function."""

    edits: Tuple[Edit, ...] = ()
    removed: Tuple[ast.stmt, ...] = ()
    gone: Tuple[ast.AST, ...] = ()
    """Nodes that the edits take out, beside the removed statements."""
    kept: Tuple[ast.AST, ...] = ()
    """Parts of the nodes that are gone that stay in another place."""
    op: Optional[TrainingOp] = None


@dataclass(frozen=True)
class Judgement:
    """Whether and how a training function can leave the step to its optimizers."""

    obstacle: str = ""
    """Name of the rule that says why not."""
    at: Optional[ast.AST] = None
    taken_out: Dict[Move, TakenOut] = field(default_factory=dict)
    receivers: Tuple[ast.Call, ...] = ()
    """The uses that shall be handed the step."""
    relieved: Tuple[ast.Call, ...] = ()
    """The uses that shall no longer be handed it."""


class StepMoves:
    """Takes moves of the global step out of the functions of one file."""

    def __init__(self, index: Index, optimizers: Optimizers, steps: Steps, run: RunFacts) -> None:
        self.fetches = run.fetches
        self.imported = run.imported
        self.index = index
        self.optimizers = optimizers
        self.steps = steps
        self.paths = steps.paths
        self.conds = Conds(index, optimizers)

    def judge(self, region: ast.AST) -> Judgement:
        """Decide for one training function; nothing is changed."""
        uses = self.optimizers.uses(region)
        moves = self.steps.moves(region)
        if not moves:
            return Judgement(receivers=tuple(uses))
        if not uses:
            return Judgement("step-moved-apart", moves[0].call)
        counter = self._counter(region)
        if counter is not None:
            return Judgement("step-is-micro-batch-counter", counter)
        outside = self._applied_outside_cond(region, uses)
        if outside is not None:
            return Judgement("applied-outside-cond", outside)
        for move in moves:
            if any(self._is_another(handed_step(use), move.step) for use in uses):
                return Judgement("step-move-entangled", move.call)
            if self._counts_runs(move, uses):
                return Judgement("step-counts-runs", move.call)
        taken_out: Dict[Move, TakenOut] = {}
        for move in moves:
            taken = self._take_out(move.call) if move.by_one else None
            if taken is None or self._identity_is_needed(move):
                return Judgement("step-move-entangled", move.call)
            taken_out[move] = taken
        return self._share(uses, taken_out)

    def is_conditional(self, region: ast.AST) -> bool:
        """Whether some path applies gradients and moves the step nowhere."""
        moves = [move.call for move in self.steps.moves(region)]
        return any(
            not any(self.paths.always_with(move, use, moves) for move in moves)
            for use in self.optimizers.uses(region)
            if any(not self.paths.exclusive(use, move) for move in moves)
        )

    def is_ordered(self, move: Move) -> bool:
        """Whether a move waits for a training op by ``with tf.control_dependencies``."""
        for ancestor in self.index.ancestors(move.call):
            if isinstance(ancestor, WITHS):
                inputs = self._dependencies(ancestor)
                if inputs is not None and self.optimizers.derives_from(inputs, (), APPLYING):
                    return True
        return False

    def _is_another(self, handed: Optional[ast.expr], step: ast.expr) -> bool:
        """Whether a use is handed another counter than the one that moves outside."""
        if handed is None or same(handed, step):
            return False
        return not (self.steps.is_step_value(handed) and self.steps.is_step_value(step))

    def _counts_runs(self, move: Move, uses: Sequence[ast.Call]) -> bool:
        """Whether the step moves in every run, though gradients are applied only in some."""
        region = self.index.region(move.call)
        value = self.steps.new_value(move.call)
        if value is not None and self.optimizers.derives_from(value, vocabulary.CONDS):
            return False
        for cond in self.conds.of(region):
            if self.index.inside(move.call, cond):
                continue
            for branch in self.conds.branches(cond):
                made = self.conds.uses_in(branch)
                applied = [u for u in made if u in uses and not self.paths.exclusive(u, move.call)]
                if applied and not self.conds.holds(branch, move.call):
                    return True
        return False

    def fetched_identity(self, move: Move) -> str:
        """The name of the moved step's tensor where the run fetches it."""
        value = self.steps.new_value(move.call)
        for producer in self.index.producers(value) if value is not None else ():
            if not isinstance(producer, ast.Call):
                continue
            if self.index.resolve(producer.func).sole == vocabulary.IDENTITY:
                name = literal(argument(producer, 1, "name"))
                if isinstance(name, str) and f"{name}:0" in self.fetches:
                    return name
        return ""

    def _identity_is_needed(self, move: Move) -> bool:
        """Whether the tensor that the run fetches by name has other readers in the code."""
        if not self.fetched_identity(move):
            return False
        return bool(self.other_reads(move)) or self._may_be_imported(move)

    def is_of_program(self, move: Move) -> bool:
        """Whether a move runs with its module, which nobody imports."""
        return (
            self.index.region(move.call) is self.index.tree
            and self.index.module not in self.imported
            and "__all__" not in self.index.root.bindings
        )

    def _may_be_imported(self, move: Move) -> bool:
        """Whether the next step is a name of the module that other files may use."""
        value = self.steps.new_value(move.call)
        if not isinstance(value, ast.Name) or self.is_of_program(move):
            return False
        return any(binding.scope is self.index.root for binding in self.index.bindings(value))

    def other_reads(self, move: Move) -> List[ast.Name]:
        """The reads of the next step beside its assignment."""
        value = self.steps.new_value(move.call)
        if not isinstance(value, ast.Name):
            return []
        reads = [r for binding in self.index.bindings(value) for r in self.index.reads(binding)]
        return [read for read in reads if not self.index.inside(read, move.call)]

    # One use a path gets the step --------------------------------------------------------------

    def _share(self, uses: Sequence[ast.Call], taken_out: Dict[Move, TakenOut]) -> Judgement:
        for use in uses:
            if unpacks(use) or isinstance(handed_step(use), ast.IfExp):
                return Judgement("step-move-entangled", use)
        moved_in = {loop for move in taken_out for loop in self._loops(move.call)}
        for use in uses:
            if set(self._loops(use)) - moved_in:
                return Judgement("several-training-ops", use)
        receivers: List[ast.Call] = []
        relieved: List[ast.Call] = []
        for use in reversed(uses):
            rivals = [r for r in receivers if not self.paths.exclusive(use, r)]
            if not rivals:
                receivers.append(use)
            elif all(self._joined(use, rival) for rival in rivals):
                relieved.append(use)
            else:
                return Judgement("several-training-ops", use)
        return Judgement("", None, taken_out, tuple(receivers), tuple(relieved))

    def _loops(self, node: ast.AST) -> List[ast.AST]:
        """The loops around a node within its function."""
        region = self.index.region(node)
        loops = (ancestor for ancestor in self.index.ancestors(node) if isinstance(ancestor, LOOPS))
        return [loop for loop in loops if self.index.inside(loop, region)]

    def _joined(self, left: ast.Call, right: ast.Call) -> bool:
        """Whether two training ops always run together."""
        for call in self.index.calls_of(frozenset((vocabulary.GROUP,))):
            if self.index.resolve(call.func).sole == vocabulary.GROUP:
                made = self.optimizers.derives_from(call, (), APPLYING)
                if left in made and right in made:
                    return True
        return False

    # What can't be decided here ----------------------------------------------------------------

    def _counter(self, region: ast.AST) -> Optional[ast.AST]:
        """The test ``step % n == ...`` that decides when gradients are applied."""
        for cond in self.conds.of(region):
            predicate = self.conds.predicate(cond)
            if predicate is None:
                continue
            if self._counts_by_step(predicate, region) and self._branch_applies(cond):
                return cond
        return None

    def _counts_by_step(self, node: ast.AST, region: ast.AST) -> Optional[ast.AST]:
        pending: List[ast.AST] = [node]
        seen = set()
        while pending:
            current = pending.pop()
            for inner in ast.walk(current):
                if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mod):
                    if self._reads_step(inner.left, region):
                        return inner
                if isinstance(inner, ast.Call) and self.index.resolve(inner.func).sole in (
                    "tensorflow.mod",
                    "tensorflow.floormod",
                    "tensorflow.math.mod",
                    "tensorflow.math.floormod",
                ):
                    if inner.args and self._reads_step(inner.args[0], region):
                        return inner
                if isinstance(inner, ast.Name) and inner in self.index.parents:
                    for binding in self.index.bindings(inner):
                        if binding.value is not None and binding.value not in seen:
                            seen.add(binding.value)
                            pending.append(binding.value)
        return None

    def _reads_step(self, node: ast.expr, region: ast.AST) -> bool:
        return any(
            self.steps.is_step(inner, region)
            for inner in ast.walk(node)
            if isinstance(inner, (ast.Name, ast.Attribute)) and inner in self.index.parents
        )

    def _branch_applies(self, cond: ast.Call) -> bool:
        return any(
            self.conds.uses_in(branch) or self.conds.applied_in(branch)
            for branch in self.conds.branches(cond)
        )

    def _applied_outside_cond(self, region: ast.AST, uses: Sequence[ast.Call]) -> Optional[ast.AST]:
        for cond in self.conds.of(region):
            for branch in self.conds.branches(cond):
                if any(use in uses for use in self.conds.applied_in(branch)):
                    return cond
        return None

    # Taking one expression out -----------------------------------------------------------------

    def _take_out(self, node: ast.expr) -> Optional[TakenOut]:
        parent = self.index.parents[node]
        group = self._group_around(node)
        if group is not None:
            return self._out_of_group(node, group)
        if isinstance(parent, (ast.Assign, ast.Expr, ast.Return)):
            place = self.index.places[parent]
            holder = place.parent
            if isinstance(holder, WITHS) and self._dependencies(holder) is not None:
                return self._out_of_dependencies(node, parent, holder)
            return self._out_of_statement(node, parent)
        if isinstance(parent, (ast.List, ast.Tuple)):
            return self._out_of_list(node, parent)
        if isinstance(parent, ast.Call) and method_name(parent) == "append":
            statement = self.index.parents[parent]
            if isinstance(statement, ast.Expr):
                return TakenOut(removed=(statement,))
        return None

    def _group_around(self, node: ast.expr) -> Optional[ast.Call]:
        parent = self.index.parents[node]
        if isinstance(parent, (ast.List, ast.Tuple)):
            parent = self.index.parents[parent]
        if isinstance(parent, ast.Call) and node is not parent.func:
            if self.index.resolve(parent.func).sole == vocabulary.GROUP:
                return parent
        return None

    def _out_of_group(self, node: ast.expr, group: ast.Call) -> Optional[TakenOut]:
        members: List[ast.expr] = []
        for value in group.args:
            members += value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
        remaining = [member for member in members if member is not node]
        named = any(k.arg == "name" for k in group.keywords)
        if not remaining:
            return self._take_out(group)
        statement = self.index.statement(group)
        if len(remaining) == 1 and not named and self._is_op(remaining[0]):
            return self._unwrapped(group, remaining[0], statement)
        op = self._training_op(statement, group)
        return TakenOut(edits=(DropElement(node),), gone=(node,), op=op)

    def _unwrapped(self, group: ast.Call, member: ast.expr, statement: ast.stmt) -> TakenOut:
        if (
            isinstance(statement, ast.Assign)
            and statement.value is group
            and len(statement.targets) == 1
            and same(statement.targets[0], member)
        ):
            return TakenOut(removed=(statement,), op=TrainingOp(member, statement))
        edit = ReplaceExpression(group, "$member", {"member": member})
        op = self._training_op(statement, group)
        return TakenOut(edits=(edit,), gone=(group,), kept=(member,), op=op)

    def _training_op(self, statement: ast.stmt, value: ast.expr) -> Optional[TrainingOp]:
        if isinstance(statement, ast.Assign) and statement.value is value:
            if len(statement.targets) == 1 and dotted(statement.targets[0]):
                return TrainingOp(statement.targets[0], statement)
        if isinstance(statement, ast.Return) and statement.value is value:
            return TrainingOp(value, statement)
        return None

    def _is_op(self, node: ast.expr) -> bool:
        """Whether a member of a group is one operation and not a list of them."""
        if isinstance(node, ast.Starred):
            return False
        for producer in self.index.producers(node):
            if not isinstance(producer, ast.Call):
                return False
            names = self.index.resolve(producer.func).names
            if any("collection" in name for name in names):
                return False
            method = method_name(producer)
            if not names and method not in (*APPLYING, "assign", "assign_add"):
                return False
        return True

    def _dependencies(self, holder: ast.AST) -> Optional[ast.expr]:
        items = holder.items  # type: ignore[attr-defined]
        call = items[0].context_expr
        if len(items) != 1 or not isinstance(call, ast.Call):
            return None
        if self.index.resolve(call.func).sole != vocabulary.CONTROL_DEPENDENCIES:
            return None
        value = argument(call, 0, "control_inputs")
        return value if value is not None and literal(value) is None else None

    def _out_of_dependencies(
        self, node: ast.expr, statement: ast.stmt, holder: ast.AST
    ) -> Optional[TakenOut]:
        """``with tf.control_dependencies([op]): x = <move>``: ``x`` stands for ``op``."""
        sole = len(holder.body) == 1  # type: ignore[attr-defined]
        assert isinstance(holder, ast.stmt)
        if self._used_as_number(statement):
            return None
        if isinstance(statement, ast.Expr):
            return TakenOut(removed=(holder if sole else statement,))
        tf = TENSORFLOW
        if not sole:
            edit: Edit = ReplaceExpression(node, f"{tf}.no_op()")
            return TakenOut(edits=(edit,), gone=(node,), op=self._training_op(statement, node))
        code, parts = self._ops_of(holder, tf)
        kept: Tuple[ast.AST, ...] = tuple(parts.values())
        if isinstance(statement, ast.Return):
            edit = ReplaceStatement(holder, f"return {code}\n", parts, keep_commented=True)
            return TakenOut(edits=(edit,), gone=(holder,), kept=kept)
        assert isinstance(statement, ast.Assign)
        target = statement.targets[0]
        if len(statement.targets) != 1 or not dotted(target):
            return None
        if code == "$op" and same(parts["op"], target):
            return TakenOut(removed=(holder,), op=TrainingOp(target, holder))
        edit = ReplaceStatement(
            holder, f"$target = {code}\n", {"target": target, **parts}, keep_commented=True
        )
        return TakenOut(
            edits=(edit,), gone=(holder,), kept=(target, *kept), op=TrainingOp(target, holder)
        )

    def _used_as_number(self, statement: ast.stmt) -> bool:
        """Whether the value of a move is computed with, or shown in a summary."""
        for binding in self.index.statement_bindings(statement):
            for read in self.index.reads(binding):
                parent = self.index.parents[read]
                if isinstance(parent, (ast.BinOp, ast.Compare, ast.UnaryOp, ast.Subscript)):
                    return True
                names = (
                    self.index.resolve(parent.func).names if isinstance(parent, ast.Call) else ()
                )
                if any(n.startswith("tensorflow.") and n not in TAKES_OPS for n in names):
                    return True
        return False

    def _ops_of(self, holder: ast.stmt, tf: str) -> Tuple[str, Dict[str, ast.expr]]:
        """Source of one operation for the operations that a ``with`` depends on."""
        value = self._dependencies(holder)
        assert value is not None
        if not isinstance(value, (ast.List, ast.Tuple)):
            return f"{tf}.group(*$ops)", {"ops": value}
        if len(value.elts) == 1 and not isinstance(value.elts[0], ast.Starred):
            return "$op", {"op": value.elts[0]}
        return f"{tf}.group(*$ops)", {"ops": value}

    def _out_of_statement(self, node: ast.expr, statement: ast.stmt) -> Optional[TakenOut]:
        if isinstance(statement, ast.Expr):
            return TakenOut(removed=(statement,))
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return None
        if not isinstance(statement.targets[0], ast.Name):
            return None
        edits: List[Edit] = []
        removed: List[ast.stmt] = [statement]
        gone: List[ast.AST] = []
        kept: List[ast.AST] = []
        op: Optional[TrainingOp] = None
        for binding in self.index.statement_bindings(statement):
            for read in self.index.reads(binding):
                further = self._take_out(read)
                if further is None:
                    return None
                edits += further.edits
                removed += further.removed
                gone += further.gone
                kept += further.kept
                op = op or further.op
        return TakenOut(tuple(edits), tuple(removed), tuple(gone), tuple(kept), op)

    def _out_of_list(self, node: ast.expr, display: ast.expr) -> Optional[TakenOut]:
        holder = self.index.parents[display]
        others = len(display.elts) > 1  # type: ignore[attr-defined]
        if isinstance(holder, ast.Assign) and others:
            return TakenOut(edits=(DropElement(node),), gone=(node,))
        if isinstance(holder, ast.Call):
            sole = self.index.resolve(holder.func).sole
            if sole == vocabulary.CONTROL_DEPENDENCIES and others:
                return TakenOut(edits=(DropElement(node),), gone=(node,))
            statement = self.index.parents[holder]
            if method_name(holder) == "extend" and isinstance(statement, ast.Expr):
                if others:
                    return TakenOut(edits=(DropElement(node),), gone=(node,))
                return TakenOut(removed=(statement,))
        return None
