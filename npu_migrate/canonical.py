"""Many dotted paths lead to one thing: its canonical name."""

from typing import Dict, FrozenSet, Iterator, List, Mapping


class Canonical:
    """Reads private, compatibility and moved paths as the one name that rules go by.

    ``prefixes`` map a module or class and all below it, the longest that fits first; ``exact``
    maps single names.
    """

    def __init__(self, prefixes: Mapping[str, str], exact: Mapping[str, str]) -> None:
        self._prefixes = prefixes
        self._exact = exact
        self._known: Dict[str, str] = {}
        self._words: Dict[FrozenSet[str], FrozenSet[str]] = {}
        self._leading: Dict[str, List[str]] = {}
        for paths in (prefixes, exact):
            for path, target in paths.items():
                self._leading.setdefault(target, []).append(path)

    def __call__(self, name: str) -> str:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._find(name)
        return known

    def _find(self, name: str) -> str:
        if name.startswith(":"):
            return name
        start = name
        while start:
            if start in self._prefixes:
                return self(self._prefixes[start] + name[len(start) :])
            start = start.rpartition(".")[0]
        return self._exact.get(name, name)

    def words(self, names: FrozenSet[str]) -> FrozenSet[str]:
        """The last words of names and of all paths to them."""
        known = self._words.get(names)
        if known is None:
            paths = set(names)
            pending = list(names)
            while pending:
                further = set(self._leading.get(pending.pop(), ())) - paths
                paths |= further
                pending += further
            known = frozenset(path.rpartition(".")[2] for path in paths)
            self._words[names] = known
        return known

    def paths(self, name: str) -> Iterator[str]:
        """A name, and the paths to it whose last two words are others."""
        module, _, last = name.rpartition(".")
        yield name
        yield from self._leading.get(name, ())
        for path in self._leading.get(module, ()):
            yield f"{path}.{last}"
