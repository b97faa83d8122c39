"""Carries the rules out over the files of a run.

A first look finds the files that may be concerned. Of these the names are read and linked, then
what they do with optimizers and the global step, which needs those names; then each file is planned
and rewritten by itself. Between the passes only facts remain of most files, not their trees, so
that a run over thousands of files needs little more memory than its largest one.
"""

import ast
import gc
import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import (
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
)

from npu_migrate.canonical import Canonical
from npu_migrate.facts import NameFacts, RunFacts, StepFacts
from npu_migrate.layout import Layout
from npu_migrate.link import Programs, link_added_scaling, link_names, link_sessions, link_steps
from npu_migrate.migrations.context import Context
from npu_migrate.migrations.file_plan import plan_file
from npu_migrate.migrations.signs import Text
from npu_migrate.migrations.survey import keras_facts, name_facts, step_facts, training_facts
from npu_migrate.migrations.table import Table
from npu_migrate.migrations.vocabulary import HOROVOD_NAMES
from npu_migrate.names import Exports, Index, Project, Resolution, exports
from npu_migrate.plan import Finding, Plan
from npu_migrate.results import FileResult, all_or_none
from npu_migrate.rewrite import RewriteError, rewrite
from npu_migrate.rules import Rules
from npu_migrate.scan import Scan, Scanner
from npu_migrate.scripts import OtherLanguage, Script, read_script
from npu_migrate.selection import Selection, holding, is_coupled, judged
from npu_migrate.sources import Source, SourceError, decode, is_notebook, is_project_file, parse
from npu_migrate.suppressions import MARK, Suppressions
from npu_migrate.suppressions import read as read_suppressions

_LINE_END = re.compile("\r\n|\r|\n")

KEPT_BYTES = 5_000_000
"""Source bytes whose indexes are kept between the passes; what is beyond is read again."""


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    select: Tuple[str, ...] = ()
    ignore: Tuple[str, ...] = ()
    removed: str = "comment"
    optimizer: str = "nested"
    estimator: str = "helpers"
    loss_scale: str = ""
    """Loss scaling to add where there is none: ``dynamic``, or a number of 1 or more."""
    jobs: int = 1
    extend_select: Tuple[str, ...] = ()
    precision_mode: str = ""
    with_texts: bool = True
    """Whether the new texts are wanted, and not just what would change."""
    ignored_in: Mapping[str, Tuple[str, ...]] = field(default_factory=dict)
    """Path -> the starts of codes that are ignored in it alone."""
    add_ignores: bool = False
    """Migrate nothing, but write comments that suppress what would be left."""


@dataclass(frozen=True)
class _File:
    """What the first look leaves of a file."""

    source: Source
    scan: Optional[Scan] = None
    error: Optional[SourceError] = None
    skipped: str = ""


def migrate(
    sources: Sequence[Source],
    rules: Rules,
    options: Options,
    advance: Callable[[], None] = lambda: None,
) -> List[FileResult]:
    """The results in the order of ``sources``; a bad file is a result with an error.

    ``advance`` is called as each file is done.
    """
    scripts = [source for source in sources if not is_project_file(source.path)]
    results = {r.path: r for r in _migrate_scripts(scripts, rules, options, advance)}
    others = [source for source in sources if is_project_file(source.path)]
    notebooks = [source for source in scripts if is_notebook(source.path)]
    if others or notebooks:
        from npu_migrate.project_files.examine import Examiner

        examiner = Examiner(rules, rules.select(options.select, options.ignore), options.ignored_in)
        for source in notebooks:
            results[source.path] = examiner.with_commands(results[source.path])
        for source in others:
            results[source.path] = examiner.examine(source)
            advance()
    return [results[source.path] for source in sources]


