"""Which parts of a function run on one path, and which exclude each other."""

import ast
from typing import Collection, Dict, Iterator, Sequence, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.names import LOOPS, Index, leaves


class Paths:
    """The paths through the functions of one file, as far as their nesting tells."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def exclusive(self, left: ast.AST, right: ast.AST, in_one_pass: bool = False) -> bool:
        """Whether no path runs both: other arms of an ``if``, or other branches of ``tf.cond``.

        With ``in_one_pass`` a loop around both is not asked whether its next pass runs the other.
        """
        first, second = self._spine(left), self._spine(right)
        common = [n for n in first if n in second]
        meeting = common[0]
        one, other = first[meeting], second[meeting]
        if not in_one_pass and self._is_repeated(meeting):
            return False
        if isinstance(meeting, (ast.If, ast.IfExp)):
            return arm(meeting, one) != arm(meeting, other)
        if isinstance(one, ast.ExceptHandler) or isinstance(other, ast.ExceptHandler):
            return one is not other
        if isinstance(meeting, ast.Call) and one is not other:
            return self.index.resolve(meeting.func).sole in vocabulary.CONDS
        if isinstance(one, ast.stmt) and isinstance(other, ast.stmt):
            earlier, inside = (one, left) if one.lineno < other.lineno else (other, right)
            return self._always_leaves(earlier, inside)
        return False

    def _is_repeated(self, node: ast.AST) -> bool:
        """Whether a loop of the function runs a node again, so that it may take another arm."""
        region = self.index.region(node)
        around = self.index.ancestors(node)
        return any(isinstance(a, LOOPS) and self.index.inside(a, region) for a in around)

    def _spine(self, node: ast.AST) -> Dict[ast.AST, ast.AST]:
        """Ancestor -> the child through which it holds the node, innermost first."""
        spine: Dict[ast.AST, ast.AST] = {}
        current = node
        for ancestor in self.index.ancestors(node):
            spine[ancestor] = current
            current = ancestor
        return spine

    def _always_leaves(self, statement: ast.stmt, inside: ast.AST) -> bool:
        """Whether the arm of ``statement`` that holds a node never falls through."""
        if not isinstance(statement, ast.If):
            return False
        for block in (statement.body, statement.orelse):
            if any(self.index.inside(inside, s) for s in block):
                return isinstance(block[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
        return False

    def always_with(
        self,
        move: ast.AST,
        use: ast.AST,
        moves: Sequence[ast.AST],
        granted: Collection[ast.AST] = (),
    ) -> bool:
        """Whether a path with ``use`` has ``move``, or another in the other arm of its ``if``.

        ``granted`` are ``if`` statements whose tests may be taken to hold.
        """
        if self.exclusive(use, move):
            return False
        skipped = {*self.index.ancestors(use), *granted}
        inside: ast.AST = move
        for ancestor in self.index.ancestors(move):
            if isinstance(ancestor, (ast.If, ast.IfExp)) and ancestor not in skipped:
                other = ancestor.orelse if arm(ancestor, inside) == "body" else ancestor.body
                parts = other if isinstance(other, list) else [other]
                if not any(self.index.inside(m, part) for m in moves for part in parts):
                    return False
            if isinstance(inside, ast.stmt) and self._may_leave_before(inside, use):
                return False
            inside = ancestor
        return True

    def _may_leave_before(self, statement: ast.stmt, use: ast.AST) -> bool:
        """Whether some path leaves the function between ``use`` and a statement of its block."""
        place = self.index.places[statement]
        used = self.index.statement(use)
        return any(
            isinstance(earlier, ast.If)
            and earlier.lineno > used.lineno
            and not self.index.inside(use, earlier)
            and any(block and leaves(block) for block in (earlier.body, earlier.orelse))
            for earlier in place.block[: place.position]
        )


def decided_by(index: Index, node: ast.AST) -> Iterator[Tuple[ast.expr, bool]]:
    """The tests that decide whether a node runs, innermost first, each with what it is then.

    ``if test: return`` before a statement decides like an ``if`` around it.
    """
    child = node
    for ancestor in index.ancestors(node):
        if isinstance(ancestor, (ast.If, ast.IfExp)) and child is not ancestor.test:
            yield ancestor.test, arm(ancestor, child) == "body"
        if isinstance(child, ast.stmt):
            place = index.places[child]
            for earlier in place.block[: place.position]:
                if isinstance(earlier, ast.If) and leaves(earlier.body) != leaves(earlier.orelse):
                    yield earlier.test, leaves(earlier.orelse)
        child = ancestor


def arm(node: ast.AST, child: ast.AST) -> str:
    """Which arm of an ``if`` a child is in."""
    for name in ("body", "orelse"):
        part = getattr(node, name)
        if part is child or (isinstance(part, list) and any(child is item for item in part)):
            return name
    return "test"
