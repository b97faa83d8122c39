"""Which bindings of a name reach a place: scan backwards, then outwards.

Straight-line code replaces a binding, the arms of an ``if`` add theirs, a loop also brings what it
binds further down. No control-flow graph is built; blocks are walked as they nest.
"""

import ast
from bisect import bisect_left
from typing import Iterable, Iterator, List, Optional, Sequence, Tuple, cast

from npu_migrate.names.scopes import Binding, Scope
from npu_migrate.names.syntax import COMPREHENSIONS, FUNCTIONS, LOOPS, TRIES, WITHS, leaves
from npu_migrate.names.tables import Tables


class Reaching(Tables):
    """The bindings that reach the uses of names in one file."""

    def bindings(self, name: ast.Name) -> List[Binding]:
        """The bindings whose value a read of ``name`` may see (empty: builtin or unbound)."""
        found = self._bindings.get(name)
        if found is None:
            found = self.settled(name.id) or self.bindings_at(name.id, name)
            self._bindings[name] = found
        return found

    def bindings_at(self, name: str, node: ast.AST) -> List[Binding]:
        """The bindings of ``name`` that reach the place of ``node``."""
        scope: Optional[Scope] = self.scope(node)
        place: Optional[ast.AST] = node
        first = True
        while scope is not None:
            owner = scope.shared.get(name)
            if owner is not None:
                return owner.bindings.get(name, [])
            if name in scope.bindings and (first or not scope.is_class):
                return self.reaching(name, scope, place)
            first = first and not isinstance(scope.node, FUNCTIONS + (ast.ClassDef,))
            if isinstance(scope.node, FUNCTIONS):
                place = None
            scope = scope.parent
        return []

    def reaching(self, name: str, scope: Scope, node: Optional[ast.AST]) -> List[Binding]:
        """The bindings of a name of ``scope`` that a read at ``node`` may see.

        Without ``node`` those that hold once the scope's body has run. What functions bind by
        ``global`` or ``nonlocal`` may hold at any time.
        """
        own = self._reaching_own(name, scope, node)
        shared = [b for b in scope.bindings[name] if b.scope is not scope]
        return _unique([*own, *shared]) if shared else own

    def _reaching_own(self, name: str, scope: Scope, node: Optional[ast.AST]) -> List[Binding]:
        every = scope.bindings[name]
        sole = every[0] if len(every) == 1 else None
        if sole is not None and (sole.target or sole.parameter or sole.scope is not scope):
            return every
        if isinstance(scope.node, COMPREHENSIONS + (ast.Lambda,)):
            return every
        body = getattr(scope.node, "body", None)
        if not isinstance(body, list):
            return every
        if node is not None:
            statement: Optional[ast.AST] = self.statement(node)
            while statement is not None and (
                statement not in self.places or self.places[statement].scope is not scope
            ):
                statement = self.parents.get(statement)
            if statement is not None:
                return self._before(name, statement, node)
        found, definite = self._block(body, name, True)
        return (found if definite else found + self._parameters(scope, name)) or every

    def may_be_unbound(self, name: str, node: ast.AST) -> bool:
        """Whether some path to a place binds a local name nowhere."""
        scope = self.scope(node)
        if name not in scope.bindings or name in scope.shared or self._parameters(scope, name):
            return False
        statement: ast.AST = self.statement(node)
        while True:
            block, position, parent, _ = self.places[statement]
            for earlier in self._binding(name, block, position):
                if self._made_by(earlier, name)[1]:
                    return False
            if (
                parent is None
                or parent not in self.places
                or self.places[parent].scope is not scope
            ):
                return True
            if self._own_bindings(parent, name):
                return False
            statement = parent

    def _parameters(self, scope: Scope, name: str) -> List[Binding]:
        return [b for b in scope.bindings.get(name, ()) if b.parameter]

    def _before(self, name: str, statement: ast.AST, node: ast.AST) -> List[Binding]:
        """What a read in ``statement`` sees: scan backwards, then outwards."""
        found: List[Binding] = []
        if isinstance(statement, LOOPS) and not self._is_header_iterable(statement, node):
            found += self._own_bindings(statement, name)
        while True:
            block, position, parent, scope = self.places[statement]
            for earlier in self._binding(name, block, position):
                bindings, definite = self._made_by(earlier, name)
                found += bindings
                if definite:
                    return _unique(found)
            if parent is None or parent not in self.places:
                holder = self._holder(parent)
                if holder is None:
                    return _unique(found + self._parameters(scope, name))
                handler, statement = parent, holder
                if isinstance(handler, ast.ExceptHandler) and handler.name == name:
                    return _unique(found)
                if isinstance(handler, ast.ExceptHandler):
                    found += self._block(statement.body, name)[0]  # type: ignore[attr-defined]
                found += self._own_bindings(statement, name)
                continue
            found, done = self._leave(found, parent, block, name)
            if done:
                return _unique(found)
            statement = parent

    def _holder(self, parent: Optional[ast.AST]) -> Optional[ast.AST]:
        """The ``try`` or ``match`` of an except handler or case, whose block we are leaving."""
        if parent is None or isinstance(parent, ast.Module):
            return None
        return self.parents.get(parent)

    def _leave(
        self, found: List[Binding], parent: ast.AST, block: Sequence[ast.stmt], name: str
    ) -> Tuple[List[Binding], bool]:
        """Go from the start of a block to the statement that holds it."""
        if isinstance(parent, FUNCTIONS + (ast.ClassDef,)):
            return found + self._parameters(self.scopes[parent], name), True
        own = self._own_bindings(parent, name)
        if isinstance(parent, LOOPS):
            if block is parent.body:
                found = found + self._block(parent.body, name)[0]
                return found + own, bool(own)
            return found + own + self._block(parent.body, name)[0], False
        if isinstance(parent, WITHS):
            return found + own, bool(own)
        if isinstance(parent, TRIES) and block is not parent.body:  # type: ignore[attr-defined]
            bindings, definite = self._block(parent.body, name)  # type: ignore[attr-defined]
            after_body = block is parent.orelse  # type: ignore[attr-defined]
            if not after_body:
                for handler in parent.handlers:  # type: ignore[attr-defined]
                    bindings = bindings + self._block(handler.body, name)[0]
            return found + bindings, definite and after_body
        return found + own, False

    def _is_header_iterable(self, loop: ast.AST, node: ast.AST) -> bool:
        iterable = getattr(loop, "iter", None)
        return iterable is not None and self.inside(node, iterable)

    def _own_bindings(self, statement: ast.AST, name: str) -> List[Binding]:
        return [b for b in self._own.get(statement, ()) if b.name == name]

    def _made_by(
        self, statement: ast.stmt, name: str, lenient: bool = False
    ) -> Tuple[List[Binding], bool]:
        """The bindings of ``name`` that running ``statement`` leaves, and whether it always does.

        ``lenient`` takes arms that end in ``return`` as falling through, which is what a nested
        function that is called before the return sees.
        """
        own = self._own_bindings(statement, name)
        if isinstance(statement, ast.If):
            arms = [self._block(statement.body, name, lenient)]
            ends = [leaves(statement.body), leaves(statement.orelse)]
            arms.append(self._block(statement.orelse, name, lenient))
            kept = [arm for arm, gone in zip(arms, ends) if lenient or not gone]
            found = [binding for arm in kept for binding in arm[0]]
            definite = bool(kept) and all(arm[1] for arm in kept)
            return found + own, definite or bool(own)
        if isinstance(statement, LOOPS):
            body, _ = self._block(statement.body, name, lenient)
            return own + body + self._block(statement.orelse, name, lenient)[0], False
        if isinstance(statement, WITHS):
            body, definite = self._block(statement.body, name, lenient)
            return (body, True) if definite else (own + body, bool(own))
        if isinstance(statement, TRIES):
            return self._made_by_try(cast(ast.Try, statement), name, lenient)
        if hasattr(statement, "cases"):
            found = list(own)
            for case in statement.cases:
                found += self._block(case.body, name, lenient)[0]
            return found, False
        return own, bool(own)

    def _made_by_try(
        self, statement: ast.Try, name: str, lenient: bool
    ) -> Tuple[List[Binding], bool]:
        final, definite = self._block(statement.finalbody, name, lenient)
        if definite:
            return final, True
        body, in_body = self._block(statement.orelse, name, lenient)
        if not in_body:
            earlier, in_body = self._block(statement.body, name, lenient)
            body = body + earlier
        found, definite = final + body, in_body
        for handler in statement.handlers:
            arm, in_arm = self._block(handler.body, name, lenient)
            if lenient or not leaves(handler.body):
                found, definite = found + arm, definite and in_arm
        return found, definite

    def _block(
        self, block: Sequence[ast.stmt], name: str, lenient: bool = False
    ) -> Tuple[List[Binding], bool]:
        found: List[Binding] = []
        for statement in self._binding(name, block, len(block)):
            bindings, definite = self._made_by(statement, name, lenient)
            found += bindings
            if definite:
                return found, True
        return found, False

    def _binding(self, name: str, block: Sequence[ast.stmt], end: int) -> Iterator[ast.stmt]:
        """The statements of a block, before a position, that may bind a name; the last first."""
        if not block:
            return
        binders = self._binders.get(block[0])
        if binders is None:
            binders = self._binders[block[0]] = {}
            for position, statement in enumerate(block):
                for bound in self._bound.get(statement, ()):
                    binders.setdefault(bound, []).append(position)
        positions = binders.get(name, ())
        for at in range(bisect_left(positions, end) - 1, -1, -1):
            yield block[positions[at]]


def _unique(bindings: Iterable[Binding]) -> List[Binding]:
    return list(dict.fromkeys(bindings))
