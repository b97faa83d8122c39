"""Looks for what is wrong in the graph of a training step though its numbers may be alike.

See `npu_migrate.verify.audits` for what each fact means.
"""

import itertools
import os
import re
from typing import Any, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set

import numpy as np
import tensorflow
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import tensor_util
from tensorflow.python.training.experimental import loss_scale as experimental

import npu_migrate
from npu_migrate.verify.recorder.closure import VARIABLES, closure, conditions
from npu_migrate.verify.recorder.gradients import storage
from npu_migrate.verify.recorder.notes import Application
from npu_migrate.verify.recording import Fact

_WRITES = (
    "Assign",
    "AssignAdd",
    "AssignSub",
    "AssignVariableOp",
    "AssignAddVariableOp",
    "AssignSubVariableOp",
)
_PASSING_ON = ("Identity", "Switch", "RefSwitch", "Enter", "RefEnter", "RefIdentity")
_APPLIES = re.compile(r"^(Resource|Sparse)*Apply|^(Resource)?Scatter|^Assert$|^CheckNumerics$")
_FINITE = ("IsFinite", "IsNan", "IsInf", "CheckNumerics")
_COMPARING = ("Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual")
_LIBRARIES = tuple(os.path.dirname(str(module.__file__)) for module in (tensorflow, npu_migrate))
_CALLING = (
    "gen_math_ops.py",
    "gen_array_ops.py",
    "math_ops.py",
    "numerics.py",
    "op_def_library.py",
    "ops.py",
    "dispatch.py",
    "deprecation.py",
)


class Seen(NamedTuple):
    """What one kind of training run does.

    Attributes:
      needed: operations of the run.
      applications: of gradients, in the run.
      results: operations of the gradients that it computes.
      asked: operations of the gradients, in any run, that an optimizer was asked for.
      global_step: variable, or None.
      ranks: number of processes that train together.
    """

    needed: Set[Any]
    applications: Sequence[Application]
    results: Sequence[Any]
    asked: Sequence[Any]
    global_step: Optional[Any]
    ranks: int


def audit(seen: Seen) -> List[Fact]:
    """The facts of a training run; what can't be looked at is one, too."""
    found: List[Fact] = []
    for look in (_step, _scaling, _sharing, _ranks, _apart, _finite_checks, _known):
        try:
            found += look(seen)
        except Exception as error:
            found.append(Fact("not_audited", f"{look.__name__}: {type(error).__name__}: {error}"))
    return found


# The global step


def _step(seen: Seen) -> Iterator[Fact]:
    if seen.global_step is None or not hasattr(seen.global_step, "op"):
        return
    writers = list(_writers(seen.needed, seen.global_step))
    together = [pair for pair in itertools.combinations(writers, 2) if not _exclude(*pair)]
    if together:
        both = dict.fromkeys(itertools.chain.from_iterable(together))
        yield Fact("several_step_writers", _named(both))
    if writers:
        yield from _step_decides(seen, writers)


def _step_decides(seen: Seen, writers: Sequence[Any]) -> Iterator[Fact]:
    """Whether the step moves only where the step itself says so."""
    from_step = descendants([storage(seen.global_step)], seen.needed)
    from_gradients = descendants(seen.results, seen.needed)
    for writer in writers:
        for context in _conds(writer):
            decided = context.pred.op in from_step and context.pred.op not in from_gradients
            if decided and all(_branch(other, context) == context.branch for other in writers):
                yield Fact("step_decides_update", f"{context.pred.name} is computed from the step")


def _writers(operations: Iterable[Any], variable: Any) -> Iterator[Any]:
    place = storage(variable)
    initializer = getattr(variable, "initializer", None)
    for operation in operations:
        if operation.type in _WRITES and operation is not initializer:
            if _origin(operation.inputs[0]) is place:
                yield operation


def _origin(tensor: Any) -> Any:
    operation = tensor.op
    while operation.type in _PASSING_ON:
        operation = operation.inputs[0].op
    return operation


# Loss scaling


def _scalers(application: Application) -> List[Any]:
    """Optimizers around an application that scale the loss, outermost first."""
    names = ("_loss_scale_manager", "_loss_scale")
    return [
        one for one in application.around if any(vars(one).get(name) is not None for name in names)
    ]


