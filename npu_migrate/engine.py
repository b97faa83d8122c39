"""Carries the rules out over the files of a run: read all, link, then plan and rewrite each.

The first pass keeps only a few facts of each file, never its tree, so that a run over thousands of
files needs little more memory than its largest one.
"""

import ast
import re
from dataclasses import dataclass, replace
from typing import Dict, Iterator, Optional, Pattern, Sequence, Tuple

from npu_migrate.canonical import Canonical
from npu_migrate.facts import FileFacts, RunFacts
from npu_migrate.layout import Layout
from npu_migrate.link import link
from npu_migrate.migrations.context import Context
from npu_migrate.migrations.file_plan import plan_file
from npu_migrate.migrations.survey import survey
from npu_migrate.names import Index, Resolution, exports
from npu_migrate.plan import Finding, Plan, Status
from npu_migrate.rewrite import RewriteError, rewrite
from npu_migrate.rules import Rule, Rules
from npu_migrate.sources import Source, SourceError, parse

WORDS = r"Optimizer|apply_gradients|mixed_precision|LossScale|horovod|hvd|is_finite|is_nan|is_inf"
"""A file with none of these words has nothing that the migrations reason about."""


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    select: Tuple[str, ...] = ()
    ignore: Tuple[str, ...] = ()
    removed: str = "comment"
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
class _Surveyed:
    """What the first pass leaves of a file."""

    source: Source
    facts: Optional[FileFacts] = None
    interesting: bool = False
    error: Optional[SourceError] = None


def migrate(sources: Sequence[Source], rules: Rules, options: Options) -> Iterator[FileResult]:
    """The results in the order of ``sources``; a bad file is a result with an error."""
    layout = Layout(source.path for source in sources)
    reader = _Reader(layout, rules)
    surveyed = [reader.survey(source) for source in sources]
    facts = [s.facts for s in surveyed if s.facts is not None]
    run = link(facts, (name for rule in rules.by_code.values() for name in rule.match))
    chosen = {r.name: r for r in rules.select(options.select, options.ignore).by_code.values()}
    migrator = _Migrator(reader, run, chosen, options)
    for item in surveyed:
        yield migrator.result(item)


class _Reader:
    """Reads files into indexes."""

    def __init__(self, layout: Layout, rules: Rules) -> None:
        self._layout = layout
        self._rules = rules
        self._canonical = Canonical(rules.canonical, rules.exact)
        self._words = _words(rules)

    def survey(self, source: Source) -> _Surveyed:
        try:
            data = source.read()
            tree = parse(data, source.path)
        except SourceError as error:
            return _Surveyed(source, error=error)
        interesting = self._words.search(data) is not None
        try:
            index = self.index(tree, source.path)
            facts = survey(index) if interesting else _exports_only(index)
        except RecursionError:
            return _Surveyed(source, error=_too_deep(source.path))
        return _Surveyed(source, facts, interesting)

    def index(self, tree: ast.Module, path: str) -> Index:
        layout = self._layout
        return Index(
            tree,
            layout.module(path),
            lambda dotted, level: layout.resolve(path, dotted, level),
            self._canonical,
        )


def _exports_only(index: Index) -> FileFacts:
    return FileFacts(index.module, exports(index))


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

    def result(self, item: _Surveyed) -> FileResult:
        path = item.source.path
        if item.error is not None:
            return FileResult(path, b"", b"", error=item.error)
        try:
            data = item.source.read()
            if not item.interesting:
                return FileResult(path, data, data)
            return self._migrated(path, data)
        except SourceError as error:
            return FileResult(path, b"", b"", error=error)

    def _migrated(self, path: str, data: bytes) -> FileResult:
        tree = parse(data, path)
        plan = self._plan(path, data, tree)
        findings = tuple(sorted(plan.findings, key=lambda f: (f.line, f.column, f.code)))
        try:
            rewritten = rewrite(data, tree, plan.edits)
        except RewriteError as error:
            return FileResult(path, data, data, _left(findings, str(error)), _unwritten(path, error))
        if rewritten.failed:
            # A file is never half migrated: one edit that finds no place holds all of them back.
            return FileResult(path, data, data, _left(findings, "its text could not be matched"))
        return FileResult(path, data, rewritten.data, findings)

    def _plan(self, path: str, data: bytes, tree: ast.Module) -> Plan:
        index = self._reader.index(tree, path)
        index.project = self._run.project
        if self._run.uses_horovod(index.module):
            index.convention = _horovod_by_name
        lines = tuple(data.decode("utf-8", "replace").splitlines())
        context = Context(
            path, index, self._rules, self._run, self._options.removed == "comment", lines
        )
        return plan_file(context)


def _horovod_by_name(name: str) -> Resolution:
    """A parameter called ``hvd`` in a program that uses Horovod."""
    if name.lstrip("_") in ("hvd", "horovod"):
        return Resolution(frozenset(("horovod.tensorflow",)), assumed=True)
    return Resolution(frozenset(), unknown=True)


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


