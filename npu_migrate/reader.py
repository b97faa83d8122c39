"""Reads the files of a run, as often as the passes over it ask for them."""

import ast
from dataclasses import dataclass
from typing import Dict, Optional, Sequence

from npu_migrate.canonical import Canonical
from npu_migrate.facts import NameFacts, RunFacts, StepFacts
from npu_migrate.layout import Layout
from npu_migrate.migrations.signs import Text
from npu_migrate.migrations.survey import Sought, name_facts, step_facts
from npu_migrate.migrations.vocabulary import HOROVOD_NAMES
from npu_migrate.names import Exports, Index, Resolution, exports
from npu_migrate.outline import outline
from npu_migrate.rules import Rules
from npu_migrate.scan import Scan, Scanner
from npu_migrate.scripts import OtherLanguage, Script, read_script
from npu_migrate.sources import Source, SourceError, TransientError, parse
from npu_migrate.suppressions import are_in

KEPT_BYTES = 5_000_000
"""Source bytes whose indexes are kept between the passes; what is beyond is read again."""


@dataclass(frozen=True)
class ScannedFile:
    """What the first look leaves of a file."""

    source: Source
    scan: Optional[Scan] = None
    error: Optional[SourceError] = None
    skipped: str = ""


@dataclass(frozen=True)
class ReadFile:
    """A file that was read: its Python, the index of that, and what its code shows."""

    script: Script
    index: Index
    text: Text


class Reader:
    """Reads files into indexes, and keeps the first few of them from pass to pass."""

    def __init__(self, sources: Sequence[Source], rules: Rules, scanner: Scanner) -> None:
        self._layout = Layout(source.path for source in sources)
        self._sources = {self.module(source): source for source in sources}
        self._canonical = Canonical(rules.canonical, rules.exact)
        self._scanner = scanner
        self._kept: Dict[str, ReadFile] = {}
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

    def scan(self, source: Source) -> ScannedFile:
        """The first look at a file; whether it can be parsed is found here."""
        try:
            script = read_script(source)
            tree = parse(script.python, source.path)
            seen = outline(tree)
            text = Text(seen.code(script.python))
            scan = self._scanner(text, seen, are_in(script.python))
            if scan.concerned and len(script.python) <= self._room:
                self._keep(source, script, tree, text)
            return ScannedFile(source, scan)
        except OtherLanguage as reason:
            return ScannedFile(source, skipped=str(reason))
        except SourceError as error:
            return ScannedFile(source, error=error)
        except RecursionError:
            return ScannedFile(source, error=too_deep(source.path))

    def names(self, sought: Sought, source: Source) -> Optional[NameFacts]:
        """The names of a file; ``None`` for one that can no longer be read."""
        try:
            read = self._read(source)
            names = name_facts(read.index, read.text, sought)
            self._let_go(source, read.index)
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

    def read(self, source: Source, run: RunFacts) -> ReadFile:
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

    def _read(self, source: Source) -> ReadFile:
        kept = self._kept.get(source.path)
        if kept is not None:
            return kept
        script = read_script(source)
        tree = parse(script.python, source.path)
        text = Text(outline(tree).code(script.python))
        return self._keep(source, script, tree, text)

    def _keep(self, source: Source, script: Script, tree: ast.Module, text: Text) -> ReadFile:
        layout, path = self._layout, source.path
        index = Index(
            tree,
            layout.module(path),
            lambda dotted, level: layout.resolve(path, dotted, level),
            self._canonical,
        )
        read = ReadFile(script, index, text)
        if len(script.python) <= self._room:
            self._room -= len(script.python)
            self._kept[path] = read
        return read


def too_deep(path: str) -> TransientError:
    """The error of a file whose nesting is deeper than Python's stack."""
    return TransientError(path, "nested too deeply to be analysed", "split the expression up")


def _unknown(name: str) -> Resolution:
    return Resolution(frozenset(), unknown=True)


def _horovod_by_name(name: str) -> Resolution:
    """A parameter called ``hvd`` in a program that uses Horovod."""
    if name.lstrip("_") in HOROVOD_NAMES:
        return Resolution(frozenset(("horovod.tensorflow",)), assumed=True)
    return _unknown(name)
