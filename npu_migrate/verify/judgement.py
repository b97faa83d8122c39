"""Judges an experiment: compares, audits, and looks for the reason."""

from dataclasses import replace
from typing import Iterator, List, Optional, Tuple

from npu_migrate.findings import Finding
from npu_migrate.verify.audits import faults
from npu_migrate.verify.cautions import cautions
from npu_migrate.verify.comparison import (
    WITHOUT,
    Comparison,
    Trainings,
    compare,
)
from npu_migrate.verify.experiment import Experiment
from npu_migrate.verify.known import known_differences
from npu_migrate.verify.migration import NOTHING_KNOWN, Departure, Migration
from npu_migrate.verify.outcome import FailureKind, Outcome
from npu_migrate.verify.overflows import Overflows
from npu_migrate.verify.quantities import GLOBAL_STEP, LOSS_SCALE
from npu_migrate.verify.verdict import Answer, Failed, Verdict
from npu_migrate.verify.words import paragraph

_MOST_DEPARTURES = 8
"""A script with more departures from what npu-migrate writes was migrated by hand."""
_CUTTING_SHORT = (FailureKind.CRASHED, FailureKind.HUNG, FailureKind.NO_LOSS)
"""Failures before which a training can be compared."""


def judge(
    experiment: Experiment,
    migration: Migration = NOTHING_KNOWN,
    rtol: Optional[float] = None,
    overflows: Overflows = Overflows(),  # noqa: B008  frozen
) -> Verdict:
    """Judges an experiment.

    Args:
      experiment: its runs.
      migration: what was migrated between the two scripts.
      rtol: tolerance for loss, gradient norm and weights.
      overflows: the steps that were made to overflow.
    """
    trainings = experiment.trainings
    comparison = compare(trainings, rtol)
    adjusted = _adjusted(experiment, rtol)
    known = known_differences(comparison, trainings, adjusted)
    found = faults(trainings, migration.shown_place)
    evidence = Verdict(
        Answer.UNKNOWN,
        "",
        comparison,
        tuple(_failures(experiment)),
        known,
        found,
        (*migration.wrong, *_scaled_twice(migration, comparison)),
        cautions=tuple(cautions(experiment, comparison, migration, overflows)),
        departures=_departures(migration),
        adjusted=adjusted,
    )
    answer = _answer(evidence, trainings)
    if answer is not Answer.SAME:
        evidence = replace(evidence, concerned=tuple(_concerned(evidence, migration)))
    return replace(evidence, answer=answer, paragraph=paragraph(answer, evidence))


def _adjusted(experiment: Experiment, rtol: Optional[float]) -> Optional[Comparison]:
    """The original, with the known differences made in it, and the migrated training."""
    outcome = experiment.adjusted
    if not outcome.recordings or outcome.failure is not None:
        return None
    return compare(experiment.adjusted_trainings, rtol)


def _departures(migration: Migration) -> Tuple[Departure, ...]:
    departures = migration.departures
    return tuple(departures) if len(departures) <= _MOST_DEPARTURES else ()


def _scaled_twice(migration: Migration, comparison: Comparison) -> List[Finding]:
    """Scaling by hand below a loss scale that the original has not, and the migrated script has."""
    is_added = comparison.of(LOSS_SCALE).left_out == WITHOUT.format("original")
    return migration.scaled_by_hand if is_added else []


def _was_different(evidence: Verdict, trainings: Trainings) -> bool:
    """Whether a difference was seen before a run failed, in what the original repeats."""
    first = evidence.comparison.first
    is_cut_short = all(one.failure.kind in _CUTTING_SHORT for one in evidence.failures)
    repeated = min((len(recording.steps) for recording in trainings.repeated), default=0)
    return first is not None and is_cut_short and repeated >= first.step


def _answer(evidence: Verdict, trainings: Trainings) -> Answer:
    comparison = evidence.comparison
    if not comparison.steps or evidence.failures and not _was_different(evidence, trainings):
        return Answer.UNKNOWN
    if comparison.first is not None or comparison.length is not None:
        is_known = any(known.explains for known in evidence.known)
        return Answer.KNOWN if is_known and not evidence.is_wrong else Answer.DIFFERENT
    if evidence.is_wrong:
        return Answer.WRONG
    is_told = comparison.repeatable_until != 0 and comparison.broken_at is None
    return Answer.SAME if is_told else Answer.UNKNOWN


def _failures(experiment: Experiment) -> Iterator[Failed]:
    is_alone = experiment.original.failure is None and not experiment.original.recordings
    runs = {
        "run of the original": experiment.original,
        f"{'' if is_alone else 'second '}run of the original": experiment.repeated,
        "run of the migrated script": experiment.migrated,
    }
    for name, outcome in runs.items():
        if outcome.failure is not None:
            lines = outcome.failure.lines or _tail(outcome, outcome.failure.rank or 0)
            yield Failed(name, outcome.failure, lines)


def _tail(outcome: Outcome, rank: int) -> Tuple[str, ...]:
    return outcome.tails[rank] if rank < len(outcome.tails) else ()


def _concerned(evidence: Verdict, migration: Migration) -> List[Finding]:
    """Findings in the original that may be the reason, the likeliest first."""
    first = evidence.comparison.first
    if evidence.adjusted is not None and evidence.adjusted.first is not None:
        first = evidence.adjusted.first
    explaining = [known for known in evidence.known if known.explains]
    if explaining:
        return migration.by_codes([code for known in explaining for code in known.codes])
    if first is not None:
        return migration.concerned(first.quantity, first.step)
    if evidence.comparison.length is not None:
        return migration.concerned(GLOBAL_STEP, 1)
    codes = [code for fault in evidence.faults_of_migration for code in fault.codes]
    return migration.by_codes(codes)
