"""Variables and a dataset's iterator that are initialised in one run (NPU701)."""

import ast
from typing import Dict, FrozenSet, List, Optional, Set, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import Binding, arguments_of, dotted, method_name
from npu_migrate.plan import DropElement, Edit, ReplaceExpression, ReplaceStatement, Status

VARIABLES = "variables"
ITERATOR = "iterator"
TABLES = "tables"
OTHER = "other"

RULE = "initialised-in-one-run"
SYMBOL = "tensorflow.Session.run"

VARIABLE_INITIALIZERS = frozenset(
    "tensorflow." + name
    for name in (
        "global_variables_initializer",
        "initialize_all_variables",
        "initialize_local_variables",
        "initialize_variables",
        "local_variables_initializer",
        "variables_initializer",
        "initializers.global_variables",
        "initializers.local_variables",
        "initializers.variables",
    )
)
TABLE_INITIALIZERS = frozenset(
    "tensorflow." + name
    for name in ("tables_initializer", "initialize_all_tables", "initializers.tables_initializer")
)
ITERATOR_MAKERS = ("make_initializable_iterator", "from_structure")

Grouped = Tuple[ast.expr, str]
"""A member of a list, tuple or ``tf.group``, and what it initialises."""


def run(context: Context, optimizers: Optimizers) -> None:
    """Split each such run in two where nothing else depends on it, and report the others."""
    Initializers(context, optimizers).run()


