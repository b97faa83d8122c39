"""The files of a run that may hold something to migrate: linked, planned and rewritten."""

from dataclasses import replace
from functools import partial
from typing import FrozenSet, Iterable, Iterator, List, Mapping, Optional, Sequence

from npu_migrate.crew import Each
from npu_migrate.facts import NameFacts, RunFacts, StepFacts
from npu_migrate.link import link_added_scaling, link_names, link_sessions, link_steps
from npu_migrate.migrations.survey import Sought, name_facts, step_facts
from npu_migrate.migrator import Migrator
from npu_migrate.names import Project
from npu_migrate.on_npu import places_on_npu
from npu_migrate.options import Options
from npu_migrate.programs import Programs
from npu_migrate.reader import Reader
from npu_migrate.results import FileResult
from npu_migrate.rules import Rules
from npu_migrate.selection import Selection, Share, holds
from npu_migrate.sources import Source, SourceError


class LinkedFiles:
    """The files that take part, once the first look at all files is done.

    ``each`` makes a pass over some of them.
    """

    def __init__(
        self,
        reader: Reader,
        each: Each,
        programs: Programs,
        files: Sequence[Source],
        rules: Rules,
        chosen: Rules,
        options: Options,
    ) -> None:
        self._reader = reader
        self._each = each
        self._programs = programs
        self._files = {reader.module(source): source for source in files}
        self._rules = rules
        self._chosen = chosen
        self._options = options

    def results(self, seen: Sequence[NameFacts], given: FrozenSet[str]) -> Iterator[FileResult]:
        """What becomes of the files, in their order, of those whose paths are ``given``.

        ``seen`` are the names that the first look has found.
        """
        run = self._with_names(seen)
        steps = self._steps(run)
        run = link_added_scaling(link_steps(run, steps), self._programs, steps)
        run = link_sessions(run, self._programs, [facts.sessions for facts in steps])
        program_of = {module: self._programs.name(module) for module in self._files}
        migrator = Migrator(run, program_of, self._rules, self._chosen, self._options)
        selection = self._selection(migrator, steps, given)
        wanted = [source for source in self._files.values() if source.path in given]
        counts = self._counts(run, wanted) if self._options.for_page else {}
        for result in self._each(partial(migrator.result, selection), wanted):
            yield replace(result, on_npu=counts.get(result.path, {})) if counts else result

    def _with_names(self, seen: Sequence[NameFacts]) -> RunFacts:
        """The run, with the names of all files linked."""
        scans, training = self._programs.scans, self._programs.training()
        sought = Sought(
            training=training,
            horovod=any(scan.has_horovod for scan in scans.values()),
            keras=self._programs.with_keras,
            missing_scaling=bool(self._options.loss_scale),
        )
        found = {facts.module: facts for facts in seen}
        rest = [
            source
            for module, source in self._files.items()
            if module not in found
            or sought.horovod
            or module in sought.keras
            or (module in training and not scans[module].trains)
        ]
        found.update((f.module, f) for f in self._each(partial(_names, sought), rest) if f)
        names = [found[module] for module in self._files if module in found]
        exports = {facts.module: facts.exports for facts in names}
        project = Project(exports, scans, self._reader.exports)
        linked = link_names(project, self._programs, names, self._options.loss_scale, training)
        return replace(linked, paths={module: s.path for module, s in self._files.items()})

    def _steps(self, run: RunFacts) -> List[StepFacts]:
        """What the files do with optimizers and the precision, of those where it matters."""
        scans = self._programs.scans
        first = frozenset(m for m in self._files if run.trains(m) or scans[m].says_precision)
        steps = self._pass_of_steps(run, first)
        switching = [f.module for f in steps if f.sessions.switches]
        beside = frozenset(m for module in switching for m in self._programs.beside(module))
        together = frozenset(m for module in beside for m in self._programs.beside(module))
        return steps + self._pass_of_steps(run, together - first)

    def _pass_of_steps(self, run: RunFacts, modules: FrozenSet[str]) -> List[StepFacts]:
        asked = [source for module, source in self._files.items() if module in modules]
        return [facts for facts in self._each(partial(_steps, run), asked) if facts is not None]

    def _selection(
        self, migrator: Migrator, steps: Sequence[StepFacts], given: FrozenSet[str]
    ) -> Selection:
        """What is chosen, without the programs whose changes have to wait."""
        options, scans = self._options, self._programs.scans
        keeping = frozenset(facts.module for facts in steps if facts.keeps_horovod)
        is_partial = bool(options.select or options.ignore) or any(
            source.path not in given for source in self._files.values()
        )
        asked = [
            source
            for module, source in self._files.items()
            if is_partial
            or scans[module].suppresses
            or source.path in options.ignored_in
            or module in keeping
        ]
        shares: Iterable[Share] = self._each(migrator.share, asked)
        if options.add_ignores:  # what waits for other files is no finding to suppress
            shares = [replace(share, unfinished=None) for share in shares]
            given |= {source.path for source in self._files.values()}
        codes = frozenset(self._chosen.by_code)
        return Selection(codes, holds(shares, codes, given))

    def _counts(self, run: RunFacts, files: Sequence[Source]) -> Mapping[str, Mapping[str, int]]:
        """Path -> what is on the NPU already."""
        scans = self._programs.scans
        done = [source for source in files if scans[self._reader.module(source)].on_npu]
        counts = self._each(partial(_places_on_npu, run), done)
        return {source.path: places for source, places in zip(done, counts)}


# What a pass does with a file; one that can be read no more is left out.


def _names(sought: Sought, reader: Reader, source: Source) -> Optional[NameFacts]:
    try:
        read = reader.read_alone(source)
        names = name_facts(read.index, read.text, sought)
        reader.done_with(source, read.index)
        return names
    except (SourceError, RecursionError):
        return None


def _steps(run: RunFacts, reader: Reader, source: Source) -> Optional[StepFacts]:
    try:
        read = reader.read(source, run)
        facts = step_facts(read.index, read.text, run)
        reader.done_with(source, read.index)
        return facts
    except (SourceError, RecursionError):
        return None


def _places_on_npu(run: RunFacts, reader: Reader, source: Source) -> Mapping[str, int]:
    try:
        return places_on_npu(reader.read(source, run).index)
    except (SourceError, RecursionError):
        return {}
