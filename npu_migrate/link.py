"""Puts together what the files of a run tell each other."""

from dataclasses import replace
from typing import Dict, FrozenSet, Iterable, List, Mapping, Sequence, Set, Tuple

from npu_migrate.facts import (
    CallFacts,
    ClassFacts,
    NameFacts,
    RegionFacts,
    RunFacts,
    StepFacts,
    moves_step,
    responsible,
)
from npu_migrate.names import Project, Resolution

Parameter = Tuple[str, str]


def link_names(files: Sequence[NameFacts], replaced: Iterable[str]) -> RunFacts:
    """What the names of all files say together."""
    project = Project({f.module: f.exports for f in files})
    project.parameters.update(_parameters(files, project))
    programs = _Programs(files, project)
    return RunFacts(
        project=project,
        scaling_functions={f.name: f for file in files for f in file.scaling_functions},
        horovod=programs.around(f.module for f in files if f.uses_horovod),
        makes_loss_scale_variable=any(f.scales_by_object for f in files),
        embeddings=programs.around(f.module for f in files if f.has_embeddings),
        taken=frozenset(name for f in files for name in f.exports.takes),
        fetches=frozenset(fetch for f in files for fetch in f.fetches),
        replaced=frozenset(replaced),
    )


def link_steps(run: RunFacts, files: Sequence[StepFacts]) -> RunFacts:
    """The run with its optimizer classes, and which of them shall move the global step."""
    classes = {c.name: c for f in files for c in f.classes}
    regions = [region for f in files for region in f.regions]
    moving = _moving(regions, classes)
    unordered: Set[str] = set()
    for region in regions:
        if region.moves_outside and not region.ordered:
            unordered |= _leaving(region, classes)
    return replace(run, classes=classes, moving=moving, ordered=moving - unordered)


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


class _Programs:
    """Modules that imports join, in either direction: what runs as one program."""

    def __init__(self, files: Sequence[NameFacts], project: Project) -> None:
        self._neighbours: Dict[str, Set[str]] = {f.module: set() for f in files}
        for facts in files:
            for name in facts.exports.modules:
                other = project.module_of(name)
                if other and other != facts.module:
                    self._neighbours[facts.module].add(other)
                    self._neighbours[other].add(facts.module)

    def around(self, modules: Iterable[str]) -> FrozenSet[str]:
        """The modules of every program that holds one of ``modules``."""
        reached: Set[str] = set()
        pending = list(modules)
        while pending:
            module = pending.pop()
            if module not in reached:
                reached.add(module)
                pending += self._neighbours[module]
        return frozenset(reached)


def _parameters(files: Sequence[NameFacts], project: Project) -> Dict[Parameter, Resolution]:
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