def _migrate_scripts(
    sources: Sequence[Source], rules: Rules, options: Options, advance: Callable[[], None]
) -> List[FileResult]:
    matched = [name for rule in rules.by_code.values() for name in rule.match]
    chosen = rules.select(options.select, options.ignore, options.extend_select)
    looked_for = _looked_for(rules, chosen)
    reader = _Reader(sources, rules, Scanner(looked_for, bool(options.loss_scale)))
    with _collector_paused(), _workers(options.jobs) as each:
        files = list(each(reader.scan, sources))
        scans = {reader.module(f.source): f.scan for f in files if f.scan is not None}
        programs = Programs(scans, reader.resolve)
        concerned, training = _concerned(scans, programs)
        taking_part = [s for s in sources if reader.module(s) in concerned]
        with_horovod = any(scan.has_horovod for scan in scans.values())
        with_keras = any(scan.trains_keras for scan in scans.values())
        read = partial(reader.names, with_horovod, bool(options.loss_scale), with_keras, training)
        names = [facts for facts in each(read, taking_part) if facts is not None]
        project = Project({f.module: f.exports for f in names}, scans, reader.exports)
        run = link_names(project, programs, names, matched, options.loss_scale, training)
        steps = [f for f in each(partial(reader.steps, run), taking_part) if f is not None]
        run = link_added_scaling(link_steps(run, steps), programs, steps)
        run = link_sessions(run, programs, [f.sessions for f in steps])
        migrator = _Migrator(reader, run, rules, chosen, concerned, programs, options)
        suppressing = [
            source
            for source in taking_part
            if scans[reader.module(source)].suppresses or source.path in options.ignored_in
        ]
        held = dict(chain.from_iterable(each(migrator.held, suppressing)))
        selection = Selection(frozenset(chosen.by_code), held=held)
        if options.select or options.ignore:
            changing = chain.from_iterable(each(migrator.changing, taking_part))
            selection = selection.completed(changing)
        results = []
        for result in each(partial(migrator.result, selection), files):
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
    scans: Mapping[str, Scan], programs: Programs
) -> Tuple[FrozenSet[str], FrozenSet[str]]:
    """The modules that may hold something to migrate, and those whose training may."""
    in_programs = programs.around(m for m, scan in scans.items() if scan.makes_program)
    with_keras = programs.importers(m for m, scan in scans.items() if scan.trains_keras)
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
        yield partial(pool.map, chunksize=16)


@dataclass(frozen=True)
class _Read:
    """A file that was read: its Python, the index of that, and what its text shows."""

    script: Script
    index: Index
    text: Text


class _Reader:
    """Reads files into indexes, and keeps the first few of them from pass to pass."""

    def __init__(self, sources: Sequence[Source], rules: Rules, scanner: Scanner) -> None:
        self._layout = Layout(source.path for source in sources)
        self._sources = {self.module(source): source for source in sources}
        self._canonical = Canonical(rules.canonical, rules.exact)
        self._scanner = scanner
        self._kept: Dict[str, _Read] = {}
        self._room = KEPT_BYTES

    def __getstate__(self) -> Dict[str, object]:
        """What another process is given: everything but the indexes."""
        return {**self.__dict__, "_kept": {}, "_room": KEPT_BYTES}

    def module(self, source: Source) -> str:
        """The name of a file's module."""
        return self._layout.module(source.path)

    def resolve(self, module: str, dotted: str, level: int) -> str:
        """The qualified name that an import in a module of the run means."""
        return self._layout.resolve(self._sources[module].path, dotted, level)

    def scan(self, source: Source) -> _File:
        """The first look at a file; whether it can be parsed is found here."""
        try:
            script = read_script(source)
            tree, text = parse(script.python, source.path), Text(script.python)
            scan = self._scanner(text, tree)
            if scan.concerned:
                self._keep(source, script, tree, text)
            return _File(source, scan)
        except OtherLanguage as reason:
            return _File(source, skipped=str(reason))
        except SourceError as error:
            return _File(source, error=error)
        except RecursionError:
            return _File(source, error=_too_deep(source.path))

    def names(
        self,
        with_horovod: bool,
        with_training: bool,
        with_keras: bool,
        training: FrozenSet[str],
        source: Source,
    ) -> Optional[NameFacts]:
        """The names of a file; ``None`` for one that can no longer be read."""
        try:
            read = self._read(source)
            index, text = read.index, read.text
            names = name_facts(index, text, with_horovod, trains=index.module in training)
            names = training_facts(index, names) if with_training else names
            names = keras_facts(index, text, names) if with_keras else names
            self._let_go(source, index)
            return names
        except (SourceError, RecursionError):
            return None

    def exports(self, module: str) -> Exports:
        """What a module offers that is not concerned itself."""
        try:
            source = self._sources[module]
            index = self._read(source).index
            offered = exports(index)
            self._let_go(source, index)
            return offered
        except (SourceError, RecursionError):
            return Exports({})

    def steps(self, run: RunFacts, source: Source) -> Optional[StepFacts]:
        """What a file does with optimizers; ``None`` for one that can no longer be read."""
        try:
            read = self.read(source, run)
            facts = step_facts(read.index, read.text, run)
            self._let_go(source, read.index)
            return facts
        except (SourceError, RecursionError):
            return None

    def read(self, source: Source, run: RunFacts) -> _Read:
        """A file whose index knows the other files of the run."""
        read = self._read(source)
        uses_horovod = run.uses_horovod(read.index.module)
        read.index.attach(run.project, _horovod_by_name if uses_horovod else _unknown)
        return read

    def forget(self, source: Source, index: Index) -> None:
        """Let go of the index of a file that is done."""
        self._kept.pop(source.path, None)
        self._let_go(source, index)

    def _let_go(self, source: Source, index: Index) -> None:
        if source.path not in self._kept:
            index.release()

    def _read(self, source: Source) -> _Read:
        kept = self._kept.get(source.path)
        if kept is not None:
            return kept
        script = read_script(source)
        tree, text = parse(script.python, source.path), Text(script.python)
        return self._keep(source, script, tree, text)

    def _keep(self, source: Source, script: Script, tree: ast.Module, text: Text) -> _Read:
        layout, path = self._layout, source.path
        index = Index(
            tree,
            layout.module(path),
            lambda dotted, level: layout.resolve(path, dotted, level),
            self._canonical,
        )
        read = _Read(script, index, text.of_code(index))
        if len(script.python) <= self._room:
            self._room -= len(script.python)
            self._kept[path] = read
        return read


