"""Compares the recordings of an original, trained twice, with those of its migration.

Every quantity is compared at every step on every rank. No more is demanded of the migration than
the original keeps from one run to the next.
"""

import math
from dataclasses import dataclass
from typing import Dict, Iterable, List, Optional, Sequence, Set, Tuple

from npu_migrate.verify.quantities import (
    GRADIENT_NORM,
    LOSS,
    QUANTITIES,
    STATE,
    WEIGHT_CHANGE,
    Quantity,
    Ruler,
    Value,
)
from npu_migrate.verify.recording import Recording, Step

SPREAD = 4.0
"""How many times as far as the original's own two runs a migration may be apart from it."""
_FEW_BITS = 2e-6
"""How far apart an update may be that gets the same numbers to the last bit."""
_NOT_REPEATABLE = 0.1
"""From this distance between its own two runs on, an original says nothing about a migration."""
NEITHER = "neither training has one"
WITHOUT = "the {} training has none"
_ORIGINAL, _MIGRATED = "original", "migrated"
ROUNDED = "it is told from rounding only where all else is the same"
"""Why a quantity is not compared."""
EXPECTED = (NEITHER, ROUNDED)
"""Such reasons that nobody need be told of."""


@dataclass(frozen=True)
class Trainings:
    """The recordings to compare, each by rank.

    Attributes:
      original, migrated: both scripts.
      repeated: the original once more.
      shaken: the reference from weights that are changed in their last bit, which shows how far
        rounding carries; none where that is not in question.
      adjusted: the original with known differences of the migration made in it, to be compared in
        the original's place; none where that is not in question.
    """

    original: Tuple[Recording, ...]
    migrated: Tuple[Recording, ...]
    repeated: Tuple[Recording, ...] = ()
    shaken: Tuple[Recording, ...] = ()
    adjusted: Tuple[Recording, ...] = ()

    @property
    def reference(self) -> Tuple[Recording, ...]:
        """What the migrated training is compared with."""
        return self.adjusted or self.original


@dataclass(frozen=True)
class Difference:
    """Where two trainings first differ in a quantity.

    Attributes:
      quantity: which.
      step, rank: where.
      original, migrated: the values.
      apart: relative distance, infinite where no number says it.
      allowed: largest distance that would have counted as the same.
    """

    quantity: Quantity
    step: int
    rank: int
    original: Value
    migrated: Value
    apart: float
    allowed: float


@dataclass(frozen=True)
class Compared:
    """One quantity over all steps and ranks.

    Attributes:
      quantity: which.
      rtol: largest relative distance that counts as the same, where the original keeps it.
      values: number of pairs that were compared.
      first: where it first differs, or None.
      largest: largest distance among the pairs, or None without any.
      spread: largest distance between the original's own two runs, as far as it is repeatable; None
        if there is nothing to tell it from.
      repeatable_until: last step up to which the original agrees with itself, or None if it always
        does.
      left_out: why there was nothing to compare, where there was not.
    """

    quantity: Quantity
    rtol: float
    values: int = 0
    first: Optional[Difference] = None
    largest: Optional[float] = None
    spread: Optional[float] = None
    repeatable_until: Optional[int] = None
    left_out: str = ""


@dataclass(frozen=True)
class LengthDifference:
    """One training ended by itself, and the other went on.

    Attributes:
      rank: where.
      original, migrated: numbers of steps.
      is_open: whether the migrated training was ended when it went on after the original's end.
    """

    rank: int
    original: int
    migrated: int
    is_open: bool = False


@dataclass(frozen=True)
class Comparison:
    """What the recordings say about each other.

    Attributes:
      steps: number of steps that are compared, on the rank with the fewest.
      ranks: number of ranks.
      quantities: each compared.
      length: where one ended earlier by itself.
      is_bitwise: whether all losses and weights are the same to the last bit.
      is_repeatable_bitwise: the same of the original's own two runs; None if it ran once.
      skipped: steps that were skipped on some rank, in the original and in the migrated training.
      gathering: steps in which no update was due, but gradients were gathered for a later one.
      broken_at: the step after which the weights of both are no longer finite, so that nothing is
        compared from there on; or None.
    """

    steps: int
    ranks: int
    quantities: Tuple[Compared, ...]
    length: Optional[LengthDifference] = None
    is_bitwise: bool = False
    is_repeatable_bitwise: Optional[bool] = None
    skipped: Tuple[Tuple[int, ...], Tuple[int, ...]] = ((), ())
    gathering: Tuple[int, ...] = ()
    broken_at: Optional[int] = None

    @property
    def is_same(self) -> bool:
        """Whether the trainings have steps to compare, and differ in nothing."""
        return self.steps > 0 and self.first is None and self.length is None

    @property
    def first(self) -> Optional[Difference]:
        """Where they first differ; of several quantities in one step, the cause of the others."""
        found = [compared.first for compared in self.quantities if compared.first is not None]
        return min(found, key=lambda d: (d.step, QUANTITIES.index(d.quantity)), default=None)

    @property
    def repeatable_until(self) -> Optional[int]:
        """Last step up to which the original agrees with itself in all, or None if always."""
        return _earliest(compared.repeatable_until for compared in self.quantities)

    def of(self, quantity: Quantity) -> Compared:
        return next(compared for compared in self.quantities if compared.quantity == quantity)


