"""The verdict in a paragraph, and its numbers as people read them."""

import math
from typing import Dict, Iterator, List, Optional, Sequence

from npu_migrate.verify.comparison import Comparison, Difference, LengthDifference
from npu_migrate.verify.quantities import APPLIED, STATE, WEIGHT_CHANGE, WEIGHTS, Quantity, Value
from npu_migrate.verify.verdict import Answer, Failed, Verdict


def paragraph(answer: Answer, verdict: Verdict) -> str:
    """What came out, in a few sentences."""
    return " ".join(_SENTENCES[answer](verdict))


def _same(verdict: Verdict) -> Iterator[str]:
    yield f"The migrated training is the same as the original: {_extent(verdict.comparison)}"
    yield from _agreement(verdict.comparison)
    yield from _skipped(verdict.comparison)
    yield from _gathering(verdict.comparison)


def _different(verdict: Verdict) -> Iterator[str]:
    comparison = verdict.comparison
    first = comparison.first
    if first is not None:
        yield f"The trainings differ, first {_place(first, comparison)}: {_values(first)}."
        others = [
            compared.quantity.title
            for compared in comparison.quantities
            if compared.first is not None
            and compared.quantity != first.quantity
            and compared.first.step == first.step
        ]
        if others:
            yield f"In the same step {_listed(others)} {_differ(others)} too."
        if first.step > 1:
            yield f"{_steps(first.step - 1).capitalize()} before it {_is(first.step - 1)} the same."
        if first.quantity == WEIGHT_CHANGE:
            yield _no_rounding(first, comparison.of(WEIGHT_CHANGE).spread)
        if comparison.length is not None and comparison.length.is_open:
            yield _went_on(comparison.length)
    elif comparison.length is not None and comparison.length.is_open:
        yield f"{_went_on(comparison.length)} In the steps that both have they are the same."
    elif comparison.length is not None:
        length = comparison.length
        yield (
            f"The trainings differ in length: the original has {_steps(length.original)}, the "
            f"migrated training {length.migrated}. In those that both have they are the same."
        )
    yield from _not_explained(verdict)
    for fault in verdict.faults_of_migration:
        yield f"{fault.title}: {fault.detail}."
    yield from _failures(verdict.failures)


def _no_rounding(first: Difference, spread: Optional[float]) -> str:
    if spread is not None and spread < first.apart:
        return (
            "All else is alike, but rounding does not explain it: weights of the original that are "
            f"changed in their last bit go on {distance(spread)} apart at most."
        )
    return (
        "All else is the same to the last bit until this update, so nothing was rounded that could "
        "explain it."
    )


def _not_explained(verdict: Verdict) -> Iterator[str]:
    adjusted = verdict.adjusted
    if adjusted is None or adjusted.is_same:
        return
    yield "Known differences do not explain it: where the original has them too, the trainings"
    if adjusted.first is not None:
        yield f"differ first {_place(adjusted.first, adjusted)}: {_values(adjusted.first)}."
    elif adjusted.length is not None:
        yield (
            f"have other lengths: {_steps(adjusted.length.original)} and "
            f"{adjusted.length.migrated}."
        )


def _went_on(length: LengthDifference) -> str:
    return (
        f"The original ends after {_steps(length.original)}, the migrated training goes on and was "
        "ended."
    )


def _known(verdict: Verdict) -> Iterator[str]:
    yield from _different(verdict)
    for known in verdict.known:
        if known.explains:
            yield f"This is a known difference: {_lowered(known.title)}. {known.explanation}"
    if verdict.adjusted is not None and verdict.adjusted.is_same:
        yield (
            "Where the original is changed in that alone, it trains as the migrated script: "
            f"{_extent(verdict.adjusted)}"
        )
        yield from _agreement(verdict.adjusted)
        yield from _skipped(verdict.adjusted)


def _wrong(verdict: Verdict) -> Iterator[str]:
    yield "The numbers are the same, but the migrated script is wrong."
    yield _extent(verdict.comparison)
    for fault in verdict.faults_of_migration:
        yield f"{fault.title} ({fault.detail}). {fault.consequence}"
    if not verdict.faults_of_migration:
        for finding in verdict.wrong:
            yield f"{finding.place}: {finding.message}."


def _unknown(verdict: Verdict) -> Iterator[str]:
    comparison = verdict.comparison
    if verdict.failures:
        yield from _failures(verdict.failures)
        if comparison.first is not None:
            first = comparison.first
            yield f"Before that the trainings differ {_place(first, comparison)}: {_values(first)}."
        elif comparison.steps:
            steps = comparison.steps
            yield f"{_steps(steps).capitalize()} before that {_is(steps)} the same."
    elif not comparison.steps:
        yield "There is no training step that both have."
    elif comparison.broken_at is not None:
        yield (
            f"After step {comparison.broken_at} the weights of both trainings are Inf or NaN, so "
            "that nothing can be compared from there on."
        )
        yield f"{_steps(comparison.steps).capitalize()} to there {_is(comparison.steps)} the same."
    else:
        yield "Two runs of the original differ from the first step on, so nothing can be compared."
    for finding in verdict.wrong:
        yield f"{finding.place}: {finding.message}."


