"""What ``tf.cond``, ``tf.case`` and ``tf.switch_case`` decide, and what their branches apply."""

import ast
from typing import List, Optional

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import argument
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import FUNCTIONS, Index, arguments_of


class Conds:
    """The conditions that are decided while the graph of one file runs."""

    def __init__(self, index: Index, optimizers: Optimizers) -> None:
        self.index = index
        self.optimizers = optimizers

    def of(self, region: ast.AST) -> List[ast.Call]:
        """The conditions in a function."""
        return [
            call
            for call in self.index.calls_of(vocabulary.CONDS)
            if self.index.resolve(call.func).sole in vocabulary.CONDS
            and self.index.region(call) is region
        ]

    def predicate(self, cond: ast.Call) -> Optional[ast.expr]:
        """What decides; for ``tf.case`` the pairs of predicates and branches."""
        return argument(cond, 0, "pred", "pred_fn_pairs", "branch_index")

    def branches(self, cond: ast.Call) -> List[ast.expr]:
        """The functions of which one runs."""
        if self.index.resolve(cond.func).sole != vocabulary.COND:
            values = arguments_of(cond)
            return [n for v in values for n in ast.walk(v) if isinstance(n, (ast.Lambda, ast.Name))]
        branches = [argument(cond, 1, "true_fn", "fn1"), argument(cond, 2, "false_fn", "fn2")]
        return [branch for branch in branches if branch is not None]

    def uses_in(self, branch: ast.expr) -> List[ast.Call]:
        """The uses that a branch of ``tf.cond`` makes itself: a lambda, or a local function."""
        return [use for use in self.optimizers.uses() if self.holds(branch, use)]

    def applied_in(self, branch: ast.expr) -> List[ast.Call]:
        """The uses outside a branch whose training op the branch only names."""
        found = []
        for holder in self._holders(branch):
            body = holder.body if isinstance(holder, ast.Lambda) else holder
            for name in ast.walk(body):
                if isinstance(name, ast.Name) and name in self.index.parents:
                    found += [use for use in self._bound_to(name) if not self.holds(branch, use)]
        return found

    def _bound_to(self, name: ast.Name) -> List[ast.Call]:
        values = [binding.value for binding in self.index.bindings(name)]
        uses = self.optimizers.uses()
        return [value for value in values if isinstance(value, ast.Call) and value in uses]

    def holds(self, branch: ast.expr, use: ast.Call) -> bool:
        """Whether a branch makes a call itself."""
        return any(self.index.inside(use, holder) for holder in self._holders(branch))

    def _holders(self, branch: ast.expr) -> List[ast.AST]:
        """What a branch of ``tf.cond`` runs: the expression, and local functions that it names."""
        holders: List[ast.AST] = [branch]
        for name in ast.walk(branch):
            if isinstance(name, ast.Name) and name in self.index.parents:
                for binding in self.index.bindings(name):
                    if isinstance(binding.definition, FUNCTIONS):
                        holders.append(binding.definition)
        return holders