def _too_deep(path: str) -> SourceError:
    return SourceError(path, "nested too deeply to be analysed", "split the expression up")


class _Migrator:
    """Plans and rewrites one file after the other."""

    def __init__(
        self,
        reader: _Reader,
        run: RunFacts,
        rules: Rules,
        chosen: Rules,
        concerned: FrozenSet[str],
        programs: Programs,
        options: Options,
    ) -> None:
        self._reader = reader
        self._concerned = concerned
        self._programs = programs
        self._run = run
        self._known = rules
        self._chosen = chosen
        self._rules = {rule.name: rule for rule in judged(rules, chosen).by_code.values()}
        self._table = Table(self._rules.values())
        self._options = options

    def changing(self, source: Source) -> FrozenSet[str]:
        """The codes of the rules that change something in a file."""
        try:
            read = self._reader.read(source, self._run)
            plan = self._plan(source.path, read, self._suppressions(source.path, read.script))
        except (SourceError, RecursionError):
            return frozenset()
        return frozenset(finding.code for finding in plan.owners.values())

    def held(self, source: Source) -> List[Tuple[str, Finding]]:
        """The program of a file and what is suppressed there of changes that belong together."""
        try:
            read = self._reader.read(source, self._run)
            suppressions = self._suppressions(source.path, read.script)
            found = holding(self._plan(source.path, read, suppressions), suppressions)
        except (SourceError, RecursionError):
            return []
        program = self._programs.name(self._reader.module(source))
        return [(program, read.script.placed(found))] if found else []

    def result(self, selection: Selection, file: _File) -> FileResult:
        """The plan of a file, carried out."""
        path = file.source.path
        if file.error is not None:
            return FileResult(path, b"", b"", error=file.error)
        module = self._reader.module(file.source)
        try:
            if module not in self._concerned:
                return self._unconcerned(file)
            read = self._reader.read(file.source, self._run)
            suppressions = self._suppressions(path, read.script)
            plan = self._plan(path, read, suppressions)
            program = self._programs.name(module) if selection.held else ""
            plan = selection.cut(plan, suppressions, program)
            plan.findings += self._judged(path, suppressions, plan.suppressed)
            if self._options.add_ignores:
                return _with_ignores(path, read.script, plan)
            result = self._migrated(path, read.script, read.index, plan)
            self._reader.forget(file.source, read.index)
            return result
        except SourceError as error:
            return self._lost(path, module, error)
        except RecursionError:
            return self._lost(path, module, _too_deep(path))

    def _unconcerned(self, file: _File) -> FileResult:
        path, data = file.source.path, file.source.read()
        result = FileResult(path, data, data, skipped=file.skipped)
        if file.scan is None or not file.scan.suppresses:
            return result
        script = read_script(file.source)
        findings = self._judged(path, self._suppressions(path, script), [])
        return replace(result, findings=_placed(script, findings))

    def _lost(self, path: str, module: str, error: SourceError) -> FileResult:
        """What is read no more might have had to change with the rest of its program."""
        program = self._programs.name(module)
        return FileResult(path, b"", b"", error=error, program=program, is_held_back=True)

    def _migrated(self, path: str, script: Script, index: Index, plan: Plan) -> FileResult:
        in_program = any(is_coupled(finding.code) for finding in plan.owners.values())
        result = FileResult(
            path,
            script.file,
            script.file,
            _placed(script, plan.findings),
            suppressed=_placed(script, plan.suppressed),
            program=self._programs.name(index.module) if in_program else "",
        )
        if not self._options.with_texts:
            return replace(result, would_change=bool(plan.edits))
        try:
            rewritten = rewrite(script.python, index.tree, plan.edits)
            after = script.with_python(rewritten.data)
        except RewriteError as error:
            held_back = result.unchanged(str(error))
            return replace(held_back, error=_unwritten(path, error), is_held_back=True)
        if rewritten.failed:
            # A file is never half migrated: one edit that finds no place holds all of them back.
            held_back = result.unchanged("its text could not be matched")
            return replace(held_back, is_held_back=True)
        return replace(result, after=after)

    def _suppressions(self, path: str, script: Script) -> Suppressions:
        ignored = self._options.ignored_in.get(path, ())
        if MARK not in script.python:
            return Suppressions(everywhere=ignored)
        return replace(read_suppressions(decode(script.python, path)), everywhere=ignored)

    def _judged(self, path: str, suppressions: Suppressions, found: List[Finding]) -> List[Finding]:
        """What is to be said of the comments of a file, once ``found`` is suppressed."""
        return suppressions.judged(path, found, self._chosen, self._known)

    def _plan(self, path: str, read: _Read, suppressions: Suppressions) -> Plan:
        lines = tuple(_LINE_END.split(decode(read.script.python, path)))
        context = Context(path, read.index, self._rules, self._run, text=read.text, lines=lines)
        context.suppressions = suppressions
        context.comment_out = self._options.removed == "comment"
        context.combined = self._options.optimizer == "combined"
        context.estimator_classes = self._options.estimator == "classes"
        context.precision_mode = self._options.precision_mode
        return plan_file(context, self._table)


