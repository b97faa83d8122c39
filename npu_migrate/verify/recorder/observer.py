"""Notes each step of a training, around the runs of its sessions."""

import threading
import traceback
import weakref
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np
import tensorflow.compat.v1 as tf

from npu_migrate.verify.recorder.journal import Journal
from npu_migrate.verify.recorder.notes import Notes
from npu_migrate.verify.recorder.readings import (
    Run,
    checksum,
    norm,
    norm_of_gradients,
    read,
    scalar,
)
from npu_migrate.verify.recorder.settings import Settings
from npu_migrate.verify.recorder.step_plan import StepPlan, plan_step
from npu_migrate.verify.recording import Step

_Plans = Dict[Tuple[Any, ...], Optional[StepPlan]]


class Observer:
    """Decides which runs are steps, and writes what they leave.

    Args:
      settings: of the recorder.
      rank: of this process.
      notes: of what was seen while the graphs were built.
      journal: where the steps go.
    """

    def __init__(self, settings: Settings, rank: int, notes: Notes, journal: Journal):
        self._settings = settings
        self._rank = rank
        self._notes = notes
        self._journal = journal
        self._plans: weakref.WeakKeyDictionary[Any, _Plans] = weakref.WeakKeyDictionary()
        self._number = 0
        #: Held for a step: those of several threads come one after the other.
        self.one_at_a_time = threading.RLock()
        self._before: Optional[str] = None

    def injected(self) -> float:
        """What is added to the gradients of the run that goes on."""
        overflows = self._settings.overflows.here(self._number, self._rank)
        return float("inf") if overflows else 0.0

    def plan(self, graph: Any, fetched: Sequence[Any]) -> Optional[StepPlan]:
        """What to note of a run that was asked for these tensors and operations, if it trains."""
        plans = self._plans.setdefault(graph, {})
        key = (graph.version, *(element.name for element in fetched))
        if key not in plans:
            plans[key] = self._plan(graph, fetched)
        return plans[key]

    def start(self, plan: StepPlan, run: Run) -> None:
        """To be called before a step."""
        self._number += 1
        try:
            self._before = checksum(read(run, [*plan.weights, *plan.slots]))
        except Exception:
            self._before = None

    def finish(self, plan: StepPlan, run: Run, beside: Sequence[Any]) -> None:
        """To be called after a step, with the values of `plan.beside`."""
        try:
            self._journal.step(self._step(plan, run, list(beside)))
        except Exception:
            self._failed()
        if self._number == self._settings.steps:
            self._journal.end("stopped")
            threading.Event().wait()  # the process that started this one ends it

    def _plan(self, graph: Any, fetched: Sequence[Any]) -> Optional[StepPlan]:
        operations = [getattr(element, "op", element) for element in fetched]
        try:
            plan = plan_step(graph, self._notes.of(graph), operations, self._settings.loss)
        except Exception:
            self._failed()
            return None
        if plan is not None:
            for name, detail in plan.facts:
                self._journal.fact(name, detail)
            if plan.loss is not None:
                self._journal.loss(plan.loss.name)
        return plan

    def _step(self, plan: StepPlan, run: Run, beside: List[Any]) -> Step:
        loss = None if plan.loss is None else float(np.sum(beside.pop(0), dtype=np.float64))
        rate_is_beside = isinstance(plan.learning_rate, tf.Tensor)
        rate = float(beside.pop(0)) if rate_is_beside else scalar(run, plan.learning_rate)
        step = scalar(run, plan.global_step)
        values = read(run, [*plan.weights, *plan.slots])
        weights = values[: len(plan.weights)]
        return Step(
            number=self._number,
            loss=loss,
            global_step=None if step is None else int(step),
            loss_scale=scalar(run, plan.loss_scale),
            learning_rate=rate,
            applied=checksum(values) != self._before,
            gradient_norm=norm_of_gradients(plan.gradients, beside),
            weights_norm=norm(weights),
            weights_checksum=checksum(weights),
        )

    def _failed(self) -> None:
        self._journal.fact("recorder_error", traceback.format_exc())