class Initializers:
    """What one file initialises together."""

    def __init__(self, context: Context, optimizers: Optimizers) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self._done: Set[ast.AST] = set()

    def run(self) -> None:
        for call in self.index.calls_written(("run",)):
            fetched = self._fetched(call)
            if fetched is None:
                continue
            for group in self._groups(fetched):
                if group not in self._done and self._is_mixed(group):
                    self._done.add(group)
                    self._split(call, fetched, group)
        for call in self.index.calls_of(frozenset((vocabulary.GROUP,))):
            if call not in self._done and self._is_mixed(call):
                self._done.add(call)
                self._report(call)

    def _report(self, node: ast.AST, *edits: Edit, assumed: bool = False) -> None:
        status = Status.MIGRATED if edits else Status.MANUAL
        self.context.report(RULE, node, *edits, status=status, symbol=SYMBOL, assumed=assumed)

    # What is run together ---------------------------------------------------------------------

    def _fetched(self, call: ast.Call) -> Optional[ast.expr]:
        """What ``session.run`` is asked for."""
        if method_name(call) != "run":
            return None
        return argument(call, 0, "fetches")

    def _is_group(self, node: object) -> bool:
        return self.context.calls_to(node, vocabulary.GROUP)

    def _groups(self, fetched: ast.expr) -> List[ast.expr]:
        """The lists, tuples and ``tf.group`` calls that a value may be."""
        return [
            producer
            for producer in self.optimizers.producers(fetched)
            if isinstance(producer, ast.expr)
            and (isinstance(producer, (ast.List, ast.Tuple)) or self._is_group(producer))
        ]

    def _members(self, group: ast.expr) -> List[ast.expr]:
        if isinstance(group, ast.Call):
            return [a.value if isinstance(a, ast.Starred) else a for a in group.args]
        return list(group.elts)  # type: ignore[attr-defined]

    def _is_mixed(self, group: ast.expr) -> bool:
        kinds = self._kinds(group)
        inside = {kind for _, kind in kinds}
        return VARIABLES in inside and ITERATOR in inside

    def _kinds(self, group: ast.expr) -> List[Grouped]:
        return [(member, self._kind(member, set())) for member in self._members(group)]

    def _kind(self, node: ast.expr, seen: Set[ast.AST]) -> str:
        """What a member initialises; a group of several things is ``other``."""
        if node in seen:
            return OTHER
        seen.add(node)
        kinds = {self._kind_of(producer, seen) for producer in self.optimizers.producers(node)}
        return kinds.pop() if len(kinds) == 1 else OTHER

    def _kind_of(self, node: object, seen: Set[ast.AST]) -> str:
        if isinstance(node, ast.Attribute) and node.attr == "initializer":
            return self._owner(node.value)
        if isinstance(node, (ast.List, ast.Tuple)) or self._is_group(node):
            members = self._members(node)  # type: ignore[arg-type]
            kinds = {self._kind(member, seen) for member in members}
            return kinds.pop() if len(kinds) == 1 else OTHER
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self._kind(node.elt, seen)
        if not isinstance(node, ast.Call):
            return OTHER
        if method_name(node) == "make_initializer":
            return ITERATOR
        if self.context.is_named(node.func, VARIABLE_INITIALIZERS):
            return VARIABLES
        return TABLES if self.context.is_named(node.func, TABLE_INITIALIZERS) else OTHER

    def _owner(self, owner: ast.expr, seen: FrozenSet[ast.AST] = frozenset()) -> str:
        """What ``owner.initializer`` initialises."""
        if owner in seen:
            return OTHER
        seen = seen | {owner}
        for producer in self.optimizers.producers(owner):
            if isinstance(producer, Binding) and producer.iterates and producer.value is not None:
                return self._owner_in(producer.value, seen)
            if not isinstance(producer, ast.Call):
                continue
            if self.context.is_named(producer.func, vocabulary.VARIABLES):
                return VARIABLES
            method = producer.func.attr if isinstance(producer.func, ast.Attribute) else ""
            name = method or self.index.resolve(producer.func).sole.rpartition(".")[2]
            if name in ITERATOR_MAKERS:
                return ITERATOR
        return ITERATOR if self._is_called_iterator(owner) else OTHER

    def _owner_in(self, many: ast.expr, seen: FrozenSet[ast.AST]) -> str:
        """What the elements of a list, one after the other, initialise."""
        for producer in self.optimizers.producers(many):
            if isinstance(producer, ast.ListComp):
                return self._owner(producer.elt, seen)
            if isinstance(producer, (ast.List, ast.Tuple)) and producer.elts:
                return self._owner(producer.elts[0], seen)
        return ITERATOR if self._is_called_iterator(many) else OTHER

    def _is_called_iterator(self, owner: ast.expr) -> bool:
        """The convention for what comes from elsewhere: ``model.train_iterator``."""
        return "iterator" in dotted(owner).rpartition(".")[2].lower()

    # Two runs in place of one -----------------------------------------------------------------

    def _split(self, call: ast.Call, fetched: ast.expr, group: ast.expr) -> None:
        assumed = any(
            kind == ITERATOR and not self._is_known(member) for member, kind in self._kinds(group)
        )
        if not self._can_part(group):
            self._report(call, assumed=assumed)
        elif fetched is group and self._stands_alone(call):
            self._report(call, self._two_statements(call, self._parts(group)), assumed=assumed)
        else:
            edits = self._split_definition(fetched, group)
            self._report(call, *edits, assumed=assumed)

    def _is_known(self, member: ast.expr) -> bool:
        """Whether it is more than a name that makes a member the initialiser of an iterator."""
        return any(
            isinstance(p, ast.Call)
            for node in ast.walk(member)
            if isinstance(node, (ast.Name, ast.Attribute)) and node in self.index.parents
            for p in self.optimizers.producers(node)
        ) or any(isinstance(node, ast.Call) for node in ast.walk(member))

    def _can_part(self, group: ast.expr) -> bool:
        """Whether each member goes to one of two runs, and nothing else would change."""
        if isinstance(group, ast.Call) and group.keywords:
            return False
        if any(isinstance(node, ast.Starred) for node in ast.iter_child_nodes(group)):
            return False
        return OTHER not in {kind for _, kind in self._kinds(group)}

    def _parts(self, group: ast.expr) -> Dict[str, Tuple[Edit, ...]]:
        """What is to be taken out of a group for each of the two runs."""
        kinds = self._kinds(group)
        return {
            "variables": tuple(DropElement(m) for m, kind in kinds if kind == ITERATOR),
            "iterator": tuple(DropElement(m) for m, kind in kinds if kind != ITERATOR),
        }

    def _stands_alone(self, call: ast.Call) -> bool:
        """Whether a run is a statement whose results nobody reads, and may be written twice."""
        statement = self.index.statement(call)
        fetches = argument(call, 0, "fetches")
        rest = [value for value in arguments_of(call) if value is not fetches]
        if any(isinstance(node, ast.Call) for value in rest for node in ast.walk(value)):
            return False
        if isinstance(statement, ast.Expr):
            return statement.value is call
        if not isinstance(statement, ast.Assign) or statement.value is not call:
            return False
        bound = self.index.statement_bindings(statement)
        names_only = all(isinstance(target, ast.Name) for target in statement.targets)
        return names_only and not any(self.index.reads(binding) for binding in bound)

    def _two_statements(
        self, call: ast.Call, parts: Dict[str, Tuple[Edit, ...]]
    ) -> ReplaceStatement:
        statement = self.index.statement(call)
        return ReplaceStatement(statement, "$variables\n$iterator", variants=parts)

    def _split_definition(self, fetched: ast.expr, group: ast.expr) -> List[Edit]:
        """``init = tf.group(...)`` and its ``sess.run(init)``, where nothing else reads it."""
        binding = self._sole_binding(fetched, group)
        if binding is None or not isinstance(binding.statement, ast.Assign):
            return []
        statement = binding.statement
        target = statement.targets[0]
        runs = [self._run_of(read) for read in self.index.reads(binding)]
        if len(statement.targets) != 1 or statement.value is not group:
            return []
        if not isinstance(target, ast.Name) or any(run is None for run in runs):
            return []
        if self.context.is_taken(target.id):
            return []
        second = self.context.fresh(f"{target.id}_iterator")
        self.context.claim(second)
        parts = self._parts(group)
        parts["iterator"] += (ReplaceExpression(target, second),)
        edits: List[Edit] = [ReplaceStatement(statement, "$variables\n$iterator", variants=parts)]
        for read, found in zip(self.index.reads(binding), runs):
            assert found is not None
            self._done.add(found)
            again = (ReplaceExpression(read, second),)
            variants: Dict[str, Tuple[Edit, ...]] = {"variables": (), "iterator": again}
            edits.append(self._two_statements(found, variants))
        return edits

    def _sole_binding(self, fetched: ast.expr, group: ast.expr) -> Optional[Binding]:
        """The one variable that the group is bound to, if ``run`` is asked for it by name."""
        if not isinstance(fetched, ast.Name):
            return None
        bindings = self.index.bindings(fetched)
        return bindings[0] if len(bindings) == 1 and bindings[0].value is group else None

    def _run_of(self, read: ast.Name) -> Optional[ast.Call]:
        """The ``sess.run(read)`` that a read is all of, if it may be written twice."""
        call = self.index.parents.get(read)
        if not isinstance(call, ast.Call) or self._fetched(call) is not read:
            return None
        return call if self.index.bindings(read)[1:] == [] and self._stands_alone(call) else None