_Pair = Tuple[int, Step, Step]
"""A rank, and two steps of one number."""


def compare(trainings: Trainings, rtol: Optional[float] = None) -> Comparison:
    """Compares trainings of the same number of ranks.

    Args:
      trainings: their recordings.
      rtol: takes the place of the tolerances of loss, gradient norm and weights.
    """
    pairs = _pairs(trainings.reference, trainings.migrated)
    broken_at = _broken_at(pairs)
    if broken_at is not None:
        pairs = [pair for pair in pairs if pair[1].number <= broken_at]
    again = _pairs(trainings.original, trainings.repeated)
    drift = _earliest(_repeatability(cause, again)[1] for cause in (LOSS, GRADIENT_NORM))
    shaken = _pairs(trainings.reference, trainings.shaken) or again
    gathering = _gathering([one for _, one, _ in pairs])
    lengths = [sum(pair[0] == r.rank for pair in pairs) for r in trainings.reference]
    return Comparison(
        steps=min(lengths, default=0),
        ranks=len(trainings.original),
        quantities=tuple(
            _compared(q, rtol, pairs, shaken if q == WEIGHT_CHANGE else again, trainings, drift)
            for q in QUANTITIES
        ),
        length=_length(trainings),
        is_bitwise=_is_bitwise(pairs),
        is_repeatable_bitwise=_is_bitwise(again) if trainings.repeated else None,
        skipped=(
            _skipped([one for _, one, _ in pairs], gathering),
            _skipped([other for _, _, other in pairs], gathering),
        ),
        gathering=gathering,
        broken_at=broken_at,
    )


def _pairs(one: Sequence[Recording], other: Sequence[Recording]) -> List[_Pair]:
    by_rank = {recording.rank: recording.steps for recording in other}
    pairs = [
        (recording.rank, first, second)
        for recording in one
        for first, second in zip(recording.steps, by_rank.get(recording.rank, ()))
    ]
    return sorted(pairs, key=lambda pair: (pair[1].number, pair[0]))


def _broken_at(pairs: Sequence[_Pair]) -> Optional[int]:
    broken = (
        one.number
        for _, one, other in pairs
        if not (math.isfinite(one.weights_norm) or math.isfinite(other.weights_norm))
    )
    return next(broken, None)


def _compared(
    quantity: Quantity,
    chosen: Optional[float],
    pairs: Sequence[_Pair],
    again: Sequence[_Pair],
    trainings: Trainings,
    drift: Optional[int],
) -> Compared:
    """Compares a quantity; all but exact ones until what feeds the weights drifts by itself."""
    rtol = quantity.rtol if chosen is None or not quantity.is_chosen else chosen
    left_out = _left_out(quantity, trainings)
    if quantity.is_needed and left_out == WITHOUT.format(_MIGRATED):
        return _lost(quantity, rtol, pairs)
    if left_out:
        return Compared(quantity, rtol, left_out=left_out)
    spreads, until = _repeatability(quantity, again)
    last = until if quantity.is_exact else _earliest((until, drift))
    ruler, first, values, largest = Ruler(quantity), None, 0, None
    spread = 0.0
    same_so_far = _same_so_far(pairs) if quantity == WEIGHT_CHANGE else set()
    for rank, one, other in pairs:
        if last is not None and one.number > last:
            break
        is_first = (rank, one.number) in same_so_far
        apart = ruler.apart(one, other, rank, is_first)
        if apart is None:
            continue
        values += 1
        largest = max(apart, largest or 0.0)
        spread = max(spread, spreads.get(one.number, 0.0))
        allowed = max(rtol, spread * SPREAD)
        if is_first:
            allowed = _FEW_BITS if chosen is None else rtol
        if first is None and apart > allowed:
            known, found = quantity.of(one), quantity.of(other)
            first = Difference(quantity, one.number, rank, known, found, apart, allowed)
    return Compared(
        quantity,
        rtol,
        values,
        first,
        largest,
        max(spreads.values(), default=None),
        until,
    )


