"""What makes a migrated training wrong though its numbers may be alike.

The recorder audits the graph of each training and writes what it sees as facts. Most of them are
the script's own where the original has them too; some are only wrong on an NPU.
"""

from dataclasses import dataclass, replace
from typing import Callable, Dict, Optional, Sequence, Tuple

from npu_migrate.verify.comparison import Trainings
from npu_migrate.verify.recording import Fact, Recording


@dataclass(frozen=True)
class Fault:
    """A fault of the graph.

    Attributes:
      name: of the fact.
      title: what is wrong.
      consequence: why it matters although the numbers may be alike.
      detail: what the recorder saw.
      codes: rules of npu-migrate about it.
      is_original: whether it was in the original already, and as wrong there.
    """

    name: str
    title: str
    consequence: str
    detail: str
    codes: Tuple[str, ...]
    is_original: bool


@dataclass(frozen=True)
class _Kind:
    title: str
    consequence: str
    codes: Tuple[str, ...]
    is_of_npu: bool = False


KINDS: Dict[str, _Kind] = {
    "several_step_writers": _Kind(
        "The global step has more than one writer",
        "Operations of one run race for it: with resource variables it moves more than once a "
        "step, with reference variables it may look right.",
        ("NPU301", "NPU302", "NPU305", "NPU309", "NPU310"),
    ),
    "scaler_not_above_gradients": _Kind(
        "Gradients are applied that were never scaled",
        "Only compute_gradients of the loss-scaling optimizer scales the loss. In float32 nothing "
        "shows; in float16 small gradients become 0.",
        ("NPU116",),
    ),
    "scaler_not_of_npu": _Kind(
        "The loss scaling is still the one for GPUs",
        "It looks for Inf and NaN in the gradients, which an NPU that saturates never has.",
        ("NPU103", "NPU106", "NPU107"),
        is_of_npu=True,
    ),
    "averaged_after_unscaling": _Kind(
        "Gradients are averaged after they were unscaled",
        "What overflows or vanishes on its way between the ranks is not noticed.",
        ("NPU205",),
    ),
    "scaler_stacked": _Kind(
        "The loss is scaled more than once",
        "The scales multiply, and one manager counts every step twice.",
        ("NPU128", "NPU117", "NPU120"),
    ),
    "manager_shared": _Kind(
        "Two optimizers share a loss scale manager",
        "It counts every step twice, so the scale moves at the wrong steps.",
        ("NPU120",),
    ),
    "overflow_shared": _Kind(
        "Two loss-scaling optimizers run in one step",
        "They share the overflow register of the NPU: each skips what the other one overflowed, or "
        "misses its own overflow after the other one cleared the register.",
        ("NPU119",),
        is_of_npu=True,
    ),
    "ranks_judge_apart": _Kind(
        "Each rank judges overflow alone",
        "When one rank overflows it skips the step and the others don't; weights, loss scale and "
        "global step drift apart.",
        ("NPU209", "NPU103", "NPU107", "NPU201"),
        is_of_npu=True,
    ),
    "finite_check_decides": _Kind(
        "A finite check takes part in training",
        "An NPU that saturates has only finite gradients, so the check is always true there.",
        ("NPU123", "NPU124", "NPU910"),
        is_of_npu=True,
    ),
    "step_decides_update": _Kind(
        "The global step decides whether the update is applied",
        "It moves in applied updates only, so it may never reach the value that applies the next.",
        ("NPU306",),
    ),
}


_DRIFT = Fault(
    "ranks_drift",
    "The ranks train different weights",
    "Averaging their gradients keeps ranks alike only if they start alike and take the same steps: "
    "have all of them begin with the variables of rank 0 (NPUBroadcastGlobalVariablesHook).",
    "",
    ("NPU201", "NPU204"),
    is_original=False,
)


def faults(trainings: Trainings, shown: Callable[[str], str] = str) -> Tuple[Fault, ...]:
    """The faults of the migrated training, those of the migration first.

    Args:
      trainings: what was recorded.
      shown: a place in the migrated script, as people find it.
    """
    original = {fact.name for fact in _facts(trainings.original)}
    found: Dict[str, Fault] = {}
    for fact in _facts(trainings.migrated):
        kind = KINDS.get(fact.name)
        if kind is not None and fact.name not in found:
            found[fact.name] = Fault(
                fact.name,
                kind.title,
                kind.consequence,
                _detail(fact, shown),
                kind.codes,
                fact.name in original and not kind.is_of_npu,
            )
    drift = _drift(trainings.migrated)
    if drift is not None:
        is_original = "ranks_apart" not in original and _drift(trainings.original) is not None
        found["ranks_drift"] = replace(
            _DRIFT, detail=f"from step {drift} on", is_original=is_original
        )
    return tuple(sorted(found.values(), key=lambda fault: fault.is_original))


def _drift(recordings: Sequence[Recording]) -> Optional[int]:
    """The first step after which ranks that train together have different weights."""
    if any(fact.name == "ranks_apart" for fact in _facts(recordings)):
        return None
    for steps in zip(*(recording.steps for recording in recordings)):
        if len({step.weights_checksum for step in steps}) > 1:
            return int(steps[0].number)
    return None


def _detail(fact: Fact, shown: Callable[[str], str]) -> str:
    places = ", ".join(map(shown, fact.places))
    return " ".join(filter(None, (fact.detail, f"at {places}" if places else "")))


def _facts(recordings: Sequence[Recording]) -> Sequence[Fact]:
    return [fact for recording in recordings for fact in recording.facts]
