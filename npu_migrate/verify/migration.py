"""What was migrated, file by file, and which of it concerns a quantity that differs.

npu-migrate itself says what there was to migrate in the original. The migrated script may be its
work, or anybody's: where it departs from what npu-migrate writes is where to look first.
"""

import difflib
import os
from dataclasses import dataclass, replace
from typing import Dict, Iterable, Iterator, List, Sequence, Set, Tuple

from npu_migrate.findings import Finding, Status
from npu_migrate.reports.html.side_by_side import Hunk, hunks_of
from npu_migrate.results import FileResult
from npu_migrate.sources import Source, decode
from npu_migrate.verify.program_files import program_files
from npu_migrate.verify.quantities import (
    APPLIED,
    GLOBAL_STEP,
    GRADIENT_NORM,
    LEARNING_RATE,
    LOSS,
    LOSS_SCALE,
    STATE,
    WEIGHT_CHANGE,
    WEIGHTS,
    Quantity,
)

_SCALING, _DISTRIBUTION, _STEP = "NPU1", "NPU2", "NPU3"
_FORWARD = ("NPU5", "NPU132", "NPU710")
"""What can change the loss before any update."""
_CONCERNED: Dict[Quantity, Tuple[str, ...]] = {
    LOSS: (*_FORWARD, _SCALING, _DISTRIBUTION, _STEP),
    GRADIENT_NORM: (_DISTRIBUTION, "NPU116", "NPU117", "NPU128", "NPU123", _SCALING),
    APPLIED: ("NPU209", "NPU103", "NPU106", "NPU107", "NPU104", "NPU123", "NPU124", "NPU2"),
    GLOBAL_STEP: (_STEP,),
    LEARNING_RATE: (_STEP, "NPU202"),
    LOSS_SCALE: ("NPU101", "NPU102", "NPU104", "NPU105", "NPU106", "NPU107", "NPU110", _SCALING),
    WEIGHTS: (_SCALING, _DISTRIBUTION, _STEP),
    WEIGHT_CHANGE: (_SCALING, _DISTRIBUTION, _STEP),
    STATE: (*_FORWARD, _SCALING, _DISTRIBUTION, _STEP),
}
"""Quantity -> starts of the codes of rules that may change it, the likeliest first."""

_WRONG_ON_NPU = (
    "NPU112",
    "NPU113",
    "NPU114",
    "NPU119",
    "NPU123",
    "NPU202",
    "NPU203",
    "NPU204",
    "NPU206",
    "NPU207",
    "NPU208",
    "NPU209",
    "NPU210",
    "NPU211",
)
"""Rules whose findings in a migrated script say that it trains wrongly on the NPU."""
_WRONG = ("NPU116", "NPU117", "NPU120", "NPU128", "NPU129", "NPU130", "NPU306", "NPU309", "NPU311")
"""Rules whose findings say that it trains wrongly anywhere, so the original may have them too."""


@dataclass(frozen=True)
class Departure:
    """A line of the migrated script that npu-migrate would have written otherwise."""

    path: str
    line: int
    text: str
    ours: str


@dataclass(frozen=True)
class MigratedFile:
    """One file of the program.

    Attributes:
      path: of the original.
      migrated_path: of its counterpart.
      before, after: their texts.
      ours: what npu-migrate makes of the original.
      findings: of npu-migrate in the original.
      left: of npu-migrate in the counterpart, where it still finds something.
      origins: for each line of the counterpart the line of the original that became it; only where
        nobody but npu-migrate has the counterpart.
    """

    path: str
    migrated_path: str
    before: bytes
    after: bytes
    ours: bytes
    findings: Tuple[Finding, ...] = ()
    left: Tuple[Finding, ...] = ()
    origins: Tuple[int, ...] = ()

    def origin(self, line: int) -> int:
        """The line to show for one of the counterpart."""
        return self.origins[line - 1] if 0 < line <= len(self.origins) else line

    @property
    def departures(self) -> List[Departure]:
        """Where the counterpart is not what npu-migrate writes; layout and imports aside."""
        ours, theirs = (
            [_compared(line) for line in _lines(data, self.path)]
            for data in (self.ours, self.after)
        )
        return [
            Departure(
                self.migrated_path,
                there + 1,
                _joined(theirs[there:there_end]),
                _joined(ours[here:here_end]),
            )
            for kind, here, here_end, there, there_end in _matched(ours, theirs)
            if kind != "equal" and any(ours[here:here_end] + theirs[there:there_end])
        ]

    @property
    def departing(self) -> List[Finding]:
        """The findings at whose places the counterpart is not what npu-migrate writes."""
        lines = {departure.line - 1 for departure in self.departures}
        before, after = (_lines(data, self.path) for data in (self.before, self.after))
        hunks = [hunk for hunk in hunks_of(before, after, self.findings) if hunk.findings]
        return [finding for hunk in hunks for finding in _at(hunk, lines)]


def _at(hunk: Hunk, lines: Set[int]) -> Iterator[Finding]:
    """The findings of a hunk that begin last before some lines of its right side."""
    left = 0
    for row in hunk.rows:
        left = max(left, row.left + 1)
        if row.right in lines:
            above = [finding for finding in hunk.findings if finding.line <= left]
            yield max(above or hunk.findings[:1], key=lambda finding: finding.line)


def _compared(line: str) -> str:
    """What of a line is compared: its words, and nothing of comments and imports."""
    words = " ".join(line.split())
    return "" if words.startswith(("#", "import ", "from ")) else words


def _joined(lines: Iterable[str]) -> str:
    return " ".join(filter(None, lines))


