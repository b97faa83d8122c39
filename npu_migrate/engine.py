"""Carries the rules out over the files of a run, in three passes.

The first reads the names of every file and links them; the second reads what the files do with
optimizers and the global step, which needs those names; the third plans and rewrites each file by
itself. Between the passes only facts remain of most files, not their trees, so that a run over
thousands of files needs little more memory than its largest one.
"""

import re
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    Optional,
    Pattern,
    Sequence,
    Tuple,
)

from npu_migrate.canonical import Canonical
from npu_migrate.facts import NameFacts, RunFacts, StepFacts
from npu_migrate.layout import Layout
from npu_migrate.link import link_names, link_steps
from npu_migrate.migrations.context import Context
from npu_migrate.migrations.file_plan import plan_file
from npu_migrate.migrations.survey import name_facts, plain_facts, step_facts
from npu_migrate.names import Index, Resolution
from npu_migrate.plan import Finding, Plan, Status
from npu_migrate.rewrite import RewriteError, rewrite
from npu_migrate.rules import Rule, Rules
from npu_migrate.sources import Source, SourceError, parse

WORDS = (
    "Optimizer|apply_gradients|minimize|global_step|assign_add|mixed_precision|MIXED_PRECISION|"
    "LossScale|loss_scale:0|horovod|hvd|is_finite|is_nan|is_inf|RANK_"
)
"""A file with none of these words has nothing that the migrations reason about."""

KEPT_BYTES = 1_000_000
"""Source bytes whose indexes are kept between the passes; what is beyond is read again."""


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    select: Tuple[str, ...] = ()
    ignore: Tuple[str, ...] = ()
    removed: str = "comment"
    optimizer: str = "nested"
    jobs: int = 1


@dataclass(frozen=True)
class FileResult:
    """What became of one file; ``before`` is ``after`` where nothing changes."""

    path: str
    before: bytes
    after: bytes
    findings: Tuple[Finding, ...] = ()
    error: Optional[SourceError] = None


@dataclass(frozen=True)
class _Read:
    """What the first pass leaves of a file."""

    source: Source
    names: Optional[NameFacts] = None
    interesting: bool = False
    error: Optional[SourceError] = None


def migrate(sources: Sequence[Source], rules: Rules, options: Options) -> Iterator[FileResult]:
    """The results in the order of ``sources``; a bad file is a result with an error."""
    reader = _Reader(Layout(source.path for source in sources), rules)
    matched = (name for rule in rules.by_code.values() for name in rule.match)
    chosen = {r.name: r for r in rules.select(options.select, options.ignore).by_code.values()}
    with _workers(options.jobs) as each:
        files = list(each(reader.read, sources))
        run = link_names([f.names for f in files if f.names is not None], matched)
        interesting = [f.source for f in files if f.interesting]
        steps = list(each(partial(reader.steps, run), interesting))
        run = link_steps(run, [facts for facts in steps if facts is not None])
        yield from each(_Migrator(reader, run, chosen, options).result, files)


