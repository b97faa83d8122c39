"""The files in which no other file of the run has a say: they are done at the first look.

Most files of a large run are of this kind, and nothing of them need be kept for later passes. That
such a file imports no other is seen here; that no other imports it, once all have been looked at.
"""

from typing import Optional

from npu_migrate.facts import RunFacts
from npu_migrate.migrations import signs
from npu_migrate.migrator import Migrator
from npu_migrate.names import Project, exports
from npu_migrate.options import Options
from npu_migrate.reader import Reader, ReadFile
from npu_migrate.results import FileResult
from npu_migrate.rules import Rules
from npu_migrate.scan import Scan
from npu_migrate.selection import Selection
from npu_migrate.sources import Source, SourceError

_OF_THE_RUN = (signs.OPEN_SESSIONS, signs.SWITCHES, signs.KERAS_FITS)
"""Signs of what is judged by what any file of the run does."""


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
        run = RunFacts(project=project, paths={index.module: source.path})
        migrator = self._migrator.of(run, {index.module: index.module})
        try:
            return migrator.result_of(self._selection, source.path, read)
        except (SourceError, RecursionError):
            return None
        finally:
            project.load = None  # which would hold the index, as the index holds the project

    def _takes_others(self, reader: Reader, source: Source, scan: Scan, read: ReadFile) -> bool:
        return (
            scan.trains
            or scan.trains_keras
            or scan.says_precision
            or scan.suppresses
            or source.path in self._options.ignored_in
            or any(map(read.text.shows, _OF_THE_RUN))
            or reader.reaches_others(source, scan.imports)
        )
