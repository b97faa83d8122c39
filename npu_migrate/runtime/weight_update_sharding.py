"""Each rank updates its share of the variables and sends them to the others."""

from typing import Any, List, Optional

import tensorflow.compat.v1 as tf

from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.engines import current_engine
from npu_migrate.runtime.overflow.source import GradsAndVars


def apply_own_share(
    optimizer: Any,
    grads_and_vars: GradsAndVars,
    global_step: Optional[tf.Variable],
    name: Optional[str],
) -> tf.Operation:
    """Applies the gradients of this rank's variables, then broadcasts each from its owner.

    Args:
      optimizer: the optimizer that applies.
      grads_and_vars: averaged gradients, the same on all ranks, and their variables.
      global_step: see `tf.train.Optimizer.apply_gradients`.
      name: likewise.

    Raises:
      ValueError: there are fewer gradients than ranks, so some rank would have nothing to do.
    """
    pairs = [(gradient, var) for gradient, var in grads_and_vars if gradient is not None]
    ranks = current_ranks()
    owners = owner_of_each([_bytes(var) for _, var in pairs], ranks.size)
    own = [pair for pair, owner in zip(pairs, owners) if owner == ranks.rank]
    applied = optimizer.apply_gradients(own, global_step, name)
    sent: List[tf.Operation] = [applied]
    for (_, var), owner in zip(pairs, owners):
        with tf.control_dependencies(sent):
            value = current_engine().broadcast(_value(var), owner)
            sent = [tf.group(tf.assign(var, value))]
    return tf.group(*sent)


def owner_of_each(sizes: List[int], ranks: int) -> List[int]:
    """Divides variables, in order, among ranks so that each gets about the same.

    Args:
      sizes: size of each variable, in any unit.
      ranks: number of ranks; each gets at least one variable.

    Raises:
      ValueError: there are fewer variables than ranks.
    """
    if len(sizes) < ranks:
        raise ValueError(
            f"weight update sharding needs a gradient for each rank, but there are {len(sizes)} "
            f"gradients for {ranks} ranks"
        )
    owners: List[int] = []
    owner, filled, remaining = 0, 0, sum(sizes)
    for index, size in enumerate(sizes):
        ranks_left = ranks - owner
        has_its_share = filled + size / 2 > remaining / ranks_left
        others_need_the_rest = len(sizes) - index == ranks_left - 1
        if filled and ranks_left > 1 and (has_its_share or others_need_the_rest):
            owner, remaining, filled = owner + 1, remaining - filled, 0
        owners.append(owner)
        filled += size
    return owners


def _bytes(var: Any) -> int:
    return var.shape.num_elements() * var.dtype.base_dtype.size


def _value(var: Any) -> tf.Tensor:
    return var.read_value() if hasattr(var, "read_value") else tf.identity(var)
