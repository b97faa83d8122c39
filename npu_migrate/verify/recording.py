"""What one process of a training noted about each of its steps, and the file that holds it.

A file has one JSON object a line: `{"kind": "start", ...}`, a `"step"` for each training step, any
number of `"fact"`s and `"checkpoint"`s, and `"end"` unless the process died.
"""

import json
import math
from dataclasses import dataclass, fields
from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, Optional, Set, Tuple


@dataclass(frozen=True)
class Step:
    """One `session.run` that computed gradients of trainable variables.

    Attributes:
      number: counts these runs in this process, from 1.
      loss: unscaled value, or None where none was found.
      global_step: after the run; None without a global step.
      loss_scale: after the run; None without loss scaling.
      learning_rate: that the innermost optimizer used in the run; None if it has none.
      applied: whether trainable variables or the optimizer's slots changed.
      is_due: whether the run was to apply an update, which an overflow may have prevented; not
        where it only gathers gradients for a later one.
      gradient_norm: global norm of the gradients that the innermost optimizer got, unscaled and,
        with several ranks, averaged; None if not to be had. In a step that overflowed it can be
        anything: an NPU that saturates hands on large finite numbers.
      weights_norm: global norm of the trainable variables after the run.
      weights_checksum: of their bytes, sorted by name.
      change_norm: global norm of what the run added to them; None if it is not a number, or where
        they had no values before.
      change_parts: a few numbers, linear in what was added, whose norm is about that of it; so the
        difference of two runs is about as large as that of their parts.
      state_norm: global norm of what else the training keeps, such as moving averages; None if it
        keeps nothing else.
      state_parts: the norm of each variable of it, sorted by name.
    """

    number: int
    loss: Optional[float]
    global_step: Optional[int]
    loss_scale: Optional[float]
    learning_rate: Optional[float]
    applied: bool
    gradient_norm: Optional[float]
    weights_norm: float
    weights_checksum: str
    is_due: bool = True
    change_norm: Optional[float] = None
    change_parts: Tuple[float, ...] = ()
    state_norm: Optional[float] = None
    state_parts: Tuple[float, ...] = ()


@dataclass(frozen=True)
class Fact:
    """Something that the recorder saw in the graph, and that the comparison may have to explain.

    Attributes:
      name: what, e.g. `sparse_gradients`, `step_race`, `hvd_compression`, `fixed_loss_scale`,
        `no_loss`, `scaler_not_above_gradients`, `several_step_writers`.
      detail: in words, with names of variables or operations.
      places: where in the script, as `file.py:12`.
    """

    name: str
    detail: str
    places: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Recording:
    """All that one rank of one run noted.

    Attributes:
      rank, ranks: of the process.
      steps: in order.
      facts: in order, each once.
      loss_name: name of the tensor that was taken for the loss, or None.
      end: `finished` (the script ended by itself), `stopped` (after as many steps as were asked
        for) or None (the process died before).
      wrote, read: the files of checkpoints that it did, each with what tells it from others.
      state: names of the variables that the training keeps besides weights and slots.
    """

    rank: int
    ranks: int
    steps: Tuple[Step, ...]
    facts: Tuple[Fact, ...] = ()
    loss_name: Optional[str] = None
    end: Optional[str] = None
    wrote: FrozenSet[str] = frozenset()
    read: FrozenSet[str] = frozenset()
    state: FrozenSet[str] = frozenset()


def step_line(step: Step) -> str:
    """A line of the file, without its end. Infinities and NaN are written as strings."""
    values = {field.name: _written(getattr(step, field.name)) for field in fields(Step)}
    return json.dumps({"kind": "step", **values})


def read_recording(lines: Iterable[str]) -> Recording:
    """Reads the lines of a file; a last line that was cut off is left out."""
    start: Dict[str, Any] = {}
    end: Optional[str] = None
    loss_name: Optional[str] = None
    steps: List[Step] = []
    facts: Dict[Fact, None] = {}
    checkpoints: Dict[str, Set[str]] = {"wrote": set(), "read": set()}
    state: Set[str] = set()
    for line in lines:
        if not line.endswith("\n"):
            break
        entry = json.loads(line)
        kind = entry.pop("kind")
        if kind == "start":
            start = entry
        elif kind == "step":
            steps.append(_step(entry))
        elif kind == "fact":
            facts[_fact(entry)] = None
        elif kind == "loss":
            loss_name = entry["name"]
        elif kind == "state":
            state.update(entry["names"])
        elif kind == "checkpoint":
            checkpoints[entry["use"]].add(entry["file"])
        elif kind == "end":
            end = entry["reason"]
    return Recording(
        start.get("rank", 0),
        start.get("ranks", 1),
        tuple(steps),
        tuple(facts),
        loss_name,
        end,
        frozenset(checkpoints["wrote"]),
        frozenset(checkpoints["read"]),
        frozenset(state),
    )


_NOT_FINITE = ("inf", "-inf", "nan")


def _written(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_written(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _fact(entry: Mapping[str, Any]) -> Fact:
    return Fact(entry["name"], entry["detail"], tuple(entry.get("places", ())))


def _step(entry: Mapping[str, Any]) -> Step:
    values: Dict[str, Any] = {
        name: float(value) if value in _NOT_FINITE else value for name, value in entry.items()
    }
    for name in ("change_parts", "state_parts"):
        values[name] = tuple(map(float, values.get(name, ())))
    return Step(**values)