def _lines(data: bytes, path: str) -> List[str]:
    return decode(data, path).splitlines()


@dataclass(frozen=True)
class Migration:
    """What was migrated.

    Attributes:
      files: of the program, those that have a counterpart.
    """

    files: Tuple[MigratedFile, ...] = ()

    @property
    def departures(self) -> List[Departure]:
        return [departure for file in self.files for departure in file.departures]

    @property
    def changed(self) -> List[MigratedFile]:
        """The files whose counterpart is another text."""
        return [file for file in self.files if file.before != file.after]

    @property
    def migrated(self) -> List[Finding]:
        """What npu-migrate migrates in the original."""
        findings = [finding for file in self.files for finding in file.findings]
        return [finding for finding in findings if finding.status is Status.MIGRATED]

    def concerned(self, quantity: Quantity, step: int) -> List[Finding]:
        """Findings in the original that may be why a quantity differs, the likeliest first."""
        departing = [finding for file in self.files for finding in file.departing]
        starts = _FORWARD if quantity == LOSS and step == 1 else _CONCERNED[quantity]
        findings = [finding for file in self.files for finding in file.findings]
        chosen = [found for found in findings if _rank(found.code, starts) < len(starts)]
        return sorted(
            chosen, key=lambda f: (f not in departing, _rank(f.code, starts), f.path, f.line)
        )

    def by_codes(self, codes: Sequence[str]) -> List[Finding]:
        """Findings in the original by rules."""
        return [f for file in self.files for f in file.findings if f.code in codes]

    def shown_place(self, place: str) -> str:
        """A place in the migrated script, `file.py:12`, with the path where people find it."""
        name, _, line = place.rpartition(":")
        for file in self.files:
            if os.path.basename(file.migrated_path) == name:
                return f"{file.migrated_path}:{file.origin(int(line))}"
        return place

    @property
    def wrong(self) -> List[Finding]:
        """What npu-migrate finds in the migrated script that speaks of a wrong migration."""
        known = {finding.code for file in self.files for finding in file.findings}
        wrong = {*_WRONG_ON_NPU, *(code for code in _WRONG if code not in known)}
        return [finding for file in self.files for finding in file.left if finding.code in wrong]

    @property
    def scaled_by_hand(self) -> List[Finding]:
        """Where the migrated script scales its loss by hand."""
        return [finding for file in self.files for finding in file.left if finding.code == "NPU117"]

    @property
    def left(self) -> List[Finding]:
        """All that npu-migrate still finds in the migrated script and that asks for something."""
        findings = [finding for file in self.files for finding in file.left]
        return [finding for finding in findings if finding.status is not Status.NOTE]


NOTHING_KNOWN = Migration()
"""Where the files are not looked at."""


def _rank(code: str, starts: Sequence[str]) -> int:
    return next((n for n, start in enumerate(starts) if code.startswith(start)), len(starts))


def read_migration(original: str, migrated: str) -> Migration:
    """The files of a program and their counterparts, with what npu-migrate finds in both."""
    pairs = _pairs(original, migrated)
    before = _examined([Source(path) for path, _ in pairs])
    after = _examined([Source(path) for _, path in pairs])
    return Migration(
        tuple(
            MigratedFile(
                one.path,
                other.path,
                one.before,
                other.before,
                one.after,
                one.findings,
                other.findings,
            )
            for one, other in zip(before, after)
            if one.error is None and other.error is None
        )
    )


def migration_by_us(results: Sequence[FileResult]) -> Migration:
    """The migration of a program by npu-migrate itself, from its results.

    What it finds in its own work is told of the original's lines: the other text is in no file.
    """
    after = _examined([Source(result.path, given=result.after) for result in results])
    pairs = zip(results, after)
    return Migration(
        tuple(_by_us(one, other) for one, other in pairs if not (one.error or other.error))
    )


def _by_us(one: FileResult, other: FileResult) -> MigratedFile:
    file = MigratedFile(
        one.path,
        one.path,
        one.before,
        one.after,
        one.after,
        one.findings,
        origins=tuple(_origins(one)),
    )
    left = (replace(finding, line=file.origin(finding.line)) for finding in other.findings)
    return replace(file, left=tuple(left))


def _origins(result: FileResult) -> Iterator[int]:
    """For each line of a migrated text the line of the original that became it."""
    texts = [_lines(data, result.path) for data in (result.before, result.after)]
    for kind, here, here_end, there, there_end in _matched(*texts):
        for number in range(here, here + there_end - there):
            yield max(0, number if kind == "equal" else min(number, here_end - 1)) + 1


def _matched(
    ours: Sequence[str], theirs: Sequence[str]
) -> Sequence[Tuple[str, int, int, int, int]]:
    return difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()


def _pairs(original: str, migrated: str) -> List[Tuple[str, str]]:
    """Files of the original program and their counterparts, by their place beside the scripts."""
    folders = [os.path.dirname(os.path.abspath(script)) for script in (original, migrated)]
    pairs = [(os.path.abspath(original), os.path.abspath(migrated))]
    for path in program_files(original).files[1:]:
        counterpart = os.path.normpath(os.path.join(folders[1], os.path.relpath(path, folders[0])))
        if os.path.isfile(counterpart):
            pairs.append((path, counterpart))
    return [(shown(one), shown(other)) for one, other in pairs]


def shown(path: str) -> str:
    """A path as people read it from here."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def _examined(sources: Sequence[Source]) -> List[FileResult]:
    from npu_migrate.engine import migrate
    from npu_migrate.options import Options
    from npu_migrate.rules import load

    return migrate(sources, load(), Options())