def _scaling(seen: Seen) -> Iterator[Fact]:
    for application in seen.applications:
        scalers = _scalers(application)
        if any(not _is_of_npu(scaler) for scaler in scalers):
            yield Fact("scaler_not_of_npu", ", ".join(map(_class, scalers)))
        if any(_averages(one) for one in _before(application.around, scalers[:1])):
            yield Fact("averaged_after_unscaling", ", ".join(map(_class, application.around)))
        if len(scalers) > 1:
            names = ", ".join(map(_class, scalers))
            yield Fact("scaler_stacked", f"{names} around {_class(application.optimizer)}")
        if scalers and application.gradients:
            yield from _unscaled(application, _origins(application.loss_scale, seen.asked))


def _origins(scale: Any, asked: Sequence[Any]) -> Optional[Set[Any]]:
    """Operations of which one is behind every gradient that was scaled; None if that can't be told.

    A manager may make another tensor each time that it is asked, so variables below it count. What
    is scaled by a number shows by who computed it.
    """
    if isinstance(scale, (int, float)):
        return set(asked)
    if isinstance(scale, tf.Variable):
        return {storage(scale)}
    if not isinstance(scale, tf.Tensor):
        return None
    variables = {one for one in closure([scale.op]) if one.type in VARIABLES}
    origins = variables or {_origin(scale)}
    is_used = any(tensor.consumers() for one in origins for tensor in one.outputs)
    return origins if is_used else None


def _unscaled(application: Application, origins: Optional[Set[Any]]) -> Iterator[Fact]:
    if origins is None:
        return
    gradients = [gradient.values for gradient in application.gradients]
    graph = gradients[0].graph
    scaled = descendants(origins, None, through=_accumulators(graph, gradients))
    missed = [gradient for gradient in gradients if gradient.op not in scaled]
    if missed:
        yield Fact(
            "scaler_not_above_gradients",
            f"{len(missed)} of {len(gradients)} gradients, such as {missed[0].name}, "
            f"do not come from the scaled loss",
        )


def _accumulators(graph: Any, gradients: Sequence[Any]) -> Set[Any]:
    """Variables that may hold gradients from one run to the next, one each or all in one."""
    has_scalar = any(gradient.shape.rank == 0 for gradient in gradients)
    trainable = {storage(v) for v in graph.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES)}
    variables = graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)
    variables += graph.get_collection(tf.GraphKeys.LOCAL_VARIABLES)
    return {
        storage(variable)
        for variable in variables
        if (variable.shape.rank or has_scalar) and storage(variable) not in trainable
    }


def _sharing(seen: Seen) -> Iterator[Fact]:
    scaled = [(one, _scalers(one)[0]) for one in seen.applications if _scalers(one)]
    for (one, first), (other, second) in itertools.combinations(scaled, 2):
        if one.done is None or other.done is None or _exclude(one.done, other.done):
            continue
        managers = [vars(scaler).get("_loss_scale_manager") for scaler in (first, second)]
        names = f"{_class(one.optimizer)} and {_class(other.optimizer)}"
        if managers[0] is not None and managers[0] is managers[1]:
            yield Fact("manager_shared", f"{_class(managers[0])}, by the scalers of {names}")
        if all(_is_of_npu(scaler) for scaler in (first, second)):
            yield Fact("overflow_shared", f"the scalers of {names}")


def _ranks(seen: Seen) -> Iterator[Fact]:
    for application in seen.applications:
        for scaler in _scalers(application):
            if seen.ranks > 1 and _is_of_npu(scaler) and not vars(scaler)["_is_distributed"]:
                yield Fact("ranks_judge_apart", f"{_class(scaler)} without is_distributed=True")


def _apart(seen: Seen) -> Iterator[Fact]:
    """Whether several processes train the same thing, and each for itself."""
    if seen.ranks > 1 and not any(_is_collective(operation) for operation in seen.needed):
        yield Fact("ranks_apart", f"no gradients or weights go between the {seen.ranks} processes")


def _is_collective(operation: Any) -> bool:
    return bool(operation.type.startswith(("Horovod", "Hcom", "Collective", "Nccl")))


def _before(optimizers: Sequence[Any], scalers: Sequence[Any]) -> Sequence[Any]:
    """The optimizers around the outermost that scales the loss."""
    return optimizers[: optimizers.index(scalers[0])] if scalers else ()


