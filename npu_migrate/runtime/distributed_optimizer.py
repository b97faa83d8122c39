"""The vendor's optimizer that averages gradients over the ranks."""

from typing import Any, Callable, Optional

import tensorflow.compat.v1 as tf

from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.gradient_averaging import average
from npu_migrate.runtime.inner_optimizer import AroundInnerOptimizer
from npu_migrate.runtime.overflow.saturation import saturated
from npu_migrate.runtime.overflow.source import Gradient, GradsAndVars


class GradientAveragingOptimizer(AroundInnerOptimizer, tf.train.Optimizer):
    """Averages the gradients of an inner optimizer over all ranks.

    Args:
      optimizer: the `tf.train.Optimizer` that computes and applies the gradients.
      name: name of this optimizer.
      average_one: averages one gradient that is not None.
    """

    def __init__(self, optimizer: Any, name: str, average_one: Callable[[Gradient], Gradient]):
        super().__init__(use_locking=False, name=name)
        self._opt = optimizer
        self._average_one = average_one

    def compute_gradients(self, *args: Any, **kwargs: Any) -> GradsAndVars:
        """Computes gradients and averages them.

        Takes the arguments of `tf.train.Optimizer.compute_gradients`.

        Returns:
          Pairs of gradient and variable: dense gradients stay dense, sparse ones sparse with the
          slices of all ranks, None stays None. With one rank, what the inner optimizer computed.
        """
        grads_and_vars = self._opt.compute_gradients(*args, **kwargs)
        if current_ranks().size == 1:
            return grads_and_vars
        with tf.name_scope(self._name + "_Allreduce"):
            return [
                (None if gradient is None else self._average_one(gradient), var)
                for gradient, var in saturated(grads_and_vars)
            ]


class NPUDistributedOptimizer(GradientAveragingOptimizer):
    """Averages gradients over the ranks; with one rank it passes everything through.

    Args:
      optimizer: the `tf.train.Optimizer` that computes and applies the gradients.
      is_weight_update_sharding: whether on the NPU each rank updates only its share of the
        variables and sends them to the others. The weights are the same either way, and off the
        NPU every rank updates all.
      name: name of this optimizer, by default `Distributed` and the class of the inner one.

    Source: `NPUDistributedOptimizer` of the vendor's package.
    """

    def __init__(
        self, optimizer: Any, is_weight_update_sharding: bool = False, name: Optional[str] = None
    ):
        name = name or "Distributed" + type(optimizer).__name__
        super().__init__(optimizer, name, average)
        self._is_weight_update_sharding = is_weight_update_sharding

    def compute_gradients(self, *args: Any, **kwargs: Any) -> GradsAndVars:
        """See base class.

        Raises:
          ValueError: weight update sharding with fewer gradients than ranks.
        """
        grads_and_vars = super().compute_gradients(*args, **kwargs)
        ranks = current_ranks().size
        if self._is_weight_update_sharding and len(grads_and_vars) < ranks > 1:
            raise ValueError(
                f"is_weight_update_sharding needs a gradient for each rank, but there are "
                f"{len(grads_and_vars)} gradients for {ranks} ranks"
            )
        return grads_and_vars
