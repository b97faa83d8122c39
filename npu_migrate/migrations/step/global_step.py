"""The global step moves in ``apply_gradients``: a discarded step does not count (NPU3xx)."""

import ast
from dataclasses import replace
from typing import List, Sequence

from npu_migrate.facts import responsible, some_move_it
from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.removal import Removal
from npu_migrate.migrations.step.step_moves import TENSORFLOW, Judgement, StepMoves, TakenOut
from npu_migrate.migrations.step.steps import Move, handed_step
from npu_migrate.migrations.survey import origin_facts
from npu_migrate.names import LOOPS, FunctionNode, dotted, leaves, literal, parameters
from npu_migrate.plan import (
    Argument,
    Edit,
    EditCall,
    InsertStatements,
    ReplaceExpression,
    ReplaceStatement,
)


class GlobalStep:
    """Moves the step from the training functions of one file into its optimizers."""

    def __init__(
        self, context: Context, optimizers: Optimizers, moves: StepMoves, removal: Removal
    ) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self.steps = moves.steps
        self.moves = moves
        self._next_steps: List[Move] = []
        self.removal = removal

    def run(self) -> None:
        for node in self.index.classes:
            if self.index.qualname(node) in self.context.run.moving:
                self._class(node)
            self._moves_in_loops(node)
        for region in self.steps.regions():
            self._region(region)

    def report_left(self) -> None:
        """Report what still reads the next step, which nothing orders any more."""
        for move in self._next_steps:
            reads = [r for r in self.moves.other_reads(move) if not self.context.without(r)]
            if reads:
                name = reads[0].id
                self.context.report("next-step-read", reads[0], symbol=name, value=name)

    # Optimizer classes ------------------------------------------------------------------------

    def _class(self, node: ast.ClassDef) -> None:
        function = self.steps.apply_gradients(node)
        assert function is not None
        step = self.steps.parameter(function)
        reads = self.steps.reads(function)
        guarded = not any(isinstance(read, ast.Name) for read in reads)
        edits: List[Edit] = []
        for statement in self.index.returns(function):
            edits += self._return(statement, function, step, guarded)
        symbol = self.index.qualname(node).lstrip(":")
        if not self.context.report("optimizer-moves-step", node, *edits, symbol=symbol):
            return
        if reads and self.index.qualname(node) not in self.context.run.ordered:
            self._reads(reads, symbol)

    def _reads(self, reads: List[ast.expr], symbol: str) -> None:
        """The step is read before it moves now; unordered, it usually was read after."""
        ahead = [read for read in reads if self._is_ahead(read)]
        changes = [ReplaceExpression(r, f"{_text(r)} + 1") for r in reads if r not in ahead]
        change = "it reads the step + 1" if changes else "it adds 1 already and is left as it is"
        self.context.report(
            "optimizer-reads-step", reads[0], *changes, symbol=symbol, change=change
        )

    def _is_ahead(self, read: ast.expr) -> bool:
        """Whether a read stands in ``step + 1`` already."""
        parent = self.index.parents[read]
        return (
            isinstance(parent, ast.BinOp)
            and isinstance(parent.op, ast.Add)
            and 1 in (literal(parent.left), literal(parent.right))
        )

    def _return(
        self, statement: ast.Return, function: FunctionNode, step: str, guarded: bool
    ) -> List[Edit]:
        value = statement.value
        if value is None or not self.steps.hands_back(statement):
            return []
        tf = self.context.tensorflow(statement)
        updates = self._list_in_group(value)
        if updates:
            lines = [
                f"with {tf}.control_dependencies({updates}):",
                f"    {updates}.append({tf}.assign_add({step}, 1))",
            ]
            return [InsertStatements(statement, _block(lines, step if guarded else ""))]
        if self._is_list(value):
            return self._returned_list(statement, value, step, guarded, tf)
        has_name = "name" in parameters(function) and not self.steps.is_rebound(function, "name")
        name = ", name=name" if has_name else ""
        operation = dotted(value) or self.context.fresh("update_op")
        lines = [
            f"with {tf}.control_dependencies([{operation}]):",
            f"    return {tf}.group({tf}.assign_add({step}, 1){name})",
        ]
        code = _block(lines, step if guarded else "")
        if dotted(value):
            if guarded:
                return [InsertStatements(statement, code)]
            return [ReplaceStatement(statement, code)]
        code = f"{operation} = $value\n{code}"
        if guarded:
            code += f"return {operation}\n"
        return [ReplaceStatement(statement, code, {"value": value})]

    def _is_list(self, value: ast.expr) -> bool:
        """Whether ``apply_gradients`` returns a list of operations, not one."""
        return any(
            isinstance(producer, (ast.List, ast.ListComp, ast.Tuple))
            for producer in self.index.producers(value)
        )

    def _returned_list(
        self, statement: ast.Return, value: ast.expr, step: str, guarded: bool, tf: str
    ) -> List[Edit]:
        """An operation in place of the list: the branches of a ``tf.cond`` must be alike."""
        operation = self.context.fresh("update_op")
        lines = [
            f"with {tf}.control_dependencies([{operation}]):",
            f"    {operation} = {tf}.group({tf}.assign_add({step}, 1))",
        ]
        code = f"{operation} = {tf}.group(*$value)\n" + _block(lines, step if guarded else "")
        return [ReplaceStatement(statement, code + f"return {operation}\n", {"value": value})]

    def _list_in_group(self, value: ast.expr) -> str:
        """``x`` of ``tf.group(*x, name=name)`` where ``x`` is a list."""
        if not isinstance(value, ast.Call) or not self.context.calls_to(value, vocabulary.GROUP):
            return ""
        if len(value.args) != 1 or not isinstance(value.args[0], ast.Starred):
            return ""
        name = value.args[0].value
        if not isinstance(name, ast.Name):
            return ""
        for producer in self.index.producers(name):
            if not isinstance(producer, (ast.List, ast.ListComp)):
                if not self.context.calls_to(producer, "builtins.list"):
                    return ""
        return name.id

    def _moves_in_loops(self, node: ast.ClassDef) -> None:
        function = self.steps.apply_gradients(node)
        if function is None:
            return
        for call in self.steps.class_moves(function):
            if self._repeats(call, function):
                symbol = self.index.qualname(node).lstrip(":")
                self.context.report("step-moved-per-variable", call, symbol=symbol)

    def _repeats(self, call: ast.Call, function: FunctionNode) -> bool:
        """Whether a loop of the function runs a call more than once."""
        inside: ast.AST = call
        for ancestor in self.index.ancestors(call):
            if ancestor is function:
                return False
            if isinstance(ancestor, LOOPS):
                return True
            if isinstance(inside, ast.stmt) and leaves(self.index.places[inside].block):
                return False
            inside = ancestor
        return False

    # Training functions -----------------------------------------------------------------------

    def _region(self, region: ast.AST) -> None:
        moves = self.steps.moves(region)
        if not moves:
            return
        uses = self.optimizers.uses(region)
        facts = [f for use in uses for f in origin_facts(self.optimizers, use)]
        run = self.context.run
        after = {f.name: run.moves_step(f.name, f.inside) for f in facts}
        scaled = any(self.optimizers.scalings(self.optimizers.receiver(u)) for u in uses)
        responsibles = {name for f in facts for name in responsible(f.name, f.inside, run.classes)}
        if not uses:
            self._apart(moves)
            return
        if not scaled and not responsibles & run.moving:
            return
        judgement = self.moves.judge(region)
        if self.moves.is_conditional(region) and not some_move_it(facts, run.classes):
            judgement = Judgement("step-move-entangled", moves[0].call)
        if judgement.obstacle:
            assert judgement.at is not None
            self._obstacle(judgement, moves)
            return
        without = sorted(n for n in responsibles if run.takes_no_step(n))
        if without:
            classes = ", ".join(name.lstrip(":") for name in without)
            self.context.report(
                "optimizer-takes-no-step", moves[0].call, symbol=classes, classes=classes
            )
            return
        unknown = sorted(name for name, moves_it in after.items() if moves_it == "unknown")
        if unknown:
            self._elsewhere(moves, unknown)
        elif "no" in after.values():
            left = sorted(name.lstrip(":") for name, moved in after.items() if moved == "no")
            self.context.report("step-move-entangled", moves[0].call, symbol=", ".join(left))
        else:
            self._leave_to_optimizers(moves, uses, judgement, responsibles)

    def _apart(self, moves: List[Move]) -> None:
        """The step moves in a function that applies nothing."""
        if self.optimizers.scaling():
            self.context.report("step-moved-apart", moves[0].call)

    def _obstacle(self, judgement: Judgement, moves: List[Move]) -> None:
        assert judgement.at is not None
        self.context.report(judgement.obstacle, judgement.at, symbol=dotted(moves[0].step))

    def _elsewhere(self, moves: List[Move], unknown: List[str]) -> None:
        known = [name.lstrip(":") for name in unknown if name]
        classes = ", ".join(known) if known else "an optimizer that is made elsewhere"
        self.context.report(
            "optimizer-class-elsewhere", moves[0].call, symbol=classes, classes=classes
        )

    def _leave_to_optimizers(
        self,
        moves: List[Move],
        uses: Sequence[ast.Call],
        judgement: Judgement,
        responsibles: "set[str]",
    ) -> None:
        run = self.context.run
        twice = not responsibles & run.moving and any(handed_step(use) for use in uses)
        rule = "step-counted-twice" if twice else "step-moved-by-optimizer"
        if rule not in self.context.rules:
            return
        for move, taken in judgement.taken_out.items():
            self._take_out(move, taken, rule, self._twice_before(uses, move))
        for use in judgement.receivers:
            if handed_step(use) is None:
                self._hand(use, moves[0])
        for use in judgement.relieved:
            if handed_step(use) is not None:
                at = "global_step" if any(k.arg == "global_step" for k in use.keywords) else 1
                self.context.report("step-handed-once", use, EditCall(use, "", (Argument(at),)))

    def _twice_before(self, uses: Sequence[ast.Call], move: Move) -> str:
        """What to say where the step was counted twice with some of the optimizers."""
        if any(isinstance(a, (ast.If, ast.IfExp)) for a in self.index.ancestors(move.call)):
            return ""
        run = replace(self.context.run, moving=frozenset())
        names = [
            facts.name
            for use in uses
            if handed_step(use)
            for facts in origin_facts(self.optimizers, use)
            if run.moves_step(facts.name, facts.inside) == "yes"
        ]
        if not names:
            return ""
        return f"; with {names[0].lstrip(':')}, which moves it itself, it was counted twice"

    def _take_out(self, move: Move, taken: TakenOut, rule: str, twice: str) -> None:
        name = self.moves.fetched_identity(move)
        edits = [self._as_asked(edit) for edit in taken.edits]
        if name:
            self.context.recreated.add(name)
            edits = self._keep_fetchable(move, taken, name, edits)
        statement = self.index.statement(move.call)
        value_used = isinstance(statement, ast.Assign) and statement.value is move.call
        note = "; fetching it no longer returns the step" if value_used and taken.op else ""
        if rule == "step-moved-by-optimizer":
            note += twice
        self.context.report(rule, move.call, *edits, symbol=dotted(move.step), note=note)
        self._next_steps.append(move)
        if self.moves.is_of_program(move):
            self.removal.of_program()
        for node in taken.removed:
            self.removal.statement(node)
        for gone in taken.gone:
            self.removal.expression(gone)
        for kept in taken.kept:
            self.context.keep(kept)

    def _as_asked(self, edit: Edit) -> Edit:
        """The edit in the file's own words; what it replaces stays as a comment, or goes."""
        if not isinstance(edit, (ReplaceStatement, ReplaceExpression)):
            return edit
        if TENSORFLOW in edit.code:
            tf = self.context.tensorflow(edit.node)
            edit = replace(edit, code=edit.code.replace(TENSORFLOW, tf))
        if isinstance(edit, ReplaceStatement) and edit.keep_commented:
            return replace(edit, keep_commented=self.context.options.comments_out)
        return edit

    def _keep_fetchable(
        self, move: Move, taken: TakenOut, name: str, edits: List[Edit]
    ) -> List[Edit]:
        """A tensor of the old name that reads the step after the training op."""
        op = taken.op
        step = dotted(move.step)
        if op is None or not step:
            return edits
        self.context.needed.add(step.partition(".")[0])
        tf = self.context.tensorflow(op.statement)
        local = self.context.fresh(name if name.isidentifier() else "step_update")
        if name.isidentifier() and self._only_old_identity(name):
            local = name
        tensor = f"{local} = {tf}.identity({step}.read_value(), name='{name}')"
        if isinstance(op.statement, ast.Return):
            member = next(iter(taken.kept), None)
            if not isinstance(member, ast.expr):
                return edits
            code = f"with {tf}.control_dependencies([$op]):\n    {tensor}\n"
            code += f"return {tf}.group($op, {local})\n"
            return [ReplaceStatement(op.statement, code, {"op": member})]
        target = dotted(op.node)
        code = f"with {tf}.control_dependencies([{target}]):\n    {tensor}\n"
        code += f"{target} = {tf}.group({target}, {local})\n"
        return edits + [InsertStatements(op.statement, code, before=False)]

    def _only_old_identity(self, name: str) -> bool:
        return not self.index.reads_of(name)

    def _hand(self, use: ast.Call, move: Move) -> None:
        step = dotted(move.step)
        if not step or not self._bound_before(step, use):
            step = f"{self.context.tensorflow(use)}.train.get_or_create_global_step()"
        self.context.needed.add(step.partition(".")[0])
        self.context.report(
            "step-handed-to-optimizer",
            use,
            EditCall(use, "", (Argument(1 if len(use.args) > 1 else "global_step", step),)),
            symbol=dotted(use.func),
            step=step,
        )

    def _bound_before(self, step: str, use: ast.Call) -> bool:
        root = step.partition(".")[0]
        before = any(
            binding.parameter or (binding.statement is not None and _before(binding.statement, use))
            for binding in self.index.bindings_at(root, use)
        )
        return before and not self.index.may_be_unbound(root, use)


def _before(statement: ast.stmt, use: ast.Call) -> bool:
    return statement.lineno < use.lineno


def _text(read: ast.expr) -> str:
    return f"{dotted(read.func)}()" if isinstance(read, ast.Call) else dotted(read)


def _block(lines: List[str], guard: str) -> str:
    if not guard:
        return "\n".join(lines) + "\n"
    return f"if {guard} is not None:\n" + "".join(f"    {line}\n" for line in lines)
