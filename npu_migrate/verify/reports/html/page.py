"""What the page shows, as plain data."""

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from npu_migrate.findings import Finding
from npu_migrate.reports.html.highlight import PYTHON, coloured_lines
from npu_migrate.reports.html.side_by_side import Hunk, hunks_of
from npu_migrate.reports.visible import visible
from npu_migrate.sources import decode
from npu_migrate.verify.audits import KINDS as FAULTS
from npu_migrate.verify.audits import Fault
from npu_migrate.verify.experiment import Request
from npu_migrate.verify.known import KnownDifference
from npu_migrate.verify.migration import MigratedFile
from npu_migrate.verify.outcome import Outcome
from npu_migrate.verify.overflows import Overflows
from npu_migrate.verify.quantities import QUANTITIES, Ruler
from npu_migrate.verify.recording import Recording, Step
from npu_migrate.verify.reports import Verification, commands, own_changes_text, readable
from npu_migrate.verify.reports.html.curves import DRAWN, Curves, curves, position
from npu_migrate.verify.reports.rows import HEAD, NUMBERS, Row, columns, rows
from npu_migrate.verify.verdict import Answer, Verdict
from npu_migrate.verify.words import distance, value_text

_CLASSES = {
    Answer.SAME: "migrated",
    Answer.DIFFERENT: "unsupported",
    Answer.KNOWN: "manual",
    Answer.WRONG: "unsupported",
    Answer.UNKNOWN: "manual",
}
_MOST_READ = 20_000
"""Steps of a rank whose values can be read on the page."""


@dataclass(frozen=True)
class Line:
    """A row of a diff: numbers from 1 or 0 for none, and HTML."""

    left: int
    before: str
    right: int
    after: str
    is_changed: bool
    is_departure: bool


@dataclass(frozen=True)
class Change:
    """A part of a file that changed, with what is said of it."""

    path: str
    migrated_path: str
    findings: Tuple[Finding, ...]
    lines: Tuple[Line, ...]
    is_concerned: bool


@dataclass(frozen=True)
class Rank:
    """The curves of one rank, and what is marked in them."""

    number: int
    last: int
    curves: Tuple[Curves, ...]
    skipped_in_original: Tuple[float, ...]
    skipped_in_migrated: Tuple[float, ...]
    injected: Tuple[float, ...]
    first_difference: Optional[float]
    values: Dict[str, Any]


@dataclass(frozen=True)
class Page:
    """The data of the page."""

    title: str
    status: str
    verdict: Verdict
    own_changes: str
    summary: Tuple[Tuple[str, str], ...]
    head: Tuple[str, ...]
    columns: Tuple[int, ...]
    numbers: Tuple[int, ...]
    rows: Tuple[Row, ...]
    ranks: Tuple[Rank, ...]
    first_step: int
    changes: Tuple[Change, ...]
    failures: Tuple[Tuple[str, str], ...]
    setting: Tuple[Tuple[str, str], ...]

    @property
    def faults(self) -> Tuple[Fault, ...]:
        return self.verdict.faults

    @property
    def known(self) -> Tuple[KnownDifference, ...]:
        return self.verdict.known


def page_of(verification: Verification) -> Page:
    """A verification as the page shows it."""
    verdict, request = verification.verdict, verification.request
    first = verdict.comparison.first
    shown = rows(verdict.comparison)
    return Page(
        title=visible(_title(request)),
        status=_CLASSES[verdict.answer],
        verdict=verdict,
        own_changes=own_changes_text(verification),
        summary=tuple(_summary(verification)),
        head=HEAD,
        columns=tuple(columns(shown)),
        numbers=NUMBERS,
        rows=tuple(shown),
        ranks=tuple(_ranks(verification)),
        first_step=first.step if first is not None else 1,
        changes=tuple(_changes(verification)),
        failures=tuple(
            (failed.run, "\n".join(visible(readable(line)) for line in failed.tail))
            for failed in verdict.last_words
        ),
        setting=tuple(_setting(verification)),
    )


def _title(request: Request) -> str:
    if request.own is not None:
        return f"{request.original.name}, migrated by npu-migrate"
    return f"{request.migrated.name} against {request.original.name}"


def _summary(verification: Verification) -> Iterator[Tuple[str, str]]:
    comparison = verification.verdict.comparison
    yield str(comparison.steps), "steps compared"
    yield str(comparison.ranks), "process" if comparison.ranks == 1 else "processes"
    skipped = len(comparison.skipped[1])
    yield str(skipped), "step skipped" if skipped == 1 else "steps skipped"
    if comparison.gathering:
        yield str(len(comparison.gathering)), "steps that gather gradients"
    if comparison.first is not None:
        yield str(comparison.first.step), "first step that differs"


