"""Differences that a faithful migration makes, recognised by what the recorder saw of the original.

They are differences all the same: whoever trains on the NPU gets another training, and is told why.
"""

from dataclasses import dataclass
from typing import Optional, Sequence, Tuple

from npu_migrate.verify.comparison import Comparison, Difference, Trainings
from npu_migrate.verify.quantities import APPLIED, GLOBAL_STEP, LEARNING_RATE, LOSS, LOSS_SCALE
from npu_migrate.verify.recording import Fact, Recording


@dataclass(frozen=True)
class KnownDifference:
    """A known difference that concerns a training.

    Attributes:
      title: names it.
      explanation: why it is, and what to do where it matters.
      codes: rules of npu-migrate that announce it.
      explains: whether it is why the trainings first differ.
    """

    title: str
    explanation: str
    codes: Tuple[str, ...]
    explains: bool


@dataclass(frozen=True)
class _Kind:
    fact: str
    title: str
    explanation: str
    codes: Tuple[str, ...]


def adjustments(trainings: Trainings) -> Tuple[str, ...]:
    """The facts whose differences can be made in the original, to see whether they explain all."""
    return tuple(kind.fact for kind in _ADJUSTABLE if _gone(kind.fact, trainings) is not None)


def known_differences(
    comparison: Comparison, trainings: Trainings, adjusted: Optional[Comparison] = None
) -> Tuple[KnownDifference, ...]:
    """The known differences that concern these trainings.

    Args:
      comparison: of the original with the migrated training.
      trainings: what was recorded of them.
      adjusted: of the original in which the adjustments were made with the migrated training. If
        these two are the same, the adjustments explain how the others differ.
    """
    is_explained = adjusted is not None and adjusted.is_same
    first = comparison.first
    is_together = first is not None and _is_by_training_together(first, comparison, trainings)
    return tuple(
        KnownDifference(
            kind.title,
            _with_detail(kind.explanation, fact),
            kind.codes,
            is_together if kind is _TOGETHER else is_explained,
        )
        for kind in (_TOGETHER, *_ADJUSTABLE)
        for fact in [_gone(kind.fact, trainings)]
        if fact is not None
    )


def _gone(name: str, trainings: Trainings) -> Optional[Fact]:
    """The fact of the original, unless it holds of the migrated training as well."""
    fact = _fact(name, trainings.original)
    return fact if fact is not None and _fact(name, trainings.migrated) is None else None


def _fact(name: str, recordings: Sequence[Recording]) -> Optional[Fact]:
    facts = (fact for recording in recordings for fact in recording.facts)
    return next((fact for fact in facts if fact.name == name), None)


def _with_detail(explanation: str, fact: Fact) -> str:
    return f"{explanation} Seen: {fact.detail}." if fact.detail else explanation


def _is_by_training_together(
    first: Difference, comparison: Comparison, trainings: Trainings
) -> bool:
    """Averaged gradients change no state of a rank, unless an overflow of another does."""
    overflow = _first_overflow_of_some(trainings)
    for quantity in (APPLIED, GLOBAL_STEP, LEARNING_RATE, LOSS_SCALE):
        found = comparison.of(quantity).first
        if found is not None and (overflow is None or found.step < overflow):
            return False
    is_first_loss = first.quantity == LOSS and first.step == 1
    return not is_first_loss or first.rank > 0


def _first_overflow_of_some(trainings: Trainings) -> Optional[int]:
    """The first step that not all ranks of the original apply, which are alike else."""
    for steps in zip(*(recording.steps for recording in trainings.original)):
        if len({step.applied for step in steps}) > 1:
            return int(steps[0].number)
    return None


_TOGETHER = _Kind(
    "ranks_apart",
    "Processes that trained apart now train together",
    "Each process of the original trains for itself, as it is not written for several. The "
    "migrated script averages the gradients over all devices that train, so that it can be "
    "started on several, and overflow is judged by all of them. With one process both train "
    "alone: leave out -np to compare all else. How gradients are averaged is shown by neither.",
    ("NPU201", "NPU103", "NPU107"),
)
_ADJUSTABLE = (
    _Kind(
        "fixed_loss_scale",
        "A fixed loss scale became stricter",
        "The fixed loss scale of the original applies every update, also one that overflowed, "
        "after which weights are Inf or NaN. The NPU's FixedLossScaleManager skips such a step.",
        ("NPU104", "NPU106", "NPU107"),
    ),
    _Kind(
        "sparse_gradients",
        "Sparse gradients became dense",
        "The original hands sparse gradients to its optimizer, NPULossScaleOptimizer makes them "
        "dense. An optimizer with slots (momentum, RMSProp, lazy Adam) then also moves rows that "
        "are not in the batch, and clipping by the global norm adds up rows that are there twice. "
        "MixedPrecisionTrainer of the runtime keeps sparse gradients sparse.",
        ("NPU106", "NPU107", "NPU203"),
    ),
    _Kind(
        "hvd_compression",
        "Gradients are no longer compressed on their way between the ranks",
        "The original averages gradients in float16, which rounds them and overflows sooner under "
        "a large loss scale. NPUDistributedOptimizer averages them as they are.",
        ("NPU203", "NPU205"),
    ),
)
