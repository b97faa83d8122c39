"""Notes each step of a training, around the runs of its sessions."""

import contextlib
import threading
import traceback
import weakref
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np
import tensorflow.compat.v1 as tf

from npu_migrate.verify.recorder.journal import Journal
from npu_migrate.verify.recorder.notes import Notes
from npu_migrate.verify.recorder.readings import (
    Run,
    change,
    checksum,
    norm,
    norm_of_gradients,
    read,
    scalar,
    shaken,
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
        self._shaken: weakref.WeakSet[Any] = weakref.WeakSet()
        self._one_at_a_time = threading.RLock()

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

    @contextlib.contextmanager
    def step(self, plan: StepPlan, run: Run) -> Iterator[List[Any]]:
        """Surrounds a run that trains; one that fails is no step. Those of threads take turns.

        Args:
          plan: what to note of it.
          run: fetches from its session.

        Yields:
          A list, to be filled with the values of `plan.beside`.
        """
        with self._one_at_a_time:
            self._number += 1
            before = self._state(plan, run)
            if before is not None and self._settings.is_shaken:
                self._shake(plan, run, before)
            beside: List[Any] = []
            try:
                yield beside
            except BaseException:
                self._number -= 1
                raise
            try:
                self._journal.step(self._step(plan, run, beside, before))
            except Exception:
                self._failed()
            if self._number == self._settings.steps:
                self._journal.end("stopped")
                threading.Event().wait()  # the process that started this one ends it

    def _state(self, plan: StepPlan, run: Run) -> Optional[List[Any]]:
        """Copies of what the update changes; None where variables have no values yet."""
        try:
            return [np.array(value) for value in read(run, [*plan.weights, *plan.slots])]
        except (tf.errors.OpError, RuntimeError):  # the run itself will say what is wrong
            return None

    def _shake(self, plan: StepPlan, run: Run, before: List[Any]) -> None:
        """Changes the weights of a graph that trains for the first time in their last bit."""
        graph = plan.weights[0].graph if plan.weights else None
        if graph is None or graph in self._shaken:
            return
        self._shaken.add(graph)
        for at, weight in enumerate(plan.weights):
            if np.size(before[at]):
                before[at] = shaken(before[at], weight.name)
                run(weight.initializer, {weight.initializer.inputs[1]: before[at]})

    def _plan(self, graph: Any, fetched: Sequence[Any]) -> Optional[StepPlan]:
        operations = [getattr(element, "op", element) for element in fetched]
        try:
            plan = plan_step(graph, self._notes.of(graph), operations, self._settings.loss)
        except Exception:
            self._failed()
            return None
        if plan is not None:
            for fact in plan.facts:
                self._journal.fact(fact.name, fact.detail, fact.places)
            if plan.loss is not None:
                self._journal.loss(plan.loss.name)
            self._journal.state(variable.name for variable in plan.state)
        return plan

    def _step(
        self, plan: StepPlan, run: Run, beside: List[Any], before: Optional[List[Any]]
    ) -> Step:
        loss = None if plan.loss is None else float(np.sum(beside.pop(0), dtype=np.float64))
        is_due = plan.is_due([beside.pop(0) for _ in plan.conditions])
        rate_is_beside = isinstance(plan.learning_rate, tf.Tensor)
        rate = float(beside.pop(0)) if rate_is_beside else scalar(run, plan.learning_rate)
        step = scalar(run, plan.global_step)
        updated = len(plan.weights) + len(plan.slots)
        values = read(run, [*plan.weights, *plan.slots, *plan.state])
        weights, values, kept = values[: len(plan.weights)], values[:updated], values[updated:]
        added, parts = change(before and before[: len(weights)], weights)
        return Step(
            number=self._number,
            loss=loss,
            global_step=None if step is None else int(step),
            loss_scale=scalar(run, plan.loss_scale),
            learning_rate=rate,
            applied=before is None or checksum(values) != checksum(before),
            gradient_norm=norm_of_gradients(plan.gradients, beside),
            weights_norm=norm(weights),
            weights_checksum=checksum(weights),
            is_due=is_due,
            change_norm=added,
            change_parts=parts,
            state_norm=norm(kept) if kept else None,
            state_parts=tuple(norm([value]) for value in kept),
        )

    def _failed(self) -> None:
        self._journal.fact("recorder_error", traceback.format_exc())
