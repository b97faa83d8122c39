"""What limits an answer, in sentences."""

import math
from typing import Iterator, Optional, Sequence

from npu_migrate.verify.comparison import EXPECTED, NEITHER, SPREAD, Compared, Comparison, Trainings
from npu_migrate.verify.experiment import Experiment
from npu_migrate.verify.migration import Migration
from npu_migrate.verify.outcome import FailureKind
from npu_migrate.verify.overflows import Overflows
from npu_migrate.verify.quantities import GRADIENT_NORM, LEARNING_RATE, LOSS_SCALE, WEIGHT_CHANGE
from npu_migrate.verify.recording import Recording
from npu_migrate.verify.words import distance

_FEW_BITS = 1e-6
"""What rounding a float32 a few times makes of it, as a share."""
_LONGEST = 200
"""Characters of a detail that are shown."""
_STEP_RACE = (
    "The original leaves open whether its global step moves before or after what reads it, so that "
    "TensorFlow may take the one or the other, step by step ({}). All runs were given one order, "
    "so that they can be compared: a learning rate reads the step before it moves, a bias "
    "correction of the script's own optimizer after that. No file is changed by this, and the "
    "answer holds as it stands."
)


def cautions(
    experiment: Experiment, comparison: Comparison, migration: Migration, overflows: Overflows
) -> Iterator[str]:
    """What limits what an experiment shows.

    Args:
      experiment: its runs.
      comparison: of what they recorded.
      migration: what was migrated.
      overflows: the steps that were made to overflow.
    """
    trainings = experiment.trainings
    yield from _of_comparison(comparison, trainings)
    yield from _unreached(overflows, comparison)
    yield from _without_effect(overflows, trainings)
    yield from _deadly(overflows, experiment, comparison)
    yield from _not_adjusted(experiment)
    yield from _left(migration)


def _of_comparison(comparison: Comparison, trainings: Trainings) -> Iterator[str]:
    if not comparison.steps:
        return
    for compared in comparison.quantities:
        yield from _caution(compared)
    yield from _near(comparison, trainings)
    yield from _unmoved(comparison, trainings)
    if not trainings.repeated:
        yield "The original ran once only, so how repeatable it is was not seen."
    for fact in {fact: None for r in trainings.original for fact in r.facts}:
        if fact.name == "step_race":
            yield _STEP_RACE.format(_cut(fact.detail))
        elif fact.name == "several_losses":
            yield f"Several losses are computed in a step ({_cut(fact.detail)})."


def _near(comparison: Comparison, trainings: Trainings) -> Iterator[str]:
    """Weights that only come close, though the original repeats its own exactly."""
    if comparison.first is not None or not trainings.repeated:
        return
    apart = _first_apart(trainings.original, trainings.migrated)
    changed = comparison.of(WEIGHT_CHANGE)
    if apart is not None and trainings.shaken and changed.values:
        rounding = max(SPREAD * (changed.spread or 0.0), _FEW_BITS)
        is_rounding = (changed.largest or 0.0) <= rounding
        yield (
            f"The weights of the migrated training are other ones from step {apart} on"
            f"{', as rounding makes them' if is_rounding else ''}: beyond their own rounding they "
            f"change {distance(changed.largest)} apart, and {distance(changed.spread)} where the "
            "original starts from weights that are changed in their last bit."
            f"{'' if is_rounding else ' A smaller --rtol tells more.'}"
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


def _unmoved(comparison: Comparison, trainings: Trainings) -> Iterator[str]:
    """A loss scale of which only the initial value was seen."""
    scales = {s.loss_scale for r in trainings.original for s in r.steps[: comparison.steps]}
    if comparison.of(LOSS_SCALE).values and len(scales) == 1 and not any(comparison.skipped):
        yield (
            "No step overflowed and the loss scale never moved, so nothing is shown of what the "
            "scripts do then: make steps overflow with --inject-overflow, such as 3,6."
        )


def _unreached(overflows: Overflows, comparison: Comparison) -> Iterator[str]:
    """Overflows after the end of the training."""
    for part in overflows.ranges:
        if comparison.steps and part.last > comparison.steps and comparison.broken_at is None:
            yield (
                f"Overflows were asked for in steps up to {part.last}, but there are only "
                f"{comparison.steps}."
            )


def _deadly(overflows: Overflows, experiment: Experiment, comparison: Comparison) -> Iterator[str]:
    """Overflows that ended the original itself."""
    first = overflows.first
    failure = experiment.original.failure
    last = max((len(r.steps) for r in experiment.original.recordings), default=0)
    is_crash = failure is not None and failure.kind is FailureKind.CRASHED
    broken_at = comparison.broken_at
    if first is not None and broken_at is not None and first <= broken_at:
        yield (
            f"Step {broken_at} was made to overflow, and the script does not skip such a step: "
            "compare it without --inject-overflow."
        )
    elif first is not None and is_crash and first <= last + 1:
        yield (
            "The original failed after a step that was made to overflow, which a script without "
            "loss scaling may not survive: compare it without --inject-overflow."
        )


def _not_adjusted(experiment: Experiment) -> Iterator[str]:
    """A run that was to show whether known differences explain what was seen, and failed."""
    failure = experiment.adjusted.failure
    if failure is not None:
        yield (
            "Whether known differences explain it was not seen: with them, the original could not "
            f"be trained ({_cut(failure.message.partition(': ')[2])})."
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
    elif compared.left_out == NEITHER and compared.quantity == GRADIENT_NORM:
        yield (
            "The gradients that are applied could not be read, so they are not compared. What they "
            "do to the weights is."
        )
    elif compared.left_out and compared.quantity == LEARNING_RATE:
        yield (
            "The learning rate is not compared: the optimizer has none under a usual name, such as "
            "learning_rate. What it does to the weights is."
        )


def _cut(detail: str) -> str:
    return detail if len(detail) <= _LONGEST else f"{detail[:_LONGEST]} ..."


def _left(migration: Migration) -> Iterator[str]:
    left = [finding for finding in migration.left if finding not in migration.wrong]
    if left:
        codes = ", ".join(sorted({finding.code for finding in left}))
        yield (
            f"npu-migrate still finds {len(left)} thing{'s' if len(left) > 1 else ''} to do in the "
            f"migrated script ({codes}): npu-migrate --diff {left[0].path}"
        )
