"""Judges an experiment: compares, audits, and looks for the reason."""

import math
from dataclasses import replace
from typing import Iterator, List, Optional, Sequence, Tuple

from npu_migrate.findings import Finding
from npu_migrate.verify.audits import faults
from npu_migrate.verify.comparison import (
    EXPECTED,
    WITHOUT,
    Compared,
    Comparison,
    Trainings,
    compare,
)
from npu_migrate.verify.experiment import Experiment
from npu_migrate.verify.known import known_differences
from npu_migrate.verify.migration import NOTHING_KNOWN, Migration
from npu_migrate.verify.outcome import FailureKind, Outcome
from npu_migrate.verify.overflows import Overflows
from npu_migrate.verify.quantities import GLOBAL_STEP, LEARNING_RATE, LOSS_SCALE, WEIGHT_CHANGE
from npu_migrate.verify.recording import Recording
from npu_migrate.verify.verdict import Answer, Failed, Verdict
from npu_migrate.verify.words import distance, paragraph

_MOST_DEPARTURES = 8
"""A script with more departures from what npu-migrate writes was migrated by hand."""
_CUTTING_SHORT = (FailureKind.CRASHED, FailureKind.HUNG, FailureKind.NO_LOSS)
"""Failures before which a training can be compared."""
_LONGEST = 200
"""Characters of a detail that are shown."""


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
    known = known_differences(comparison, trainings)
    found = faults(trainings)
    evidence = Verdict(
        Answer.UNKNOWN,
        "",
        comparison,
        tuple(_failures(experiment)),
        known,
        found,
        (*migration.wrong, *_scaled_twice(migration, comparison)),
        cautions=(
            *_cautions(comparison, trainings),
            *_without_effect(overflows, trainings),
            *_deadly(overflows, experiment),
            *_left(migration),
        ),
    )
    answer = _answer(evidence, trainings)
    if answer is not Answer.SAME:
        departures = migration.departures
        evidence = replace(
            evidence,
            concerned=tuple(_concerned(evidence, migration)),
            departures=tuple(departures) if len(departures) <= _MOST_DEPARTURES else (),
        )
    return replace(evidence, answer=answer, paragraph=paragraph(answer, evidence))


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
    return Answer.UNKNOWN if comparison.repeatable_until == 0 else Answer.SAME


def _failures(experiment: Experiment) -> Iterator[Failed]:
    is_alone = experiment.original.failure is None and not experiment.original.recordings
    runs = {
        "run of the original": experiment.original,
        f"{'' if is_alone else 'second '}run of the original": experiment.repeated,
        "run of the migrated script": experiment.migrated,
    }
    for name, outcome in runs.items():
        if outcome.failure is not None:
            yield Failed(name, outcome.failure, _tail(outcome, outcome.failure.rank or 0))


def _tail(outcome: Outcome, rank: int) -> Tuple[str, ...]:
    return outcome.tails[rank] if rank < len(outcome.tails) else ()


def _concerned(evidence: Verdict, migration: Migration) -> List[Finding]:
    """Findings in the original that may be the reason, the likeliest first."""
    first = evidence.comparison.first
    explaining = [known for known in evidence.known if known.explains]
    if explaining:
        return migration.by_codes([code for known in explaining for code in known.codes])
    if first is not None:
        return migration.concerned(first.quantity, first.step)
    if evidence.comparison.length is not None:
        return migration.concerned(GLOBAL_STEP, 1)
    codes = [code for fault in evidence.faults_of_migration for code in fault.codes]
    return migration.by_codes(codes)


def _left(migration: Migration) -> Iterator[str]:
    left = [finding for finding in migration.left if finding not in migration.wrong]
    if left:
        codes = ", ".join(sorted({finding.code for finding in left}))
        yield (
            f"npu-migrate still finds {len(left)} thing{'s' if len(left) > 1 else ''} to do in the "
            f"migrated script ({codes}): npu-migrate --diff {left[0].path}"
        )


