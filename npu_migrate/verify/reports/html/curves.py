"""Curves of two trainings on top of each other, as paths of SVG.

A curve fills a box of `WIDTH` by `HEIGHT`, which the page stretches to the room that it has.
"""

import math
from dataclasses import dataclass
from typing import Callable, Iterator, List, Optional, Sequence, Tuple

from npu_migrate.verify.quantities import (
    GLOBAL_STEP,
    GRADIENT_NORM,
    LEARNING_RATE,
    LOSS,
    LOSS_SCALE,
    WEIGHT_CHANGE,
    WEIGHTS,
    Quantity,
)
from npu_migrate.verify.recording import Step

WIDTH, HEIGHT = 1000.0, 100.0
DRAWN: Tuple[Quantity, ...] = (
    LOSS,
    LOSS_SCALE,
    GLOBAL_STEP,
    LEARNING_RATE,
    GRADIENT_NORM,
    WEIGHTS,
    WEIGHT_CHANGE,
)

_MARGIN = 6.0
_DENSEST = 1500
"""Points of a curve; of more, only the extremes of each stretch are drawn."""
_WIDE = 100.0
"""From this ratio between the largest and the smallest value on, the axis is logarithmic."""

Point = Tuple[int, float]


@dataclass(frozen=True)
class Curves:
    """One quantity of two trainings.

    Attributes:
      quantity: which.
      original, migrated: paths; empty where there is nothing to draw.
      top, bottom: largest and smallest value, for the axis.
      is_logarithmic: whether the axis is.
    """

    quantity: Quantity
    original: str
    migrated: str
    top: str
    bottom: str
    is_logarithmic: bool


def curves(
    quantity: Quantity, original: Sequence[Step], migrated: Sequence[Step], last: int
) -> Optional[Curves]:
    """The curves of a quantity over the steps 1 to `last`, or None where neither has it."""
    series = [_points(quantity, steps) for steps in (original, migrated)]
    values = [v for points in series for _, v in points if math.isfinite(v)]
    if not values:
        return None
    low, high = min(values), max(values)
    is_logarithmic = low > 0 and high / low >= (2 if quantity == LOSS_SCALE else _WIDE)
    height = _axis(low, high, math.log if is_logarithmic else float)
    paths = [_path(_thinned(points), last, height) for points in series]
    return Curves(quantity, paths[0], paths[1], f"{high:.5g}", f"{low:.5g}", is_logarithmic)


def position(step: int, last: int) -> float:
    """Where a step is, from the left."""
    return WIDTH / 2 if last <= 1 else round(WIDTH * (step - 1) / (last - 1), 2)


def _points(quantity: Quantity, steps: Sequence[Step]) -> List[Point]:
    return [(step.number, _drawn(quantity, step)) for step in steps]


def _drawn(quantity: Quantity, step: Step) -> float:
    """The value, or NaN where there is none that means something."""
    value = quantity.of(step)
    is_idle = quantity.needs_update and not step.applied
    return math.nan if value is None or is_idle else float(value)


def _axis(low: float, high: float, scale: Callable[[float], float]) -> Callable[[float], float]:
    """Where a value is, from the top."""
    start, end = scale(low), scale(high)
    room = HEIGHT - 2 * _MARGIN

    def height(value: float) -> float:
        share = (scale(value) - start) / (end - start) if end > start else 0.5
        return round(HEIGHT - _MARGIN - room * share, 2)

    return height


def _path(points: Sequence[Point], last: int, height: Callable[[float], float]) -> str:
    """A path that is interrupted where a value is Inf, NaN or missing."""
    parts, is_drawing = [], False
    for number, value in points:
        if not math.isfinite(value):
            is_drawing = False
            continue
        x, y = position(number, last), height(value)
        parts.append(f"{'L' if is_drawing else 'M'}{x:g} {y:g}")
        if not is_drawing:
            parts.append("h0.01")  # a point that stands alone is seen, too
        is_drawing = True
    return "".join(parts)


def _thinned(points: Sequence[Point]) -> Sequence[Point]:
    if len(points) <= _DENSEST:
        return points
    size = math.ceil(2 * len(points) / _DENSEST)
    return list(_extremes(points, size))


def _extremes(points: Sequence[Point], size: int) -> Iterator[Point]:
    for start in range(0, len(points), size):
        stretch = points[start : start + size]
        finite = [point for point in stretch if math.isfinite(point[1])]
        if len(finite) < len(stretch):
            yield from stretch
        else:
            yield from sorted({min(finite, key=_value), max(finite, key=_value)})


def _value(point: Point) -> float:
    return point[1]
