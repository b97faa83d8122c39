"""Reads the files of a run, as often as the passes over it ask for them."""

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Dict, Optional, Sequence, Tuple

from npu_migrate.canonical import Canonical
from npu_migrate.layout import Layout
from npu_migrate.migrations.signs import Text
from npu_migrate.migrations.vocabulary import HOROVOD_NAMES
from npu_migrate.names import Exports, Index, Resolution, exports
from npu_migrate.outline import outline
from npu_migrate.programs import ImportedNames
from npu_migrate.rules import Rules
from npu_migrate.scan import Scan, Scanner
from npu_migrate.scripts import Script, read_script
from npu_migrate.sources import Source, SourceError, TransientError, parse
from npu_migrate.suppressions import are_in

if TYPE_CHECKING:
    from npu_migrate.facts import RunFacts

KEPT_BYTES = 5_000_000
"""Source bytes whose indexes are kept between the passes; what is beyond is read again."""


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

    def module(self, source: Source) -> str:
        """The name of a file's module."""
        return self._layout.module(source.path)

    def resolve(self, module: str, dotted: str, level: int) -> str:
        """The qualified name that an import in a module of the run means."""
        return self._layout.resolve(self._sources[module].path, dotted, level)

    def reaches_others(self, source: Source, imports: Sequence[ImportedNames]) -> bool:
        """Whether a file may get at other files of the run: by imports, or as their package."""
        layout, path = self._layout, source.path
        return layout.holds_others(path) or any(
            layout.resolve(path, imported.module, imported.level).startswith(":")
            for imported in imports
        )

    def look(self, source: Source) -> Tuple[Scan, Optional[ReadFile]]:
        """What the text of a file tells, and what was read if it may hold something to migrate.

        Whether it can be parsed is found here: ``OtherLanguage``, ``SourceError``.
        """
        try:
            script = read_script(source)
            tree = parse(script.python, source.path)
            seen = outline(tree)
            text = Text(seen.code(script.python))
            scan = self._scanner(text, seen, are_in(script.python))
            return scan, self._keep(source, script, tree, text) if scan.concerned else None
        except RecursionError as error:
            raise too_deep(source.path) from error

    def exports(self, module: str) -> Exports:
        """What a module of the run offers; nothing where it can't be read."""
        try:
            source = self._sources[module]
            index = self.read_alone(source).index
            offered = exports(index)
            self.done_with(source, index)
            return offered
        except (SourceError, RecursionError):
            return Exports({})

    def read(self, source: Source, run: "RunFacts") -> ReadFile:
        """A file whose index knows the other files of the run."""
        read = self.read_alone(source)
        run.project.load = self.exports
        uses_horovod = run.uses_horovod(read.index.module)
        read.index.attach(run.project, _horovod_by_name if uses_horovod else _unknown)
        return read

    def read_alone(self, source: Source) -> ReadFile:
        """A file whose index knows no other."""
        kept = self._kept.get(source.path)
        if kept is not None:
            return kept
        script = read_script(source)
        tree = parse(script.python, source.path)
        return self._keep(source, script, tree, Text(outline(tree).code(script.python)))

    def done_with(self, source: Source, index: Index) -> None:
        """Let go of an index after a pass, unless it is kept for the next."""
        if source.path not in self._kept:
            index.release()

    def forget(self, source: Source, index: Index) -> None:
        """Let go of the index of a file that is done."""
        if self._kept.pop(source.path, None) is not None:
            self._room += len(source.read())
        self.done_with(source, index)

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