def _with_ignores(path: str, script: Script, plan: Plan) -> FileResult:
    """The file as it was, with comments that suppress what would be left."""
    from npu_migrate.add_ignores import can_be_ignored, with_ignores

    left = [finding for finding in plan.findings if finding.status.is_left]
    ignored = [finding for finding in left if can_be_ignored(finding)]
    return FileResult(
        path,
        script.file,
        script.with_python(with_ignores(script.python, path, ignored)),
        _placed(script, [finding for finding in left if not can_be_ignored(finding)]),
        suppressed=_placed(script, plan.suppressed + ignored),
    )


def _placed(script: Script, findings: Iterable[Finding]) -> Tuple[Finding, ...]:
    """Findings in the order of a script, as people find them in the file."""
    return tuple(script.placed(finding) for finding in sorted(findings, key=_by_place))


def _by_place(finding: Finding) -> Tuple[int, int, str]:
    return finding.line, finding.column, finding.code


def _unknown(name: str) -> Resolution:
    return Resolution(frozenset(), unknown=True)


def _horovod_by_name(name: str) -> Resolution:
    """A parameter called ``hvd`` in a program that uses Horovod."""
    if name.lstrip("_") in HOROVOD_NAMES:
        return Resolution(frozenset(("horovod.tensorflow",)), assumed=True)
    return _unknown(name)


def _unwritten(path: str, error: RewriteError) -> SourceError:
    return SourceError(path, f"cannot be rewritten: {error}", "make its changes by hand")