def _earliest(steps: Iterable[Optional[int]]) -> Optional[int]:
    return min((step for step in steps if step is not None), default=None)


def _same_so_far(pairs: Sequence[_Pair]) -> Set[Tuple[int, int]]:
    """Ranks and numbers of the steps up to whose update all is the same to the last bit.

    What rounding carries from step to step is no reason there for another update.
    """
    found: Set[Tuple[int, int]] = set()
    other_weights: Set[int] = set()
    for rank, one, other in pairs:
        causes = [(each.loss, each.gradient_norm) for each in (one, other)]
        if rank not in other_weights and causes[0] == causes[1] and None not in causes[0]:
            found.add((rank, one.number))
        if one.weights_checksum != other.weights_checksum:
            other_weights.add(rank)
    return found


def _lost(quantity: Quantity, rtol: float, pairs: Sequence[_Pair]) -> Compared:
    """A quantity that the migrated training has not, and needs."""
    firsts = (
        Difference(quantity, one.number, rank, quantity.of(one), None, math.inf, rtol)
        for rank, one, _ in pairs
        if quantity.of(one) is not None
    )
    first = next(firsts, None)
    return Compared(quantity, rtol, int(first is not None), first)


def _repeatability(
    quantity: Quantity, again: Sequence[_Pair]
) -> Tuple[Dict[int, float], Optional[int]]:
    """By step, how far the original's own two runs are apart; and how long they say anything."""
    spreads: Dict[int, float] = {}
    ruler = Ruler(quantity)
    for rank, one, other in again:
        apart = ruler.apart(one, other, rank)
        if apart is not None and apart >= _NOT_REPEATABLE:
            return spreads, one.number - 1
        spreads[one.number] = max(apart or 0.0, spreads.get(one.number, 0.0))
    return spreads, None


def _left_out(quantity: Quantity, trainings: Trainings) -> str:
    """Why a quantity can't be compared at all, or nothing."""
    sides = {_ORIGINAL: trainings.reference, _MIGRATED: trainings.migrated}
    missing = [name for name, recordings in sides.items() if not _has_value(quantity, recordings)]
    if len(missing) == 2:
        return NEITHER
    if quantity == WEIGHT_CHANGE and not _tells_rounding(trainings):
        return ROUNDED
    if missing:
        return WITHOUT.format(missing[0])
    return _other_state(trainings) if quantity == STATE else ""


def _other_state(trainings: Trainings) -> str:
    """That one training keeps variables that the other has not, if so."""
    kept = [
        {name for r in side for name in r.state}
        for side in (trainings.reference, trainings.migrated)
    ]
    only = sorted(kept[0] ^ kept[1])
    return f"only one training has {only[0]}" if only else ""


def _tells_rounding(trainings: Trainings) -> bool:
    return bool(trainings.shaken) or _is_bitwise(_pairs(trainings.reference, trainings.migrated))


def _has_value(quantity: Quantity, recordings: Sequence[Recording]) -> bool:
    return any(quantity.of(step) is not None for r in recordings for step in r.steps)


def _length(trainings: Trainings) -> Optional[LengthDifference]:
    by_rank = {recording.rank: recording for recording in trainings.migrated}
    for original in trainings.reference:
        migrated = by_rank.get(original.rank)
        if migrated is None or None in (original.end, migrated.end):
            continue
        counts = len(original.steps), len(migrated.steps)
        if counts[0] != counts[1]:
            is_open = (original.end, migrated.end) == ("finished", "stopped")
            return LengthDifference(original.rank, *counts, is_open)
    return None


def _is_bitwise(pairs: Sequence[_Pair]) -> bool:
    return all(
        one.weights_checksum == other.weights_checksum
        and (one.loss == other.loss or one.loss != one.loss and other.loss != other.loss)
        for _, one, other in pairs
    )


def _gathering(steps: Sequence[Step]) -> Tuple[int, ...]:
    due = {step.number for step in steps if step.is_due or step.applied}
    return tuple(sorted({step.number for step in steps} - due))


def _skipped(steps: Sequence[Step], gathering: Sequence[int]) -> Tuple[int, ...]:
    numbers = {step.number for step in steps if not step.applied and step.learning_rate != 0}
    return tuple(sorted(numbers.difference(gathering)))