@contextmanager
def _workers(jobs: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """A ``map`` that keeps the order, over as many processes as asked for."""
    if jobs == 1:
        yield map
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield partial(pool.map, chunksize=16)


class _Reader:
    """Reads files into indexes, and keeps the first few of them from pass to pass."""

    def __init__(self, layout: Layout, rules: Rules) -> None:
        self._layout = layout
        self._canonical = Canonical(rules.canonical, rules.exact)
        self._words = _words(rules)
        self._kept: Dict[str, Tuple[bytes, Index]] = {}
        self._room = KEPT_BYTES

    def __getstate__(self) -> Dict[str, object]:
        """What another process is given: everything but the indexes."""
        return {**self.__dict__, "_kept": {}, "_room": KEPT_BYTES}

    def read(self, source: Source) -> _Read:
        """The first pass over a file."""
        try:
            data = source.read()
            interesting = self._words.search(data) is not None
            index = self._new_index(data, source.path)
            if interesting:
                self._keep(source.path, data, index)
                return _Read(source, name_facts(index), True)
            return _Read(source, plain_facts(index))
        except SourceError as error:
            return _Read(source, error=error)
        except RecursionError:
            return _Read(source, error=_too_deep(source.path))

    def steps(self, run: RunFacts, source: Source) -> Optional[StepFacts]:
        """The second pass; ``None`` for a file that can no longer be read."""
        try:
            return step_facts(self.index(source, run)[1], run)
        except (SourceError, RecursionError):
            return None

    def index(self, source: Source, run: RunFacts) -> Tuple[bytes, Index]:
        """A file and its index, which knows the other files of the run."""
        kept = self._kept.get(source.path)
        if kept is None:
            data = source.read()
            kept = data, self._new_index(data, source.path)
        index = kept[1]
        uses_horovod = run.uses_horovod(index.module)
        index.attach(run.project, _horovod_by_name if uses_horovod else _unknown)
        return kept

    def _keep(self, path: str, data: bytes, index: Index) -> None:
        if len(data) <= self._room:
            self._room -= len(data)
            self._kept[path] = data, index

    def _new_index(self, data: bytes, path: str) -> Index:
        layout = self._layout
        return Index(
            parse(data, path),
            layout.module(path),
            lambda dotted, level: layout.resolve(path, dotted, level),
            self._canonical,
        )


def _words(rules: Rules) -> Pattern[bytes]:
    """What to look for in a file before anything else is done with it."""
    words = {re.escape(name.rpartition(".")[2]) for r in rules.by_code.values() for name in r.match}
    return re.compile("|".join([WORDS, *sorted(words)]).encode("ascii"))


def _too_deep(path: str) -> SourceError:
    return SourceError(path, "nested too deeply to be analysed", "split the expression up")


class _Migrator:
    """Plans and rewrites one file after the other."""

    def __init__(
        self, reader: _Reader, run: RunFacts, rules: Dict[str, Rule], options: Options
    ) -> None:
        self._reader = reader
        self._run = run
        self._rules = rules
        self._options = options

    def result(self, file: _Read) -> FileResult:
        """The third pass over a file."""
        path = file.source.path
        if file.error is not None:
            return FileResult(path, b"", b"", error=file.error)
        try:
            if not file.interesting:
                data = file.source.read()
                return FileResult(path, data, data)
            data, index = self._reader.index(file.source, self._run)
            return self._migrated(path, data, index)
        except SourceError as error:
            return FileResult(path, b"", b"", error=error)
        except RecursionError:
            return FileResult(path, b"", b"", error=_too_deep(path))

    def _migrated(self, path: str, data: bytes, index: Index) -> FileResult:
        plan = self._plan(path, data, index)
        findings = tuple(sorted(plan.findings, key=lambda f: (f.line, f.column, f.code)))
        try:
            rewritten = rewrite(data, index.tree, plan.edits)
        except RewriteError as error:
            return FileResult(
                path, data, data, _left(findings, str(error)), _unwritten(path, error)
            )
        if rewritten.failed:
            # A file is never half migrated: one edit that finds no place holds all of them back.
            return FileResult(path, data, data, _left(findings, "its text could not be matched"))
        return FileResult(path, data, rewritten.data, findings)

    def _plan(self, path: str, data: bytes, index: Index) -> Plan:
        lines = tuple(data.decode("utf-8", "replace").splitlines())
        context = Context(path, index, self._rules, self._run, lines=lines)
        context.comment_out = self._options.removed == "comment"
        context.combined = self._options.optimizer == "combined"
        return plan_file(context)


def _unknown(name: str) -> Resolution:
    return Resolution(frozenset(), unknown=True)


def _horovod_by_name(name: str) -> Resolution:
    """A parameter called ``hvd`` in a program that uses Horovod."""
    if name.lstrip("_") in ("hvd", "horovod"):
        return Resolution(frozenset(("horovod.tensorflow",)), assumed=True)
    return _unknown(name)


def _left(findings: Sequence[Finding], reason: str) -> Tuple[Finding, ...]:
    """The findings of a file that could not be rewritten: all are left to a person."""
    return tuple(
        replace(
            f,
            status=Status.MANUAL,
            message=f"{f.message} (not done: {reason})",
            remedy=f.remedy or "make this change by hand",
        )
        if f.status is Status.MIGRATED
        else f
        for f in findings
    )


def _unwritten(path: str, error: RewriteError) -> SourceError:
    return SourceError(path, f"cannot be rewritten: {error}", "make its changes by hand")
