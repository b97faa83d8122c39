"""How names resolve across the files of one run."""

from dataclasses import dataclass
from typing import (
    Callable,
    Collection,
    Dict,
    FrozenSet,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)


class Resolution(NamedTuple):
    """What a dotted expression stands for.

    ``unknown`` says that it may also be something else; ``assumed`` that ``names`` were taken by
    convention (a parameter called ``hvd``) and not from a binding.
    """

    names: FrozenSet[str]
    unknown: bool = False
    assumed: bool = False

    @property
    def sole(self) -> str:
        """The one qualified name, or an empty string."""
        return next(iter(self.names)) if len(self.names) == 1 else ""


UNKNOWN = Resolution(frozenset(), unknown=True)
NOTHING = Resolution(frozenset())


@dataclass(frozen=True)
class Exports:
    """What a module of the run offers to the others, small enough to outlive its tree."""

    names: Mapping[str, Tuple[str, ...]]
    """Name -> qualified names; one that starts with ``.`` is relative to the module itself."""
    stars: Tuple[str, ...] = ()
    """Modules all of whose names it takes over."""


class Project:
    """What is known across the files of one run; an index of one file asks it."""

    def __init__(
        self,
        exports: Optional[Mapping[str, Exports]] = None,
        modules: Collection[str] = (),
        load: Optional[Callable[[str], Exports]] = None,
    ) -> None:
        self._exports = dict(exports or {})
        self._modules = set(modules) | set(self._exports)
        self.load = load
        """Reads what a module of the run offers that is not known yet."""
        self.parameters: Dict[Tuple[str, str], Resolution] = {}
        """(function, parameter) -> what calls in the run hand over."""

    def __getstate__(self) -> Dict[str, object]:
        """What another process is given, which reads files itself."""
        return {**self.__dict__, "load": None}

    def exports(self, module: str) -> Exports:
        """What a module of the run offers; read when it is first asked for."""
        known = self._exports.get(module)
        if known is None:
            can_be_read = self.load is not None and module in self._modules
            known = self.load(module) if can_be_read else Exports({})  # type: ignore[misc]
            self._exports[module] = known
        return known

    def lookup(self, name: str, seen: FrozenSet[str] = frozenset()) -> Resolution:
        """Follow a qualified name of the run (``:pkg.mod.name``) through re-exports."""
        if not name.startswith(":") or name in seen:
            return Resolution(frozenset((name,)))
        module, _, rest = self._split(name)
        if not module or not rest:
            return Resolution(frozenset((name,)))
        exported, _, attributes = rest.partition(".")
        targets = self._targets(module, exported, seen | {name})
        if targets is None:
            return Resolution(frozenset((name,)))
        suffix = "." + attributes if attributes else ""
        found: Set[str] = set()
        unknown = False
        for target in targets:
            if not target:
                unknown = True
                continue
            full = target + suffix
            if full == name or full.startswith(name + "."):
                found.add(name)  # the module itself, or one below it that is not in the run
                continue
            further = self.lookup(full, seen | {name})
            found |= further.names
            unknown = unknown or further.unknown
        return Resolution(frozenset(found), unknown)

    def _targets(self, module: str, name: str, seen: FrozenSet[str]) -> Optional[List[str]]:
        exports = self.exports(module)
        if name in exports.names:
            return [self._absolute(module, target) for target in exports.names[name]]
        for star in exports.stars:
            if star in self._modules and f"{star}.{name}" not in seen:
                targets = self._targets(star, name, seen | {f"{star}.{name}"})
                if targets is not None:
                    return targets
            elif star and not star.startswith(":"):
                return [f"{star}.{name}"]
        return None

    def _absolute(self, module: str, target: str) -> str:
        if not target.startswith("."):
            return target
        root, _, rest = target[1:].partition(".")
        if root not in self.exports(module).names:
            return ""
        if rest == "" or self.exports(module).names[root] == (target,):
            return f"{module}.{target[1:]}"
        resolved = self.lookup(f"{module}.{root}", frozenset((f"{module}{target}",))).sole
        return f"{resolved}.{rest}" if resolved else ""

    def _split(self, name: str) -> Tuple[str, str, str]:
        module = name
        while module:
            if module in self._modules:
                return module, ".", name[len(module) + 1 :]
            module = module.rpartition(".")[0]
        return "", "", name


def union(results: Sequence[Resolution]) -> Resolution:
    if len(results) == 1:
        return results[0]
    names: FrozenSet[str] = frozenset().union(*(result.names for result in results))
    unknown = any(result.unknown for result in results)
    return Resolution(names, unknown, any(result.assumed for result in results))