def _setting(verification: Verification) -> Iterator[Tuple[str, str]]:
    request, experiment = verification.request, verification.experiment
    for title, command in zip(("Original", "Migrated"), commands(request)):
        yield title, visible(command)
    yield "Processes", str(request.processes)
    yield "Steps", "until the scripts end" if request.steps is None else str(request.steps)
    if request.overflows:
        yield "Overflows injected", str(request.overflows)
    for name, outcome in (("original", experiment.original), ("migrated", experiment.migrated)):
        losses = {recording.loss_name for recording in outcome.recordings if recording.loss_name}
        if losses:
            yield f"Loss of the {name}", visible(", ".join(sorted(losses)))
        yield f"End of the {name}", _end(outcome)
        for fact in dict.fromkeys(f for r in outcome.recordings for f in r.facts):
            if fact.name not in FAULTS:
                yield f"Seen in the {name}: {fact.name.replace('_', ' ')}", visible(fact.detail)


def _end(outcome: Outcome) -> str:
    if outcome.failure is not None:
        return outcome.failure.kind.value
    ends = {recording.end or "died" for recording in outcome.recordings}
    return ", ".join(sorted(ends)) or "not run"


# Curves


def _ranks(verification: Verification) -> Iterator[Rank]:
    experiment, verdict = verification.experiment, verification.verdict
    migrated = {recording.rank: recording for recording in experiment.migrated.recordings}
    first = verdict.comparison.first
    for original in experiment.original.recordings:
        other = migrated.get(original.rank, Recording(original.rank, original.ranks, ()))
        last = max([step.number for r in (original, other) for step in r.steps], default=0)
        if not last:
            continue
        drawn = (curves(quantity, original.steps, other.steps, last) for quantity in DRAWN)
        is_here = first is not None and first.rank == original.rank
        yield Rank(
            original.rank,
            last,
            tuple(each for each in drawn if each is not None),
            _skipped(original.steps, last, verdict.comparison.gathering),
            _skipped(other.steps, last, verdict.comparison.gathering),
            _injected(verification.request.overflows, original.rank, last),
            position(first.step, last) if first is not None and is_here else None,
            _values(original.steps, other.steps),
        )


def _skipped(steps: Sequence[Step], last: int, gathering: Sequence[int]) -> Tuple[float, ...]:
    skipped = (step.number for step in steps if not step.applied)
    return tuple(position(number, last) for number in skipped if number not in gathering)


def _injected(overflows: Overflows, rank: int, last: int) -> Tuple[float, ...]:
    return tuple(position(step, last) for step in range(1, last + 1) if overflows.here(step, rank))


def _values(original: Sequence[Step], migrated: Sequence[Step]) -> Dict[str, Any]:
    """For each quantity its values at each step, as text, and whether they are the same."""
    length = min(max(len(original), len(migrated)), _MOST_READ)
    return {
        "last": length,
        "quantities": [
            {
                "title": quantity.title,
                "original": [value_text(quantity, quantity.of(s), 7) for s in original[:length]],
                "migrated": [value_text(quantity, quantity.of(s), 7) for s in migrated[:length]],
                "apart": _distances(quantity, original[:length], migrated[:length]),
            }
            for quantity in QUANTITIES
        ],
    }


def _distances(
    quantity: Any, original: Sequence[Step], migrated: Sequence[Step]
) -> List[Optional[str]]:
    ruler = Ruler(quantity)
    found = (ruler.apart(one, other) for one, other in zip(original, migrated))
    return [None if apart is None else distance(apart) or "differs" for apart in found]


# Changes


def _changes(verification: Verification) -> Iterator[Change]:
    """What changed, that which concerns the verdict first."""
    concerned = verification.verdict.concerned
    changes = [
        change
        for file in verification.migration.files
        for change in _of_file(file, concerned, verification.verdict)
    ]
    yield from sorted(changes, key=lambda change: not change.is_concerned)


def _of_file(
    file: MigratedFile, concerned: Sequence[Finding], verdict: Verdict
) -> Iterator[Change]:
    before, after = (_text(data, file) for data in (file.before, file.after))
    hunks = hunks_of(before.split("\n"), after.split("\n"), file.findings)
    if not hunks:
        return
    left, right = coloured_lines(PYTHON, before), coloured_lines(PYTHON, after)
    departing = {
        departure.line - 1
        for departure in verdict.departures
        if departure.path == file.migrated_path
    }
    for hunk in hunks:
        lines = tuple(_lines(hunk, left, right, departing))
        is_concerned = any(line.is_departure for line in lines) or any(
            finding in concerned for finding in hunk.findings
        )
        yield Change(
            visible(file.path), visible(file.migrated_path), hunk.findings, lines, is_concerned
        )


def _text(data: bytes, file: MigratedFile) -> str:
    return decode(data, file.path).replace("\r\n", "\n").replace("\r", "\n")


def _lines(
    hunk: Hunk, left: Sequence[str], right: Sequence[str], departing: Set[int]
) -> Iterator[Line]:
    for row in hunk.rows:
        yield Line(
            row.left + 1,
            left[row.left] if 0 <= row.left < len(left) else "",
            row.right + 1,
            right[row.right] if 0 <= row.right < len(right) else "",
            row.changed,
            row.right in departing,
        )
