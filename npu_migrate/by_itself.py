"""The files in which no other file of the run has a say: they are done at the first look.

Most files of a large run are of this kind, and nothing of them need be kept for later passes. That
such a file imports no other is seen here; that no other imports it, once all have been looked at.
"""

from dataclasses import replace
from typing import Optional

from npu_migrate.facts import RunFacts
from npu_migrate.link import link_names, link_steps
from npu_migrate.migrations import signs
from npu_migrate.migrations.loss_scale.hand_scaling import HandScaling
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.survey import Sought, name_facts, step_facts
from npu_migrate.migrator import Migrator
from npu_migrate.names import Project, exports
from npu_migrate.options import Options
from npu_migrate.programs import Programs
from npu_migrate.reader import Reader, ReadFile
from npu_migrate.results import FileResult
from npu_migrate.rules import Rules
from npu_migrate.scan import Scan
from npu_migrate.selection import Selection
from npu_migrate.sources import Source, SourceError

_OF_THE_RUN = (signs.SWITCHES, signs.KERAS_FITS)
"""Signs of what is judged by what any file of the run does."""

_CLOSED_ELSEWHERE = "session-never-closed"
"""What is no finding if any file of the run closes a session of that name."""

_SCALING = tuple(set(signs.OF_TRAINING) - {signs.GRADIENTS})


class ByItself:
    """Plans and rewrites such files."""

    def __init__(self, rules: Rules, chosen: Rules, options: Options) -> None:
        self._migrator = Migrator(RunFacts(), {}, rules, chosen, options)
        self._selection = Selection(frozenset(chosen.by_code))
        self._options = options
        self._takes_the_run = bool(
            options.select
            or options.ignore
            or options.loss_scale
            or options.add_ignores
            or options.for_page
        )

    def result(
        self, reader: Reader, source: Source, scan: Scan, read: ReadFile
    ) -> Optional[FileResult]:
        """What becomes of a file, unless the others may have a say in that."""
        if self._takes_the_run or self._takes_others(reader, source, scan, read):
            return None
        index = read.index
        project = Project(modules=(index.module,), load=lambda module: exports(index))
        index.attach(project, index.convention)
        try:
            if not scan.trains or _trains_unscaled(read):
                run = _run_of(source, scan, read, project)
                migrator = self._migrator.of(run, {index.module: index.module})
                result = migrator.result_of(self._selection, source.path, read)
                if all(finding.name != _CLOSED_ELSEWHERE for finding in result.findings):
                    return result
        except (SourceError, RecursionError):
            pass
        finally:
            project.load = None  # which would hold the index, as the index holds the project
        index.attach(Project(), index.convention)
        return None

    def _takes_others(self, reader: Reader, source: Source, scan: Scan, read: ReadFile) -> bool:
        return (
            scan.trains_keras
            or scan.says_precision
            or scan.suppresses
            or source.path in self._options.ignored_in
            or any(map(read.text.shows, _OF_THE_RUN))
            or (scan.trains and any(map(read.text.shows, _SCALING)))
            or reader.reaches_others(source, scan.imports)
        )


def _run_of(source: Source, scan: Scan, read: ReadFile, project: Project) -> RunFacts:
    """What there is to know of a run of one file that imports no other."""
    index, module = read.index, frozenset((read.index.module,))
    run = RunFacts(project=project, paths={index.module: source.path})
    if scan.trains:
        names = name_facts(index, read.text, Sought(module))
        programs = Programs({index.module: scan}, lambda module, dotted, level: dotted)
        run = replace(link_names(project, programs, [names], training=module), paths=run.paths)
        run = link_steps(run, [step_facts(index, read.text, run)])
    return run


def _trains_unscaled(read: ReadFile) -> bool:
    """Whether gradients are all that a file has of training, and nothing scales them."""
    return not HandScaling(read.index, Optimizers(read.index)).calls(with_numbers=True)