def _cautions(comparison: Comparison, trainings: Trainings) -> Iterator[str]:
    """What limits the answer, in sentences."""
    if not comparison.steps:
        return
    for compared in comparison.quantities:
        yield from _caution(compared)
    yield from _near(comparison, trainings)
    if not trainings.repeated:
        yield "The original ran once only, so how repeatable it is was not seen."
    for fact in {fact: None for r in trainings.original for fact in r.facts}:
        if fact.name == "step_race":
            yield f"In the original {_cut(fact.detail)}. It was trained in the order that it means."


def _near(comparison: Comparison, trainings: Trainings) -> Iterator[str]:
    """Weights that only come close, though the original repeats its own exactly."""
    if comparison.first is not None or not trainings.repeated:
        return
    apart = _first_apart(trainings.original, trainings.migrated)
    changed = comparison.of(WEIGHT_CHANGE)
    if apart is not None and trainings.shaken and changed.values:
        yield (
            f"The weights of the migrated training are other ones from step {apart} on, as "
            f"rounding makes them: beyond it their change is {distance(changed.largest)} apart, "
            f"and "
            f"{distance(changed.spread)} where the original starts from weights that are changed "
            "in their last bit."
        )
        if changed.repeatable_until is not None:
            yield (
                "Rounding alone makes other changes of the weights from step "
                f"{changed.repeatable_until + 1} on, so these are not compared from there."
            )
        return
    if apart is not None and _first_apart(trainings.original, trainings.repeated) is None:
        yield (
            "The original repeats itself to the last bit, but the weights of the migrated training "
            f"are other ones from step {apart} on, within the tolerance. Rounding does that; so "
            "does another update rule at a small learning rate. A smaller --rtol tells more."
        )


def _first_apart(some: Sequence[Recording], others: Sequence[Recording]) -> Optional[int]:
    steps = [
        step.number
        for one, other in zip(some, others)
        for step, its in zip(one.steps, other.steps)
        if step.weights_checksum != its.weights_checksum
    ]
    return min(steps, default=None)


def _without_effect(overflows: Overflows, trainings: Trainings) -> Iterator[str]:
    """Overflows that reached no update: nothing is shown of how they are met."""
    finite = {
        step.number
        for recording in trainings.original
        for step in recording.steps
        if overflows.here(step.number, recording.rank)
        and step.gradient_norm is not None
        and math.isfinite(step.gradient_norm)
    }
    if finite:
        numbers = ", ".join(map(str, sorted(finite)))
        yield (
            f"The overflow asked for in step {numbers} reached no gradients that were applied "
            "there; where gradients are accumulated, ask for it in a step that computes them."
        )


def _deadly(overflows: Overflows, experiment: Experiment) -> Iterator[str]:
    """Overflows that ended the original itself."""
    failure = experiment.original.failure
    last = max((len(r.steps) for r in experiment.original.recordings), default=0)
    is_crash = failure is not None and failure.kind is FailureKind.CRASHED
    if is_crash and any(number <= last + 1 for number in overflows.steps):
        yield (
            "The original failed after a step that was made to overflow, which a script without "
            "loss scaling may not survive: compare it without --inject-overflow."
        )


def _caution(compared: Compared) -> Iterator[str]:
    if compared.quantity == WEIGHT_CHANGE:
        return
    title, until = compared.quantity.title, compared.repeatable_until
    if until is not None:
        yield (
            f"The original does not agree with itself in the {title} from step {until + 1} on, so "
            "nothing is compared from there."
        )
    elif compared.spread:
        yield (
            f"Two runs of the original are up to {compared.spread:.1e} apart in the {title}, so no "
            "more is demanded of the migrated training."
        )
    if compared.left_out and compared.left_out not in EXPECTED:
        yield f"The {title} is not compared: {compared.left_out}."
    elif compared.left_out and compared.quantity == LEARNING_RATE:
        yield (
            "The learning rate is not compared: the optimizer has none under a usual name, such as "
            "learning_rate. What it does to the weights is."
        )


def _cut(detail: str) -> str:
    return detail if len(detail) <= _LONGEST else f"{detail[:_LONGEST]} ..."
