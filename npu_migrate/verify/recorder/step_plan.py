"""What is to be noted of a run that trains, and where it can be read."""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import tensorflow.compat.v1 as tf

from npu_migrate.launch.environment import current_ranks
from npu_migrate.verify.recorder.audit import Seen, audit, descendants
from npu_migrate.verify.recorder.closure import closure, conditions, is_unconditional
from npu_migrate.verify.recorder.loss_name import named_tensor, why_not_named
from npu_migrate.verify.recorder.notes import Application, Gradient, GraphNotes
from npu_migrate.verify.recorder.scalars import global_step_of, learning_rates_of, readable
from npu_migrate.verify.recording import Fact


class Condition(NamedTuple):
    """What must be so for an update to be due.

    Attributes:
      update: number of the update, of those in the run.
      predicate: tensor to fetch in the run.
      value: that it must have.
    """

    update: int
    predicate: Any
    value: bool


class StepPlan(NamedTuple):
    """Where the numbers of one kind of training run can be read.

    Attributes:
      loss: tensor to fetch in the run.
      gradients: to fetch in the run, or None if they cannot be had.
      learning_rate: tensor to fetch in the run, variable to read after it, or number.
      global_step: variable to read after the run.
      loss_scale: likewise, or a number, or a tensor that is computed of variables.
      weights: trainable variables, sorted by name.
      slots: what else the update changes.
      state: other variables that the training keeps, such as moving averages.
      facts: that the graph shows.
      updates: how many updates there are in the run, those in branches included.
      conditions: of those in branches that nothing decides which comes from the gradients.
    """

    loss: Optional[Any]
    gradients: Optional[Tuple[Gradient, ...]]
    learning_rate: Optional[Any]
    global_step: Optional[Any]
    loss_scale: Optional[Any]
    weights: Tuple[Any, ...]
    slots: Tuple[Any, ...]
    state: Tuple[Any, ...]
    facts: Tuple[Fact, ...]
    updates: int
    conditions: Tuple[Condition, ...]

    @property
    def beside(self) -> List[Any]:
        """The tensors to fetch in the run itself."""
        rates = [self.learning_rate] if isinstance(self.learning_rate, tf.Tensor) else []
        losses = [] if self.loss is None else [self.loss]
        gradients = [tensor for one in self.gradients or () for tensor in one if tensor is not None]
        predicates = [condition.predicate for condition in self.conditions]
        return [*losses, *predicates, *rates, *gradients]

    def is_due(self, predicates: Sequence[Any]) -> bool:
        """Whether a run with these values of the predicates was to apply an update."""
        missed = {
            condition.update
            for condition, value in zip(self.conditions, predicates)
            if bool(value) != condition.value
        }
        return len(missed) < self.updates


def plan_step(
    graph: Any, notes: GraphNotes, fetched: Sequence[Any], loss_name: Optional[str]
) -> Optional[StepPlan]:
    """Plans what to note of a run.

    Args:
      graph: of the session.
      notes: of that graph.
      fetched: operations that the run was asked for.
      loss_name: tensor that is the loss.

    Returns:
      None if the run trains nothing.
    """
    if not notes.gradient_calls and not notes.applications:
        return None
    needed = closure(fetched)
    calls = [call for call in notes.gradient_calls if any(g.op in needed for g in call.gradients)]
    applications = [one for one in notes.applications if one.done in needed]
    if not applications and (not calls or any(map(_is_summary, fetched))):
        return None
    facts: Dict[Fact, None] = {}
    losses = _losses(graph, calls, loss_name, needed)
    if not losses:
        if loss_name is None:
            why = _why_no_loss(calls)
        else:
            found = _losses(graph, calls, None, needed)
            why = why_not_named(graph, loss_name, needed, found)
        facts[Fact("no_loss", why)] = None
    elif len(losses) > 1:
        names = ", ".join(loss.name for loss in losses)
        facts[Fact("several_losses", f"{names}; the first was taken")] = None
    for application in applications:
        if any(gradient.rows is not None for gradient in application.gradients):
            name = type(application.optimizer).__name__
            facts[Fact("sparse_gradients", f"{name} gets sparse gradients")] = None
    first = applications[0] if applications else None
    variables = graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)
    weights = graph.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES)
    optimizer, given = (None, None) if first is None else (first.optimizer, first.global_step)
    step = global_step_of(graph, optimizer, given)
    slots = tuple(v for v in variables if any(v.name in one.created for one in applications))
    results = [gradient.op for call in calls for gradient in call.gradients]
    asked = [one.op for call in notes.gradient_calls if call.is_asked for one in call.gradients]
    seen = Seen(needed, applications, results, asked, step, current_ranks().size)
    facts.update(dict.fromkeys(audit(seen)))
    return StepPlan(
        loss=losses[0] if losses else None,
        gradients=_gradients(applications, needed),
        learning_rate=_learning_rate(first, needed),
        global_step=step,
        loss_scale=_loss_scale(applications),
        weights=tuple(sorted(set(weights), key=lambda variable: variable.name)),
        slots=slots,
        state=tuple(_state(variables, weights, slots)),
        facts=tuple(facts),
        updates=len(applications) if notes.applications else 1,
        conditions=tuple(_conditions(applications, needed, results)),
    )


