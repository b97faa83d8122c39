"""The vendor's optimizers for Keras."""

from typing import Any, Dict, List, Tuple, Union

import tensorflow.compat.v1 as tf
from tensorflow.python.keras.optimizer_v2 import optimizer_v2

from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.gradient_averaging import average
from npu_migrate.runtime.overflow.source import Gradient


class KerasDistributeOptimizer(optimizer_v2.OptimizerV2):
    """Averages the gradients of a Keras optimizer over the ranks.

    Args:
      optimizer: a `tf.keras.optimizers` optimizer, whose `get_gradients` is replaced.
      name: name of this optimizer.
      **kwargs: see `tf.keras.optimizers.Optimizer`.

    Source: `KerasDistributeOptimizer` of the vendor's package.
    """

    def __init__(self, optimizer: Any, name: str = "NpuKerasOptimizer", **kwargs: Any):
        super().__init__(name, **kwargs)
        self._optimizer = optimizer
        local_gradients = optimizer.get_gradients
        optimizer.get_gradients = lambda loss, params: _average_all(
            local_gradients(loss, params), name
        )

    def get_updates(self, loss: tf.Tensor, params: List[Any]) -> List[Any]:
        """See base class; done by the inner optimizer."""
        return self._optimizer.get_updates(loss, params)

    def apply_gradients(self, grads_and_vars: Any, name: Any = None) -> Any:
        """See base class; done by the inner optimizer."""
        return self._optimizer.apply_gradients(grads_and_vars, name)

    def get_config(self) -> Dict[str, Any]:
        """See base class."""
        return dict(super().get_config(), optimizer=self._optimizer)

    def _compute_gradients(self, loss: Any, var_list: Any, grad_loss: Any = None) -> Any:
        pairs = self._optimizer._compute_gradients(loss, var_list, grad_loss)
        return _average_pairs(pairs, self._name)


def npu_distributed_optimizer_wrapper(optimizer: Union[str, Any]) -> Any:
    """Makes an optimizer average its gradients over the ranks, by replacing its methods.

    Args:
      optimizer: a `tf.train` or `tf.keras` optimizer, or the name of a Keras one ('sgd').

    Returns:
      The same optimizer.

    Source: `npu_distributed_optimizer_wrapper` of the vendor's package.
    """
    if isinstance(optimizer, str):
        optimizer = tf.keras.optimizers.get(optimizer)
    scope = "Npu_Distributed_optimizer"
    for method in ("compute_gradients", "_compute_gradients"):
        if hasattr(optimizer, method):
            setattr(optimizer, method, _averaging_pairs(getattr(optimizer, method), scope))
    if hasattr(optimizer, "get_gradients"):
        local_gradients = optimizer.get_gradients
        optimizer.get_gradients = lambda loss, params: _average_all(
            local_gradients(loss, params), scope
        )
    return optimizer


def _averaging_pairs(compute: Any, scope: str) -> Any:
    return lambda *args, **kwargs: _average_pairs(compute(*args, **kwargs), scope)


def _average_pairs(pairs: Any, scope: str) -> List[Tuple[Gradient, Any]]:
    pairs = list(pairs)
    averaged = _average_all([gradient for gradient, _ in pairs], scope)
    return [(gradient, var) for gradient, (_, var) in zip(averaged, pairs)]


def _average_all(gradients: List[Gradient], scope: str) -> List[Gradient]:
    if current_ranks().size == 1:
        return gradients
    with tf.name_scope(scope + "_Allreduce"):
        return [None if gradient is None else average(gradient) for gradient in gradients]
