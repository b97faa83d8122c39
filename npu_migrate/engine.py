"""Carries the rules out over the files of a run.

A first look finds the files that may be concerned. Of these the names are read and linked, then
what they do with optimizers and the global step, which needs those names; then each file is planned
and rewritten by itself. Between the passes only facts remain of most files, not their trees, so
that a run over thousands of files needs little more memory than its largest one.
"""

import gc
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import (
    Any,
    Callable,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Mapping,
    Sequence,
    Tuple,
)

from npu_migrate.canonical import Canonical
from npu_migrate.link import link_added_scaling, link_names, link_sessions, link_steps
from npu_migrate.migrations.survey import Sought
from npu_migrate.migrator import Migrator
from npu_migrate.names import Project
from npu_migrate.options import Options
from npu_migrate.programs import Programs
from npu_migrate.reader import Reader
from npu_migrate.results import FileResult, all_or_none
from npu_migrate.rules import Rules
from npu_migrate.scan import Scan, Scanner
from npu_migrate.selection import Selection, Share, holds
from npu_migrate.sources import Source, is_notebook, is_project_file


def migrate(
    sources: Sequence[Source],
    rules: Rules,
    options: Options,
    advance: Callable[[], None] = lambda: None,
    beside: Sequence[Source] = (),
) -> List[FileResult]:
    """The results in the order of ``sources``; a bad file is a result with an error.

    ``advance`` is called as each file is done. ``beside`` are scripts that run with the sources and
    are only read.
    """
    scripts = [source for source in sources if not is_project_file(source.path)]
    results = {r.path: r for r in _migrate_scripts(scripts, rules, options, advance, beside)}
    others = [source for source in sources if is_project_file(source.path)]
    notebooks = [source for source in scripts if is_notebook(source.path)]
    if others or notebooks:
        from npu_migrate.project_files.examine import Examiner

        examiner = Examiner(
            rules,
            rules.select(options.select, options.ignore),
            options.ignored_in,
            options.add_ignores,
        )
        for source in notebooks:
            results[source.path] = examiner.with_commands(results[source.path])
        for source in others:
            results[source.path] = examiner.examine(source)
            advance()
    return [results[source.path] for source in sources]


def _migrate_scripts(
    sources: Sequence[Source],
    rules: Rules,
    options: Options,
    advance: Callable[[], None],
    beside: Sequence[Source],
) -> List[FileResult]:
    everything = [*sources, *beside]
    matched = [name for rule in rules.by_code.values() for name in rule.match]
    chosen = rules.select(options.select, options.ignore, options.extend_select)
    looked_for = _looked_for(rules, chosen)
    reader = Reader(everything, rules, Scanner(looked_for, bool(options.loss_scale)))
    with _collector_paused(), _workers(options.jobs) as each:
        files = list(each(reader.scan, everything))
        scans = {reader.module(f.source): f.scan for f in files if f.scan is not None}
        programs = Programs(scans, reader.resolve)
        with_keras = programs.importers(m for m, scan in scans.items() if scan.trains_keras)
        concerned, training = _concerned(scans, programs, with_keras)
        taking_part = [s for s in everything if reader.module(s) in concerned]
        sought = Sought(
            training=training,
            horovod=any(scan.has_horovod for scan in scans.values()),
            keras=with_keras,
            missing_scaling=bool(options.loss_scale),
        )
        names = [f for f in each(partial(reader.names, sought), taking_part) if f is not None]
        project = Project({f.module: f.exports for f in names}, scans, reader.exports)
        run = link_names(project, programs, names, matched, options.loss_scale, training)
        run = replace(run, paths={reader.module(s): s.path for s in taking_part})
        steps = [f for f in each(partial(reader.steps, run), taking_part) if f is not None]
        run = link_added_scaling(link_steps(run, steps), programs, steps)
        run = link_sessions(run, programs, [f.sessions for f in steps])
        migrator = Migrator(reader, run, rules, chosen, concerned, programs, options)
        keeping = {f.module for f in steps if f.keeps_horovod}
        asked = [
            source
            for source in taking_part
            if options.select
            or options.ignore
            or beside
            or scans[reader.module(source)].suppresses
            or source.path in options.ignored_in
            or reader.module(source) in keeping
        ]
        codes, given = frozenset(chosen.by_code), frozenset(source.path for source in sources)
        shares: Iterable[Share] = each(migrator.share, asked)
        if options.add_ignores:  # what waits for other files is no finding to suppress
            shares = [replace(share, unfinished=None) for share in shares]
            given |= {source.path for source in beside}
        selection = Selection(codes, holds(shares, codes, given))
        results = []
        for result in each(partial(migrator.result, selection), files[: len(sources)]):
            results.append(result)
            advance()
        return all_or_none(results)


def _looked_for(rules: Rules, chosen: Rules) -> List[str]:
    """The names that tell by themselves that a file may hold something to migrate."""
    tabled = [n for rule in rules.by_code.values() if not rule.migration for n in rule.match]
    asked_for = [n for rule in chosen.by_code.values() if not rule.default for n in rule.match]
    canonical = Canonical(rules.canonical, rules.exact)
    paths = [path for name in tabled for path in canonical.paths(name)]
    return [*paths, *(name.rpartition(".")[2] for name in asked_for)]


def _concerned(
    scans: Mapping[str, Scan], programs: Programs, with_keras: FrozenSet[str]
) -> Tuple[FrozenSet[str], FrozenSet[str]]:
    """The modules that may hold something to migrate, and those whose training may."""
    in_programs = programs.around(m for m, scan in scans.items() if scan.makes_program)
    concerned = frozenset(
        module
        for module, scan in scans.items()
        if scan.concerned
        or (scan.concerned_in_program and module in in_programs)
        or (scan.is_main and module in with_keras)
    )
    training = frozenset(
        module
        for module in concerned
        if scans[module].trains or (scans[module].trains_in_program and module in in_programs)
    )
    return concerned, training


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Trees are large and go by themselves; looking for cycles in them costs a fifth of a run."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _workers(jobs: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """A ``map`` that keeps the order, over as many processes as asked for."""
    if jobs == 1:
        yield map
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(jobs) as pool:

        def each(work: Callable[..., Any], items: Sequence[Any]) -> Iterable[Any]:
            # What all items share, such as the list of files, is sent again with each chunk.
            return pool.map(work, items, chunksize=max(16, len(items) // (jobs * 8)))

        yield each
