"""Takes expressions and statements out of a function, and then what only they read."""

import ast
from typing import Dict, List

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context
from npu_migrate.names import WITHS, Binding, dotted, literal
from npu_migrate.plan import RemoveStatement

PURE_METHODS = frozenset(
    [
        "assign",
        "assign_add",
        "assign_sub",
        "read_value",
        "value",
        "allreduce",
        "cast",
        "identity",
        "get_shape",
    ]
)
PURE_MODULES = ("tensorflow.", "builtins.", vocabulary.HOROVOD + ".", vocabulary.ADAPTER + ".")
WITH_EFFECT = frozenset(
    "tensorflow." + name
    for name in ("placeholder", "placeholder_with_default", "print", "Print", "Assert", "py_func")
)


class Removal:
    """What goes from one file, until nothing that is left reads it."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.index = context.index
        self._statements: Dict[ast.stmt, None] = {}
        self._is_program = False

    def statement(self, statement: ast.stmt) -> None:
        """Remove a statement."""
        self._statements[statement] = None
        self.context.discard(statement)

    def expression(self, node: ast.AST) -> None:
        """Note an expression that some edit takes out."""
        self.context.discard(node)

    def of_program(self) -> None:
        """Treat the names of the module as its own: it trains as it runs, and nobody imports it."""
        self._is_program = True

    def is_gone(self, statement: ast.stmt) -> bool:
        """Whether a statement is removed, or lies in one that is."""
        return statement in self._statements or self.context.without(statement)

    def finish(self) -> None:
        """Remove what only the removed parts read, then emit the edits."""
        while self._close():
            pass
        for statement in self._outermost():
            self.context.plan.edits.append(
                RemoveStatement(statement, comment=self.context.options.comments_out)
            )

    def _close(self) -> bool:
        """One round over the names that removed parts read; true while it finds something."""
        before = len(self._statements)
        for statement in self._candidates():
            if self._only_read_by_removed(statement) and self._is_pure(statement):
                self.statement(statement)
        return len(self._statements) > before

    def _candidates(self) -> List[ast.stmt]:
        found: Dict[ast.stmt, None] = {}
        for name in [n for n in self.context.gone if isinstance(n, ast.Name)]:
            if name not in self.index.parents or not isinstance(name.ctx, ast.Load):
                continue
            for binding in self.index.bindings(name):
                statement = binding.statement
                if isinstance(statement, ast.Assign) and not self.is_gone(statement):
                    found[statement] = None
        return sorted(found, key=lambda s: -s.lineno)

    def _only_read_by_removed(self, statement: ast.stmt) -> bool:
        bindings = self.index.statement_bindings(statement)
        reads = [read for binding in bindings for read in self.index.reads(binding)]
        return (
            bool(reads)
            and all(self.context.without(read) for read in reads)
            and not any(self._is_needed(binding) for binding in bindings)
        )

    def _is_needed(self, binding: Binding) -> bool:
        """Whether importers, new code or readers of a later binding that goes may see this one."""
        if binding.name in self.context.needed:
            return True
        if binding.scope is self.index.root and not self._is_program:
            return True
        later = [
            b
            for b in binding.scope.owner(binding.name).bindings.get(binding.name, ())
            if b.statement is not None and self.is_gone(b.statement)
        ]
        reads = [read for b in later for read in self.index.reads(b)]
        return not all(self.context.without(read) for read in reads)

    def _is_pure(self, statement: ast.stmt) -> bool:
        assert isinstance(statement, ast.Assign)
        if not all(isinstance(target, ast.Name) for target in statement.targets):
            return False
        return all(self._is_pure_node(node) for node in ast.walk(statement.value))

    def _is_pure_node(self, node: ast.AST) -> bool:
        if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom)):
            return False
        if not isinstance(node, ast.Call):
            return True
        for keyword in node.keywords:
            name = literal(keyword.value) if keyword.arg == "name" else None
            if isinstance(name, str) and f"{name}:0" in self.context.run.fetches:
                return name in self.context.recreated
        names = self.index.resolve(node.func).names
        if names & WITH_EFFECT:
            return False
        if names:
            return all(name.startswith(PURE_MODULES) for name in names)
        return isinstance(node.func, ast.Attribute) and node.func.attr in PURE_METHODS

    # Blocks that are left with nothing ---------------------------------------------------------

    def _outermost(self) -> List[ast.stmt]:
        """The removed statements; a compound one in place of all that it held."""
        removed = dict(self._statements)
        grown = True
        while grown:
            grown = False
            for statement in list(removed):
                holder = self.index.places[statement].parent
                if (
                    isinstance(holder, (ast.If,) + WITHS)
                    and holder not in removed
                    and self._held_only(holder, removed)
                ):
                    removed[holder] = None
                    self.context.discard(holder)
                    grown = True
        return [
            s
            for s in sorted(removed, key=lambda s: s.lineno)
            if not any(a in removed for a in self.index.ancestors(s))
        ]

    def _held_only(self, holder: ast.AST, removed: Dict[ast.stmt, None]) -> bool:
        blocks = list(getattr(holder, "body", ())) + list(getattr(holder, "orelse", ()))
        if isinstance(holder, ast.If) and any(
            isinstance(n, ast.Call) and not self._is_pure_node(n) and dotted(n.func) != "isinstance"
            for n in ast.walk(holder.test)
        ):
            return False
        return all(statement in removed for statement in blocks)
