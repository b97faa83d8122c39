"""What may be the case with a place that concerns the move, and how much of a project is so."""

from collections import Counter
from dataclasses import dataclass
from typing import Dict, Iterable, List, Mapping, Tuple

from npu_migrate.findings import Finding, Status
from npu_migrate.reports import Run
from npu_migrate.results import FileResult
from npu_migrate.rules import Rules

ON_NPU, KNOWN, SUPPRESSED = "on-npu", "known", "suppressed"
MIGRATED, MANUAL, UNSUPPORTED, NOTE = (status.value for status in Status)

KNOWN_AHEAD = "known, and migrated by npu-migrate"
"""A part of what is known, which is counted beside the states."""

Counts = Mapping[str, int]
"""State -> how many places."""


@dataclass(frozen=True)
class State:
    """A state, what it is called on the page, and what it means."""

    key: str
    label: str
    meaning: str


@dataclass(frozen=True)
class Share:
    """A part of the project, and how many of its places are in which state."""

    name: str
    counts: Counts

    @property
    def shown(self) -> int:
        """All places that have a state."""
        return sum(number for key, number in self.counts.items() if key != KNOWN_AHEAD)


@dataclass(frozen=True)
class Progress:
    """How far a project is, in places and percent."""

    done: int
    ahead: int
    left: int

    @property
    def total(self) -> int:
        return self.done + self.ahead + self.left

    @property
    def percent_done(self) -> int:
        return percent(self.done, self.total)

    @property
    def percent_reached(self) -> int:
        """Once npu-migrate has done its part."""
        return percent(self.done + self.ahead, self.total)


def percent(part: int, whole: int) -> int:
    """Whole percent, all and nothing only where it is so."""
    if part in (0, whole):
        return 100 if part else 0
    return min(max(round(100 * part / whole), 1), 99)


def placed(result: FileResult) -> List[Tuple[Finding, str]]:
    """All that was found in a file, with its state."""
    return [
        *((finding, finding.status.value) for finding in result.findings),
        *((finding, KNOWN) for finding in result.known),
        *((finding, SUPPRESSED) for finding in result.suppressed),
    ]


def counts_of(result: FileResult) -> "Counter[str]":
    counts = Counter(state for _, state in placed(result))
    counts[ON_NPU] += sum(result.on_npu.values())
    counts[KNOWN_AHEAD] += sum(map(_is_ahead, result.known))
    return counts


def _is_ahead(finding: Finding) -> bool:
    return finding.status is Status.MIGRATED


def families_of(run: Run, rules: Rules) -> Tuple[Share, ...]:
    """The families that have anything, in the order of their codes."""
    names = dict.fromkeys(rules.by_code[code].family for code in sorted(rules.by_code))
    counts: Dict[str, Counter[str]] = {name: Counter() for name in names}
    for result in run.results:
        for finding, state in placed(result):
            counts[rules.by_code[finding.code].family][state] += 1
        for finding in filter(_is_ahead, result.known):
            counts[rules.by_code[finding.code].family][KNOWN_AHEAD] += 1
        for family, number in result.on_npu.items():
            counts[family][ON_NPU] += number
    shares = (Share(name, counts[name]) for name in names)
    return tuple(share for share in shares if share.shown)


def progress_of(counts: Counts, written: bool) -> Progress:
    done = counts[ON_NPU] + (counts[MIGRATED] if written else 0)
    ahead = counts[KNOWN_AHEAD] + (0 if written else counts[MIGRATED])
    left = counts[MANUAL] + counts[UNSUPPORTED] + counts[KNOWN] - counts[KNOWN_AHEAD]
    return Progress(done, ahead, left)


def total_of(shares: Iterable[Counts]) -> "Counter[str]":
    total: Counter[str] = Counter()
    for counts in shares:
        total.update(counts)
    return total


def states_of(counts: Counts, written: bool) -> Tuple[State, ...]:
    """The states that a page speaks of: the usual ones, and of the others those that occur."""
    migrated = (
        ("migrated", "migrated by this run")
        if written
        else ("to migrate", "npu-migrate does it, once it is run")
    )
    states = (
        State(ON_NPU, "on the NPU", "uses the NPU's packages already"),
        State(MIGRATED, *migrated),
        State(MANUAL, "manual", "a person must decide, or change it by hand"),
        State(UNSUPPORTED, "unsupported", "the NPU has nothing like it; needs another design"),
        State(KNOWN, "known", "in the baseline, so that it fails no check"),
        State(NOTE, "note", "worth knowing, nothing to do"),
        State(SUPPRESSED, "suppressed", "stays as it is, as a comment or the settings say"),
    )
    usual = (MIGRATED, MANUAL, UNSUPPORTED)
    return tuple(state for state in states if state.key in usual or counts[state.key])
