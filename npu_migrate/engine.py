"""Carries the rules out over the files of a run.

A first look finds the files that may be concerned, and their names. These are linked, then what the
files do with optimizers and the global step, which needs those names; then each file is planned and
rewritten by itself. Between the passes only facts remain of most files, not their trees, so
that a run over thousands of files needs little more memory than its largest one.
"""

import gc
from contextlib import contextmanager
from typing import Callable, Iterator, List, Sequence

from npu_migrate.canonical import Canonical
from npu_migrate.crew import crew
from npu_migrate.first_look import FirstPass
from npu_migrate.left_alone import left_alone
from npu_migrate.options import Options
from npu_migrate.programs import Programs
from npu_migrate.reader import Reader
from npu_migrate.results import FileResult, all_or_none
from npu_migrate.rules import Rules
from npu_migrate.scan import Scanner
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
    everything = [source.with_text() for source in (*sources, *beside)]
    chosen = rules.select(options.select, options.ignore, options.extend_select)
    scanner = Scanner(_looked_for(rules, chosen), bool(options.loss_scale))
    reader = Reader(everything, rules, scanner)
    with _collector_paused(), crew(options.jobs, reader, everything) as each:
        looks = list(each(FirstPass(rules, chosen, options), everything))
        scans = {reader.module(s): look.scan for s, look in zip(everything, looks) if look.scan}
        programs = Programs(scans, reader.resolve)
        done = {
            source.path: look.result
            for source, look in zip(everything, looks)
            if look.result is not None and programs.is_alone(reader.module(source))
        }
        concerned = programs.concerned(counts_done=options.for_page)
        files = [s for s in everything if reader.module(s) in concerned and s.path not in done]
        planned: Iterator[FileResult] = iter(())
        if files:
            from npu_migrate.linked_files import LinkedFiles  # and with it all the migrations

            linked = LinkedFiles(reader, each, programs, files, rules, chosen, options)
            names = [look.names for look in looks if look.names is not None]
            planned = linked.results(names, frozenset(source.path for source in sources))
        results = []
        for source, look in zip(everything[: len(sources)], looks):
            if source.path in done:
                results.append(done[source.path])
            elif reader.module(source) in concerned:
                results.append(next(planned))
            else:
                results.append(left_alone(source, look, rules, chosen, options))
            advance()
        return all_or_none(results)


def _looked_for(rules: Rules, chosen: Rules) -> List[str]:
    """The names that tell by themselves that a file may hold something to migrate."""
    tabled = [n for rule in rules.by_code.values() if not rule.migration for n in rule.match]
    asked_for = [n for rule in chosen.by_code.values() if not rule.default for n in rule.match]
    canonical = Canonical(rules.canonical, rules.exact)
    paths = [path for name in tabled for path in canonical.paths(name)]
    return [*paths, *(name.rpartition(".")[2] for name in asked_for)]


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
