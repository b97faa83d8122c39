"""Puts together what the files of a run tell each other."""

from dataclasses import replace
from typing import Callable, Dict, FrozenSet, Iterable, List, Mapping, Sequence, Set, Tuple

from npu_migrate.facts import (
    CallFacts,
    ClassFacts,
    NameFacts,
    ProgramPrecision,
    RegionFacts,
    RunFacts,
    SessionFacts,
    StepFacts,
    moves_step,
    responsible,
    some_move_it,
)
from npu_migrate.migrations.known_failures.switches import MIXED_PRECISION
from npu_migrate.migrations.vocabulary import SCALED, TO_MIGRATE, is_keras_optimizer, is_optimizer
from npu_migrate.names import Project, Resolution
from npu_migrate.programs import Programs

Parameter = Tuple[str, str]


def link_names(
    project: Project,
    programs: Programs,
    files: Sequence[NameFacts],
    loss_scale: str = "",
    training: FrozenSet[str] = frozenset(),
) -> RunFacts:
    """What the names of all files that are concerned say together."""
    project.parameters.update(_parameters(files, project))
    scaling = programs.around(f.module for f in files if _scales(f, project, SCALED))
    trainers = frozenset(name for file in files for name in file.keras_trainers)
    mentions = frozenset(name for file in files for name in file.main_mentions)
    return RunFacts(
        project=project,
        training=training,
        scaling_functions={f.name: f for file in files for f in file.scaling_functions},
        horovod=programs.around(f.module for f in files if f.uses_horovod),
        embeddings=programs.around(programs.with_embeddings),
        makes_loss_scale_variable=any(f.scales_by_object for f in files),
        taken=programs.taken,
        imported=programs.imported(),
        fetches=programs.fetches,
        keras_trainers=trainers,
        with_keras=programs.with_keras,
        keras_reached=frozenset(
            t for t in trainers if any(f"{m}.".startswith(f"{t}.") for m in mentions)
        ),
        switches={
            switch: programs.around(f.module for f in files if switch in f.switches)
            for switch in {switch for f in files for switch in f.switches}
        },
        closed=programs.closed,
        loss_scale=loss_scale,
        strategies=programs.around(f.module for f in files if f.keeps_strategy),
        scaling=scaling,
        scaling_on_npu=scaling - programs.around(f.module for f in files if _scales(f, project)),
        optimizer_classes=_derived([f.bases for f in files], project, is_optimizer),
        keras_optimizers=_derived(
            [given for f in files for given in (f.bases, f.returned)], project, is_keras_optimizer
        ),
    )


def _scales(file: NameFacts, project: Project, optimizers: FrozenSet[str] = TO_MIGRATE) -> bool:
    """Whether a file scales its loss, by one of the optimizers or by hand."""
    called = {name for call in file.called for name in project.lookup(call).names}
    return file.scales_by_hand or not called.isdisjoint(optimizers)


def _derived(
    sources: Iterable[Mapping[str, Tuple[str, ...]]],
    project: Project,
    is_known: Callable[[str], bool],
) -> FrozenSet[str]:
    """The names of a run that come from known ones, such as classes from their bases."""
    bases = {name: given for source in sources for name, given in source.items()}
    found: Set[str] = set()
    grown = True
    while grown:
        grown = False
        for name, given in bases.items():
            followed = {base for one in given for base in project.lookup(one).names}
            if name not in found and any(b in found or is_known(b) for b in followed):
                found.add(name)
                grown = True
    return frozenset(found)


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


def link_added_scaling(run: RunFacts, programs: Programs, files: Sequence[StepFacts]) -> RunFacts:
    """The run, whose programs with a new loss scale are taken for such of mixed precision."""
    added = programs.around(f.sessions.module for f in files if f.adds_scaling)
    on = run.switches.get(MIXED_PRECISION, frozenset()) | added
    return replace(run, switches={**run.switches, MIXED_PRECISION: on}) if added else run


def link_sessions(run: RunFacts, programs: Programs, files: Sequence[SessionFacts]) -> RunFacts:
    """The run with what the files that run together say of sessions and their precision."""
    return replace(
        run,
        precision=_precision(programs, files),
        npu_configs=frozenset(name for f in files for name in f.npu_configs),
    )


def _precision(programs: Programs, files: Sequence[SessionFacts]) -> Dict[str, ProgramPrecision]:
    """Module -> the precision of its programs, where one of them has mixed precision."""
    by_module = {f.module: f for f in files}
    found: Dict[str, ProgramPrecision] = {}
    for switching in (f for f in files if f.switches):
        for module in programs.beside(switching.module):
            if module not in found and module in by_module:
                beside = [by_module[m] for m in programs.beside(module) if m in by_module]
                found[module] = ProgramPrecision(
                    switches=tuple(s for f in beside for s in f.switches),
                    configured=any(f.configures for f in beside),
                    is_set=any(f.sets_precision for f in beside),
                    trains=any(f.trains for f in beside),
                    scales=any(f.scales for f in beside),
                )
    return found


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
            can = can and (not region.conditional or some_move_it(region.origins, classes))
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
