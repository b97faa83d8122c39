"""A baseline: the findings that a team knows of, so that a check fails on new ones only.

A finding is known by its file, its code and the text of its line, and not by the line's number, so
that it stays known when the line moves. Paths are relative to the baseline's own folder. A run that
rewrites files rewrites what the baseline says of them.
"""

import difflib
import hashlib
import json
import os
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, Sequence, Tuple

from npu_migrate.findings import Finding, Status
from npu_migrate.results import FileResult
from npu_migrate.sources import STDIN, decode, is_notebook, is_project_file
from npu_migrate.sources import replace as replace_file
from npu_migrate.suppressions import LINE_END

VERSION = 2
_LONGEST = 100
"""Characters of a line that a baseline shows."""
_WRITE = "write it with --write-baseline"
_DAMAGED = "correct it, or delete it and write it anew with --write-baseline"


class BaselineError(Exception):
    """A baseline that cannot be read or written."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")


@dataclass(frozen=True)
class Baseline:
    """The known findings by file; each is a code and the text of its line, with how often."""

    path: str
    files: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def without_known(self, results: Iterable[FileResult], written: bool) -> Tuple[FileResult, ...]:
        """The results with what is known apart; what was migrated just now is always told."""
        return tuple(self._parted(result, written) for result in results)

    def updated(self, results: Sequence[FileResult], codes: FrozenSet[str]) -> "Baseline":
        """All that is found, and what was known that these results do not speak of.

        That are other files, and rules that are none of ``codes``.
        """
        looked_at = {self._name(result.path) for result in results if result.error is None}
        folder = os.path.dirname(self.path)
        files = {
            name: known
            for name, known in self.files.items()
            if name not in looked_at and os.path.exists(os.path.join(folder, name))
        }
        for result in results:
            lines = _Lines(result)
            name = self._name(result.path)
            counts = Counter(_key(f, lines) for f in result.findings if _asks_something(f))
            for key, count in self.files.get(name, {}).items():
                if result.error is None and key.partition(" ")[0] not in codes:
                    counts[key] = count
            if counts:
                files[name] = counts
        return Baseline(self.path, files)

    def rewritten(self, results: Sequence[FileResult]) -> "Baseline":
        """The same once the texts of the results are in place.

        What was migrated is known no more, and what is left stays known where its line changed.
        """
        files = {name: Counter(known) for name, known in self.files.items()}
        for result in results:
            known = files.get(self._name(result.path))
            if not known or not result.is_changed:
                continue
            before, after = _Lines(result), _Lines(replace(result, before=result.after))
            places = _places(before, after)
            for finding in (*result.known, *result.findings):
                key = _key(finding, before)
                if known[key] <= 0 or not _asks_something(finding):
                    continue
                known[key] -= 1
                if finding.status.is_left:
                    line = places[finding.cell].get(finding.line, 0)
                    known[_key(replace(finding, line=line), after)] += 1
        kept = {name: +known for name, known in files.items()}
        return Baseline(self.path, {name: known for name, known in kept.items() if known})

    def write(self) -> None:
        """Sorted, one finding a line, so that a diff of it can be read."""
        text = json.dumps({"version": VERSION, "findings": self.files}, indent=2, sort_keys=True)
        try:
            if os.path.exists(self.path):
                replace_file(os.path.realpath(self.path), f"{text}\n".encode(), like=self.path)
            else:
                with open(self.path, "w", encoding="utf-8") as file:
                    file.write(f"{text}\n")
        except OSError as error:
            raise BaselineError(self.path, f"cannot be written: {_reason(error)}") from error

    def _parted(self, result: FileResult, written: bool) -> FileResult:
        left = Counter(self.files.get(self._name(result.path), {}))
        if not left:
            return result
        lines = _Lines(result)
        new: List[Finding] = []
        known: List[Finding] = []
        for finding in result.findings:
            is_open = finding.status.is_left if written else _asks_something(finding)
            key = _key(finding, lines) if is_open else ""
            (known if left[key] > 0 else new).append(finding)
            left[key] -= 1
        return replace(result, findings=tuple(new), known=tuple(known))

    def _name(self, path: str) -> str:
        if path == STDIN:
            return path
        return os.path.relpath(_real(path), os.path.dirname(_real(self.path))).replace(os.sep, "/")


def load(path: str) -> Baseline:
    """The baseline in a file."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            content = json.load(file)
    except FileNotFoundError as error:
        raise BaselineError(path, f"there is no such baseline; {_WRITE}") from error
    except OSError as error:
        raise BaselineError(path, f"cannot be read: {_reason(error)}") from error
    except (ValueError, RecursionError) as error:
        raise BaselineError(path, f"no JSON: {error}; {_DAMAGED}") from error
    return Baseline(path, _checked(path, content))