def _averages(optimizer: Any) -> bool:
    names = {base.__name__ for base in type(optimizer).__mro__}
    return not names.isdisjoint(("NPUDistributedOptimizer", "_DistributedOptimizer"))


def _class(instance: Any) -> str:
    return type(instance).__name__


def _is_of_npu(scaler: Any) -> bool:
    return "_is_distributed" in vars(scaler)


def _finite_checks(seen: Seen) -> Iterator[Fact]:
    """Checks of gradients that have a say in what the run changes, or in whether it goes on."""
    from_gradients = descendants(seen.results, seen.needed)
    decisive = _decisive(seen.needed)
    checks = [one for one in decisive if one in from_gradients and _is_finite_check(one)]
    places = sorted({place for place in map(_place_in_script, checks) if place})
    if places:
        yield Fact("finite_check_decides", "", tuple(places[:3]))


def _is_finite_check(operation: Any) -> bool:
    if operation.type not in _COMPARING:
        return operation.type in _FINITE
    first, second = operation.inputs
    return first is second or any(map(_is_infinite, (first, second)))


def _is_infinite(tensor: Any) -> bool:
    value = tensor_util.constant_value(tensor) if tensor.op.type == "Const" else None
    is_number = value is not None and tensor.dtype.is_floating and np.ndim(value) == 0
    return bool(is_number and np.isinf(value))


def _decisive(operations: Set[Any]) -> Set[Any]:
    """Those operations whose numbers get into a variable, or decide whether others do."""
    pending = [one for one in operations if one.type in _WRITES or _APPLIES.search(one.type)]
    found = set(pending)
    while pending:
        operation = pending.pop()
        deciding = [context.pred.op for context in _conds(operation)]
        for needed in (*(tensor.op for tensor in operation.inputs), *deciding):
            if needed in operations and needed not in found:
                found.add(needed)
                pending.append(needed)
    return found


def _place_in_script(operation: Any) -> str:
    """Where the script itself made an operation; nothing if a library did."""
    for file, line, *_ in reversed(operation.traceback):
        is_library = file.startswith(_LIBRARIES)
        if not (is_library and os.path.basename(file) in _CALLING):
            return "" if is_library else f"{os.path.basename(file)}:{line}"
    return ""


def _known(seen: Seen) -> Iterator[Fact]:
    for application in seen.applications:
        for scaler in _scalers(application):
            if isinstance(vars(scaler).get("_loss_scale"), experimental.FixedLossScale):
                yield Fact("fixed_loss_scale", f"{_class(scaler)} with a FixedLossScale")
    for operation in seen.needed:
        if operation.type == "HorovodAllreduce" and operation.inputs[0].op.type == "Cast":
            if operation.inputs[0].dtype == tf.float16:
                yield Fact("hvd_compression", "gradients are averaged in float16")
                return


# Graphs


def descendants(
    start: Iterable[Any], within: Optional[Set[Any]], through: Iterable[Any] = ()
) -> Set[Any]:
    """The operations that get numbers from some, directly or not, and these themselves.

    Args:
      start: operations.
      within: operations to stay in; None for all of the graph.
      through: variables by which numbers get from the operations that write them to all readers.
    """
    places = set(through)
    found = set(start)
    pending = list(found)
    while pending:
        operation = pending.pop()
        readers = [reader for tensor in operation.outputs for reader in tensor.consumers()]
        if operation.type in _WRITES and _origin(operation.inputs[0]) in places:
            readers.append(_origin(operation.inputs[0]))
        for reader in readers:
            if reader not in found and (within is None or reader in within):
                found.add(reader)
                pending.append(reader)
    return found


def _conds(operation: Any) -> Iterator[Any]:
    return conditions(operation._get_control_flow_context())


def _branch(operation: Any, cond: Any) -> Optional[int]:
    """The branch of a cond that an operation is in."""
    return next((c.branch for c in _conds(operation) if c.pred is cond.pred), None)


def _exclude(one: Any, other: Any) -> bool:
    """Whether two operations are in the two branches of one cond."""
    branches = {context.pred: context.branch for context in _conds(one)}
    return any(
        context.pred in branches and branches[context.pred] != context.branch
        for context in _conds(other)
    )


def _named(operations: Iterable[Any]) -> str:
    return ", ".join(sorted(operation.name for operation in operations))
