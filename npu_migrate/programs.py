"""Which modules of a run make one program, as far as their imports tell."""

from typing import (
    TYPE_CHECKING,
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    List,
    Mapping,
    NamedTuple,
    Set,
    Tuple,
)

if TYPE_CHECKING:
    from npu_migrate.scan import Scan

Resolve = Callable[[str, str, int], str]


class ImportedNames(NamedTuple):
    """``from module import names`` (with dots counted in ``level``), or ``import module``."""

    module: str
    level: int
    names: Tuple[str, ...] = ()


class Imports:
    """Modules that imports join, in either direction: what runs as one program.

    ``imports`` are by module; ``resolve(module, dotted, level)`` tells which one an import means.
    """

    def __init__(self, imports: Mapping[str, Iterable[ImportedNames]], resolve: Resolve) -> None:
        self._neighbours: Dict[str, Set[str]] = {module: set() for module in imports}
        self._imported: Dict[str, Set[str]] = {module: set() for module in imports}
        self._importing: Dict[str, Set[str]] = {module: set() for module in imports}
        self._names: Dict[str, str] = {}
        taken: Set[str] = set()
        for module, all_imported in imports.items():
            for imported in all_imported:
                target = resolve(module, imported.module, imported.level)
                if not target.startswith(":"):
                    continue
                names = [target + n if target == ":" else f"{target}.{n}" for n in imported.names]
                taken.update(names)
                for name in (target, *names):
                    self._join(module, name)
        self.taken = frozenset(taken)
        """Names that one file of the run takes from another."""

    def imported(self) -> FrozenSet[str]:
        """The modules that another one imports itself."""
        return frozenset(module for module, by in self._importing.items() if by)

    def importers(self, modules: Iterable[str]) -> FrozenSet[str]:
        """The modules that import one of ``modules``, directly or not, and these themselves."""
        return _reached(modules, self._importing)

    def _join(self, module: str, name: str) -> None:
        while name and name != ":" and name not in self._neighbours:
            name = name.rpartition(".")[0]
        if name in self._neighbours and name != module:
            self._neighbours[module].add(name)
            self._neighbours[name].add(module)
            self._imported[module].add(name)
            self._importing[name].add(module)

    def name(self, module: str) -> str:
        """A name that all modules of a program share, and no others."""
        if module not in self._names:
            together = self.around((module,))
            self._names.update(dict.fromkeys(together, min(together)))
        return self._names[module]

    def is_alone(self, module: str) -> bool:
        """Whether a module makes a program by itself."""
        return not self._neighbours[module]

    def around(self, modules: Iterable[str]) -> FrozenSet[str]:
        """The modules of every program that holds one of ``modules``."""
        return _reached(modules, self._neighbours)

    def beside(self, module: str) -> List[str]:
        """The modules that some script of the run imports together with ``module``, in order."""
        return sorted(_reached(_reached([module], self._importing), self._imported))


class Programs(Imports):
    """The programs of a run, with what the first look at their files tells."""

    def __init__(self, scans: "Mapping[str, Scan]", resolve: Resolve) -> None:
        super().__init__({module: scan.imports for module, scan in scans.items()}, resolve)
        self.scans = scans
        self.fetches = frozenset(name for scan in scans.values() for name in scan.fetches)
        self.closed = frozenset(name for scan in scans.values() for name in scan.closed)
        self.with_embeddings = [module for module, scan in scans.items() if scan.has_embeddings]
        self.with_keras = self.importers(m for m, scan in scans.items() if scan.trains_keras)
        """The modules that train through Keras, and those that import them."""
        self._scaled = self.around(m for m, scan in scans.items() if scan.makes_program)

    def concerned(self, counts_done: bool = False) -> FrozenSet[str]:
        """The modules that may hold something to migrate, or of which it is asked what is done."""
        return frozenset(
            module
            for module, scan in self.scans.items()
            if scan.concerned
            or (scan.concerned_in_program and module in self._scaled)
            or (scan.is_main and module in self.with_keras)
            or (scan.on_npu and counts_done)
        )

    def training(self) -> FrozenSet[str]:
        """Those that may hold loss scaling, averaging over ranks or a moved global step."""
        return frozenset(
            module
            for module in self.concerned()
            if self.scans[module].trains
            or (self.scans[module].trains_in_program and module in self._scaled)
        )


def _reached(modules: Iterable[str], neighbours: Mapping[str, Set[str]]) -> FrozenSet[str]:
    reached: Set[str] = set()
    pending = list(modules)
    while pending:
        module = pending.pop()
        if module not in reached:
            reached.add(module)
            pending += neighbours[module]
    return frozenset(reached)