def _failures(failures: Sequence[Failed]) -> Iterator[str]:
    """What runs failed with; said once of those that failed alike."""
    runs: Dict[str, List[str]] = {}
    for failed in failures:
        runs.setdefault(failed.reason, []).append(failed.run)
    for message, failing in runs.items():
        yield (
            f"All runs failed alike: {message}"
            if len(failing) == 3
            else (f"The {' and the '.join(failing)}: {message}")
        )


_SENTENCES = {
    Answer.SAME: _same,
    Answer.DIFFERENT: _different,
    Answer.KNOWN: _known,
    Answer.WRONG: _wrong,
    Answer.UNKNOWN: _unknown,
}


# Parts


def _extent(comparison: Comparison) -> str:
    ranks = "one process" if comparison.ranks == 1 else f"{comparison.ranks} processes"
    steps = comparison.steps
    return f"{_steps(steps)} on {ranks} {'was' if steps == 1 else 'were'} compared."


def _agreement(comparison: Comparison) -> Iterator[str]:
    if comparison.is_bitwise:
        yield "Every loss and all weights are the same to the last bit."
        return
    largest = [c for c in comparison.quantities if c.largest]
    if largest:
        most = max(largest, key=lambda compared: compared.largest or 0.0)
        yield f"They are at most {most.largest:.1e} apart, in the {most.quantity.title}."


def _skipped(comparison: Comparison) -> Iterator[str]:
    original, migrated = comparison.skipped
    if original and original == migrated:
        noun = "Step" if len(original) == 1 else "Steps"
        verb = "was" if len(original) == 1 else "were"
        yield f"{noun} {_ranges(original)} {verb} skipped in both."


def _gathering(comparison: Comparison) -> Iterator[str]:
    gathering = len(comparison.gathering)
    if gathering:
        yield (
            f"{comparison.steps - gathering} of the steps were to update the weights, the other "
            f"{gathering} gather gradients for them."
        )


def _place(difference: Difference, comparison: Comparison) -> str:
    rank = f" on rank {difference.rank}" if comparison.ranks > 1 else ""
    return f"at step {difference.step}{rank} in {_noun(difference.quantity)}"


def _noun(quantity: Quantity) -> str:
    if quantity == APPLIED:
        return "whether the update was applied"
    if quantity == WEIGHTS:
        return "the norm of the weights"
    if quantity == WEIGHT_CHANGE:
        return "how the weights change"
    if quantity == STATE:
        return f"the norm of the {quantity.title}"
    return f"the {quantity.title}"


def _values(difference: Difference) -> str:
    original, migrated = both(difference.quantity, difference.original, difference.migrated)
    apart = distance(difference.apart)
    return (
        f"{original} in the original, {migrated} in the migrated training"
        f"{f' ({apart} apart)' if apart else ''}"
    )


def both(quantity: Quantity, one: Value, other: Value) -> Sequence[str]:
    """Two values, with as many digits as tell them apart."""
    for digits in (6, 9, 17):
        shown = [value_text(quantity, value, digits) for value in (one, other)]
        if shown[0] != shown[1]:
            break
    return shown


def value_text(quantity: Quantity, value: Value, digits: int = 6) -> str:
    """A value for people."""
    if value is None:
        return "none"
    if quantity == APPLIED:
        return "applied" if value else "not applied"
    number = f"{value:.{digits}g}" if isinstance(value, float) else str(value)
    return number


def distance(apart: Optional[float]) -> str:
    """A relative distance for people; nothing where no number says it."""
    if apart is None or not math.isfinite(apart):
        return ""
    if apart == 0:
        return "0"
    return f"{100 * apart:.3g} %" if apart >= 0.001 else f"{apart:.1e}"


def _ranges(numbers: Sequence[int]) -> str:
    """`3, 7-9` of 3, 7, 8, 9."""
    runs: List[List[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _listed(words: Sequence[str]) -> str:
    if len(words) == 1:
        return f"the {words[0]}"
    return "the " + ", the ".join(words[:-1]) + f" and the {words[-1]}"


def _differ(words: Sequence[str]) -> str:
    return "differs" if len(words) == 1 and words[0] != WEIGHTS.title else "differ"


def _steps(number: int) -> str:
    return "one step" if number == 1 else f"{number} steps"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _lowered(title: str) -> str:
    return title[0].lower() + title[1:]
