"""What is compared of a training step, and how far two values of it are apart."""

import math
from dataclasses import dataclass
from typing import Dict, Optional, Tuple, Union

from npu_migrate.verify.recording import Step

Value = Union[bool, int, float, None]

_HALF_BIT = 2.0**-24
"""What rounding to float32 may add to a weight, as a share of it."""
_FEW = 0.25
"""Share of that which is left where a few weights in a hundred are rounded otherwise."""
_NEGLIGIBLE = 1e-3
"""Below this share of the largest value so far, a value is measured against that one."""


@dataclass(frozen=True)
class Quantity:
    """A number of each step.

    Attributes:
      field: of `Step`.
      title: for people.
      rtol: largest relative distance that counts as the same; 0 demands equality.
      is_chosen: whether `--rtol` takes the place of `rtol`.
      needs_update: whether it means something only in steps whose update was applied.
      is_needed: whether a migrated training that has none, where the original has one, is another.
    """

    field: str
    title: str
    rtol: float
    is_chosen: bool = False
    needs_update: bool = False
    is_needed: bool = False

    def of(self, step: Step) -> Value:
        value: Value = getattr(step, self.field)
        return value

    @property
    def is_exact(self) -> bool:
        return self.rtol == 0


LOSS = Quantity("loss", "loss", 1e-5, is_chosen=True)
GRADIENT_NORM = Quantity("gradient_norm", "gradient norm", 1e-4, is_chosen=True, needs_update=True)
APPLIED = Quantity("applied", "update applied", 0)
GLOBAL_STEP = Quantity("global_step", "global step", 0, is_needed=True)
LEARNING_RATE = Quantity("learning_rate", "learning rate", 1e-6, needs_update=True)
LOSS_SCALE = Quantity("loss_scale", "loss scale", 1e-6, is_needed=True)
WEIGHTS = Quantity("weights_norm", "weights", 1e-5, is_chosen=True)
WEIGHT_CHANGE = Quantity("change_norm", "weight change", 1e-5, is_chosen=True, needs_update=True)
STATE = Quantity("state_norm", "untrained state", 1e-5, is_chosen=True)

QUANTITIES: Tuple[Quantity, ...] = (
    LOSS,
    GRADIENT_NORM,
    APPLIED,
    GLOBAL_STEP,
    LEARNING_RATE,
    LOSS_SCALE,
    WEIGHTS,
    WEIGHT_CHANGE,
    STATE,
)
"""Causes before effects: of what differs first in one step, the first of these is to be named."""


class Ruler:
    """Measures how far two series of one quantity are apart, step by step.

    Distances are relative to the larger value, and to the largest so far where both are tiny beside
    it: a loss that is learned down to rounding errors keeps no relative precision.
    """

    def __init__(self, quantity: Quantity) -> None:
        self._quantity = quantity
        self._largest: Dict[int, float] = {}

    def apart(
        self, one: Step, other: Step, rank: int = 0, is_first: bool = False
    ) -> Optional[float]:
        """The distance, infinite where no number says it; None where there is nothing to compare.

        Args:
          one, other: the steps.
          rank: of both.
          is_first: whether all before the update is the same to the last bit, so that few weights
            can be rounded otherwise.

        An NPU that saturates shows the largest finite number where an original has Inf or NaN, so
        those are compared in steps that count only.
        """
        if self._quantity == WEIGHTS and one.weights_checksum == other.weights_checksum:
            return 0.0
        if self._quantity.needs_update and not (one.applied and other.applied):
            return None
        first, second = self._quantity.of(one), self._quantity.of(other)
        if first is None or second is None:
            return None
        if not (math.isfinite(first) or other.applied):
            return None
        if self._quantity.is_exact:
            return 0.0 if first == second else math.inf
        if one.state_parts and self._quantity == STATE:
            return max(map(_apart, one.state_parts, other.state_parts), default=0.0)
        share = _FEW if is_first else 1.0
        between = _between(one, other, share) if self._quantity == WEIGHT_CHANGE else None
        return self._relative(float(first), float(second), between, rank)

    def _relative(self, first: float, second: float, between: Optional[float], rank: int) -> float:
        if math.isfinite(first):
            self._largest[rank] = max(self._largest.get(rank, 0.0), abs(first))
        if between is None and (first == second or (math.isnan(first) and math.isnan(second))):
            return 0.0
        if not (math.isfinite(first) and math.isfinite(second)):
            return math.inf
        floor = self._largest.get(rank, 0.0) * _NEGLIGIBLE
        apart = abs(first - second) if between is None else between
        return apart / max(abs(first), abs(second), floor) if apart else 0.0


def _apart(first: float, second: float) -> float:
    if first == second or (math.isnan(first) and math.isnan(second)):
        return 0.0
    if not (math.isfinite(first) and math.isfinite(second)):
        return math.inf
    return abs(first - second) / max(abs(first), abs(second))


def _between(one: Step, other: Step, share: float) -> float:
    """How far the changes of the weights are apart beyond a share of what rounding adds to them."""
    squares = ((a - b) ** 2 for a, b in zip(one.change_parts, other.change_parts))
    rounding = share * _HALF_BIT * max(one.weights_norm, other.weights_norm)
    return max(0.0, math.sqrt(sum(squares)) - rounding)