def load_to_update(path: str) -> Baseline:
    """The baseline in a file, or an empty one where there is none yet."""
    return load(path) if os.path.exists(path) else Baseline(path)


def _checked(path: str, content: Any) -> Dict[str, Dict[str, int]]:
    version = content.get("version") if isinstance(content, dict) else None
    if version != VERSION:
        message = f"no baseline of version {VERSION}"
        raise BaselineError(path, f"{message}; {_DAMAGED}")
    files = content.get("findings")
    if not isinstance(files, dict) or not all(map(_are_counts, files.values())):
        raise BaselineError(path, f"its findings are no counts by file and code; {_DAMAGED}")
    return files


def _are_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(type(count) is int for count in value.values())


def _real(path: str) -> str:
    """A path without links to folders; a file that is a link keeps its name."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


# Keys ---------------------------------------------------------------------------------------------


class _Lines:
    """The lines of a file, or of the cells of a notebook."""

    def __init__(self, result: FileResult) -> None:
        self._result = result
        self._cells: Dict[int, List[str]] = {}

    @property
    def cells(self) -> Mapping[int, List[str]]:
        """The lines by the number of their cell, which is 0 in a file without cells."""
        if not self._cells:
            self._cells = {number: LINE_END.split(text) for number, text in self._texts()}
        return self._cells

    def text(self, finding: Finding) -> str:
        lines = self.cells.get(finding.cell, [])
        return lines[finding.line - 1] if 0 < finding.line <= len(lines) else ""

    def _texts(self) -> Iterable[Tuple[int, str]]:
        path, data = self._result.path, self._result.before
        if is_notebook(path):
            from npu_migrate.notebooks.document import Document

            return [(cell.number, cell.text) for cell in Document(path, data).cells]
        return [
            (0, data.decode("utf-8", "replace") if is_project_file(path) else decode(data, path))
        ]


def _key(finding: Finding, lines: _Lines) -> str:
    text = " ".join(lines.text(finding).split())
    if len(text) > _LONGEST:
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
        text = f"{text[:_LONGEST]}... {digest}"
    return f"{finding.code} {text}"


def _places(before: _Lines, after: _Lines) -> Dict[int, Dict[int, int]]:
    """Cell -> line -> where the line is once the file is rewritten; lines that went have none."""
    places: Dict[int, Dict[int, int]] = defaultdict(dict)
    for cell, old in before.cells.items():
        new = after.cells.get(cell, [])
        matcher = difflib.SequenceMatcher(None, old, new)
        for kind, start, end, first, last in matcher.get_opcodes():
            for line in range(start, end):
                if kind == "equal":
                    places[cell][line + 1] = first + line - start + 1
                elif kind == "replace":
                    places[cell][line + 1] = _closest(old[line], new, first, last) + 1
    return places


def _closest(line: str, lines: Sequence[str], first: int, last: int) -> int:
    """The line from ``first`` to before ``last`` that is most like another."""
    return max(
        range(first, last),
        key=lambda number: difflib.SequenceMatcher(None, line, lines[number], False).ratio(),
    )


def _asks_something(finding: Finding) -> bool:
    return finding.status is not Status.NOTE
