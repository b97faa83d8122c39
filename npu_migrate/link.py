"""Puts together what the files of a run tell each other."""

from typing import Dict, FrozenSet, Iterable, List, Mapping, Sequence, Set, Tuple

from npu_migrate.facts import (
    CallFacts,
    ClassFacts,
    FileFacts,
    RegionFacts,
    RunFacts,
    moves_step,
    responsible,
)
from npu_migrate.names import Project, Resolution

Parameter = Tuple[str, str]


def link(files: Sequence[FileFacts], replaced: Iterable[str]) -> RunFacts:
    """Everything that is known of a run once each of its files has been read."""
    project = Project({f.module: f.exports for f in files})
    classes = {c.name: _linked(c, project) for f in files for c in f.classes}
    regions = [_linked_region(r, project) for f in files for r in f.regions]
    project.parameters.update(_parameters(files, project))
    return RunFacts(
        project=project,
        classes=classes,
        moving=_moving(regions, classes),
        horovod=_programs_with_horovod(files, project),
        taken=frozenset().union(*(_taken(f, project) for f in files)) if files else frozenset(),
        fetches=frozenset().union(*(f.fetches for f in files)) if files else frozenset(),
        replaced=frozenset(replaced),
    )


def _sole(project: Project, name: str) -> str:
    return project.lookup(name).sole or name


def _linked(facts: ClassFacts, project: Project) -> ClassFacts:
    bases = tuple(_sole(project, base) for base in facts.bases)
    return ClassFacts(facts.name, bases, facts.behaviour, facts.needs_step)


def _linked_region(facts: RegionFacts, project: Project) -> RegionFacts:
    origins = tuple(
        type(o)(_sole(project, o.name), tuple(_sole(project, n) for n in o.inside))
        for o in facts.origins
    )
    return RegionFacts(facts.name, origins, facts.scaled, facts.moves_outside, facts.decidable)


def _taken(facts: FileFacts, project: Project) -> Set[str]:
    """Names that a file takes from others, by the module that it names and by the origin."""
    return set(facts.exports.takes)


# The global step ------------------------------------------------------------------------------


def _moving(regions: List[RegionFacts], classes: Mapping[str, ClassFacts]) -> FrozenSet[str]:
    """The optimizer classes that shall move the step.

    A training function under loss scaling that moves the step outside asks it of the classes it may
    use; a function that can't give up its own move vetoes it, since the step would move twice.
    """
    moving: Set[str] = set()
    vetoed: Set[str] = set()
    while True:
        wanted: Set[str] = set()
        refused: Set[str] = set()
        for region in regions:
            leaving = _leaving(region, classes)
            if not region.moves_outside or not leaving:
                continue
            can = region.decidable and _all_known(region, classes) and not leaving & vetoed
            if not can:
                refused |= leaving
            elif region.scaled:
                wanted |= leaving
        if refused <= vetoed:
            moving = wanted - vetoed
            return frozenset(moving)
        vetoed |= refused


def _leaving(region: RegionFacts, classes: Mapping[str, ClassFacts]) -> Set[str]:
    """The classes behind a training function whose own code leaves the step to the caller."""
    names = {n for o in region.origins for n in responsible(o.name, o.inside, classes)}
    return {n for n in names if n in classes and classes[n].behaviour == "leaves"}


def _all_known(region: RegionFacts, classes: Mapping[str, ClassFacts]) -> bool:
    return all(moves_step(o.name, o.inside, classes) != "unknown" for o in region.origins)


# Horovod --------------------------------------------------------------------------------------


def _programs_with_horovod(files: Sequence[FileFacts], project: Project) -> FrozenSet[str]:
    """The modules that an import, in either direction, joins to one that imports Horovod."""
    neighbours: Dict[str, Set[str]] = {f.module: set() for f in files}
    for facts in files:
        for name in facts.exports.modules:
            other = project.module_of(name)
            if other and other != facts.module:
                neighbours[facts.module].add(other)
                neighbours.setdefault(other, set()).add(facts.module)
    reached: Set[str] = set()
    pending = [f.module for f in files if f.uses_horovod]
    while pending:
        module = pending.pop()
        if module not in reached:
            reached.add(module)
            pending += neighbours.get(module, ())
    return frozenset(reached)


def _parameters(files: Sequence[FileFacts], project: Project) -> Dict[Parameter, Resolution]:
    """The parameters that calls in the run hand the Horovod module to, followed to the end."""
    functions = {name: names for f in files for name, names in f.functions.items()}
    calls = [(name, call) for f in files for call in f.calls for name in _callees(call, project)]
    known: Dict[Parameter, Resolution] = {}
    grown = True
    while grown:
        grown = False
        for callee, call in calls:
            names = functions.get(callee)
            if names is None:
                continue
            for handed in call.handed:
                module = handed.module or known.get(handed.parameter, Resolution(frozenset())).sole
                parameter = _parameter(handed.at, call.offset, names)
                if module and parameter and (callee, parameter) not in known:
                    known[callee, parameter] = Resolution(frozenset((module,)))
                    grown = True
    return known


def _callees(call: CallFacts, project: Project) -> FrozenSet[str]:
    base, _, method = call.callee.rpartition(".")
    if method == "__init__":
        return frozenset(f"{name}.__init__" for name in project.lookup(base).names)
    return project.lookup(call.callee).names


def _parameter(at: str, offset: int, names: Sequence[str]) -> str:
    if not at.isdigit():
        return at
    position = int(at) + offset
    return names[position] if position < len(names) else ""
