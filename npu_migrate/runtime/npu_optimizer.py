"""The vendor's optimizer that averages and scales in one class."""

from typing import Any, Optional

import tensorflow.compat.v1 as tf

from npu_migrate.runtime.distributed_optimizer import NPUDistributedOptimizer
from npu_migrate.runtime.inner_optimizer import AroundInnerOptimizer
from npu_migrate.runtime.loss_scale_optimizer import NPULossScaleOptimizer
from npu_migrate.runtime.overflow.source import GradsAndVars


class NPUOptimizer(AroundInnerOptimizer, tf.train.Optimizer):
    """Averages gradients over the ranks, scales the loss, or both.

    Args:
      opt: the `tf.train.Optimizer` that computes and applies the gradients.
      loss_scale_manager: any `tf.contrib.mixed_precision.LossScaleManager`, for loss scaling.
      is_distributed: whether several ranks train together.
      is_loss_scale: whether the loss is scaled.
      is_tailing_optimization: order of communication on the NPU; changes no result, and is
        without effect elsewhere.
      name: name of this optimizer, by default `NPUOptimizer` and the class of the inner one.

    Raises:
      ValueError: `is_loss_scale` without a manager, or with `is_distributed` on one process.

    Source: `NPUOptimizer` of the vendor's package.
    """

    def __init__(
        self,
        opt: Any,
        loss_scale_manager: Any = None,
        is_distributed: bool = False,
        is_loss_scale: bool = False,
        is_tailing_optimization: bool = False,
        name: Optional[str] = None,
    ):
        if is_loss_scale and loss_scale_manager is None:
            raise ValueError("is_loss_scale=True needs a loss_scale_manager")
        super().__init__(use_locking=False, name=name or "NPUOptimizer" + type(opt).__name__)
        del is_tailing_optimization
        self._opt = NPUDistributedOptimizer(opt) if is_distributed else opt
        if is_loss_scale:
            self._opt = NPULossScaleOptimizer(self._opt, loss_scale_manager, is_distributed)

    def compute_gradients(self, *args: Any, **kwargs: Any) -> GradsAndVars:
        """See `tf.train.Optimizer`; the gradients are averaged and unscaled."""
        return self._opt.compute_gradients(*args, **kwargs)