def _state(variables: Sequence[Any], weights: Sequence[Any], slots: Sequence[Any]) -> List[Any]:
    """The other variables of a graph, but for rates and loss scales: scalars that no weight has."""
    others = {variable.name for variable in (*weights, *slots)}
    below = tuple(f"{weight.op.name}/" for weight in weights)
    kept = {
        variable.name: variable
        for variable in variables
        if variable.name not in others
        and variable.dtype.is_floating
        and (variable.shape.rank or variable.name.startswith(below))
    }
    return [kept[name] for name in sorted(kept)]


def _loss_scale(applications: Sequence[Application]) -> Optional[Any]:
    """Of the first application that has one which can be read."""
    scales = (readable(one.loss_scale) for one in applications)
    return next((scale for scale in scales if scale is not None), None)


def _conditions(
    applications: Sequence[Application], needed: Set[Any], results: Sequence[Any]
) -> Iterator[Condition]:
    if not any(True for one in applications for _ in conditions(one.context)):
        return
    from_gradients = descendants(results, needed)
    for update, application in enumerate(applications):
        for branch in conditions(application.context):
            predicate = _fetchable(branch.pred)
            if predicate.op not in from_gradients and _is_at_hand(predicate, needed):
                yield Condition(update, predicate, bool(branch.branch))


def _fetchable(predicate: Any) -> Any:
    """What a cond was given: its own copy of that cannot be fetched."""
    while predicate.op.type == "Identity" and not predicate.graph.is_fetchable(predicate.op):
        predicate = predicate.op.inputs[0]
    return predicate


def _is_summary(operation: Any) -> bool:
    """Gradients are computed for summaries, too, by runs that train nothing."""
    return any(tensor.dtype == tf.string for tensor in operation.outputs)


def _losses(graph: Any, calls: Any, name: Optional[str], needed: Set[Any]) -> List[Any]:
    if name is not None:
        tensor = named_tensor(graph, name)
        tensors = [] if tensor is None else [tensor]
    else:
        tensors = list(dict.fromkeys(call.loss for call in calls))
    return [loss for loss in tensors if loss.op in needed and is_unconditional(loss.op)]


def _why_no_loss(calls: Any) -> str:
    if not calls:
        return "the run that applies gradients computes none"
    return f"{calls[0].loss.name} is computed in a branch, in a loop, or in another run"


def _gradients(
    applications: Sequence[Application], needed: Set[Any]
) -> Optional[Tuple[Gradient, ...]]:
    gradients = [gradient for one in applications for gradient in one.gradients]
    tensors = [tensor for gradient in gradients for tensor in gradient if tensor is not None]
    if not tensors or not all(_is_at_hand(tensor, needed) for tensor in tensors):
        return None
    return tuple(gradients)


def _is_at_hand(tensor: Any, needed: Set[Any]) -> bool:
    is_constant = tensor.op.type == "Const"
    is_fetchable = tensor.graph.is_fetchable(tensor.op)
    return is_fetchable and is_unconditional(tensor.op) and (tensor.op in needed or is_constant)


def _learning_rate(application: Optional[Application], needed: Set[Any]) -> Optional[Any]:
    if application is None:
        return None
    for rate in learning_rates_of(application.optimizer):
        if not isinstance(rate, tf.Tensor) or _is_at_hand(rate, needed):
            return rate
    return None
