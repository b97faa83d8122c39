"""Finds the calls of a file by what they may call.

Most calls tell by how they are written what they do not call: ``math_ops.reduce_sum(...)`` makes no
session, whatever ``math_ops`` is. So only those are resolved whose last word is one of those asked
for, or is the name here of something that may have another name where it comes from.
"""

import ast
from typing import Collection, Dict, FrozenSet, Iterable, Iterator, List, Set

from npu_migrate.names.scopes import Binding
from npu_migrate.names.syntax import element, last_name
from npu_migrate.names.tables import Tables

_FOLLOWED = ("Name", "Attribute", "IfExp", "BoolOp", "NamedExpr")
"""The expressions that may stand for something of another name."""


class Calls:
    """The calls of one file, by the last word of what they call."""

    def __init__(self, tables: Tables) -> None:
        self._calls = tables.calls
        self._renamed: Set[str] = set()
        """What may have another name where it comes from."""
        self._of_run: Set[str] = set()
        """What comes from another file of the run, which may have its parts from elsewhere."""
        for binding in _bindings(tables):
            self._note(binding)
        if self._of_run:
            self._of_run |= self._renamed
        self._has_run_stars = any(module.startswith(":") for _, module in tables.stars)
        self._by_word: Dict[str, List[int]] = {}
        self._unclear: List[int] = []
        for place, call in enumerate(self._calls):
            self._by_word.setdefault(last_name(call.func), []).append(place)
            if self._has_run_stars or self._is_unclear(call.func):
                self._unclear.append(place)

    def written(self, words: Collection[str]) -> List[ast.Call]:
        """The calls of what is written with one of these last words, in the order of the file."""
        places = [place for word in words for place in self._by_word.get(word, ())]
        return [self._calls[place] for place in sorted(places)]

    def possible(self, words: Collection[str]) -> List[ast.Call]:
        """These, and the calls of what may have one of the words for its name elsewhere."""
        places = set(self._unclear)
        for word in words:
            places.update(self._by_word.get(word, ()))
        return [self._calls[place] for place in sorted(places)]

    def may_be(self, node: ast.expr, words: Collection[str]) -> bool:
        """Whether an expression may stand for something whose name is one of the words."""
        return self._has_run_stars or last_name(node) in words or self._is_unclear(node)

    def which_may_be(self, nodes: Iterable[ast.expr], words: FrozenSet[str]) -> List[ast.expr]:
        """Those expressions of which that is so."""
        likely = words | self._renamed
        unclear = self._has_run_stars or bool(self._of_run)
        return [n for n in nodes if last_name(n) in likely or (unclear and self.may_be(n, words))]

    def _note(self, binding: Binding) -> None:
        if binding.alias is not None:
            if binding.target.startswith(":"):
                self._of_run.add(binding.name)
            elif binding.target.rpartition(".")[2] != binding.name:
                self._renamed.add(binding.name)
        elif binding.value is not None and not binding.augmented and not binding.iterates:
            value = element(binding.value, binding.path)
            if type(value).__name__ in _FOLLOWED:
                self._renamed.add(binding.name)

    def _is_unclear(self, callee: ast.expr) -> bool:
        if last_name(callee) in self._renamed or type(callee).__name__ in _FOLLOWED[2:]:
            return True
        node = callee
        while self._of_run and isinstance(node, ast.Attribute):
            if node.attr in self._of_run:
                return True
            node = node.value
        return bool(self._of_run) and (
            type(node).__name__ in _FOLLOWED[2:] or last_name(node) in self._of_run
        )


def _bindings(tables: Tables) -> Iterator[Binding]:
    for scope in tables.all_scopes():
        for bindings in scope.bindings.values():
            yield from bindings
    for bindings in tables.attributes.values():
        yield from bindings
