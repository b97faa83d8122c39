"""The vendor's loss-scaling optimizer."""

from typing import Any, Iterable, Optional, Sequence, Tuple

import tensorflow.compat.v1 as tf
from tensorflow.contrib.mixed_precision.python import loss_scale_optimizer as contrib

from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.inner_optimizer import AroundInnerOptimizer
from npu_migrate.runtime.log import log
from npu_migrate.runtime.managers import FixedLossScaleManager
from npu_migrate.runtime.overflow import choose_overflow_source
from npu_migrate.runtime.overflow.ranks import is_clear_on_all_ranks
from npu_migrate.runtime.overflow.source import Gradient, GradsAndVars
from npu_migrate.runtime.skipped_steps import SkippedSteps
from npu_migrate.runtime.training_step import apply_unless_overflow


class NPULossScaleOptimizer(AroundInnerOptimizer, contrib.LossScaleOptimizer):
    """Scales the loss, unscales the gradients, and skips steps that overflow.

    `compute_gradients` multiplies the loss by the loss scale and divides the gradients by it.
    `apply_gradients` applies them with the inner optimizer if no rank overflowed, and otherwise
    changes neither weights nor global step; either way the manager learns of it. As with the
    vendor's optimizer, and with the one of `tf.contrib`, sparse gradients become dense.

    Each optimizer has its own overflow state, except on the NPU itself, where all share one
    register.

    Args:
      opt: a `tf.train.Optimizer`; for training on several ranks an `NPUDistributedOptimizer`.
      loss_scale_manager: any `tf.contrib.mixed_precision.LossScaleManager`.
      is_distributed: whether several ranks train together, and so must agree on what overflowed.

    Raises:
      ValueError: `is_distributed` with a single process.

    Source: `NPULossScaleOptimizer` of the vendor's package.
    """

    def __init__(self, opt: Any, loss_scale_manager: Any, is_distributed: bool = False):
        _check_ranks(is_distributed)
        super().__init__(opt, loss_scale_manager)
        self._is_distributed = is_distributed
        self._name = "NPULossScaleOptimizer" + type(opt).__name__
        self._overflow = choose_overflow_source()
        self._skipped = SkippedSteps()
        self._is_minimizing = False

    def __getattr__(self, name: str) -> Any:
        if name == "_opt":  # asked before __init__, as copy and pickle do
            raise AttributeError(name)
        return getattr(self._opt, name)

    def minimize(self, *args: Any, **kwargs: Any) -> tf.Operation:
        """See `tf.train.Optimizer`."""
        self._is_minimizing = True
        try:
            return super().minimize(*args, **kwargs)
        finally:
            self._is_minimizing = False

    def compute_gradients(self, *args: Any, **kwargs: Any) -> GradsAndVars:
        """Computes the gradients of the scaled loss, divided by the scale.

        Takes the arguments of `tf.train.Optimizer.compute_gradients`.

        Returns:
          Pairs of gradient and variable. Gradients are dense, of their variable's shape and dtype,
          or None.
        """
        with self._overflow.observing():
            return super().compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[Tuple[Gradient, Any]],
        global_step: Optional[tf.Variable] = None,
        name: Optional[str] = None,
    ) -> tf.Operation:
        """Applies the gradients unless there was an overflow.

        Args:
          grads_and_vars: pairs of gradient and variable; an iterator will do.
          global_step: variable that the inner optimizer increases by one when it applies.
          name: passed on to the inner optimizer.

        Returns:
          The operation of one training step.
        """
        grads_and_vars = list(grads_and_vars)
        finite = self._no_overflow([gradient for gradient, _ in grads_and_vars])
        return apply_unless_overflow(
            finite,
            lambda: self._opt.apply_gradients(grads_and_vars, global_step, name),
            self._loss_scale_manager,
            self._skipped,
        )

    def _down_scale(self, grads_vars: GradsAndVars, loss_scale: tf.Tensor) -> GradsAndVars:
        unscaled = super()._down_scale(grads_vars, loss_scale)
        nobody_sees = self._is_minimizing and current_ranks().size == 1
        if nobody_sees and self._checks_overflow():
            return unscaled
        return self._overflow.as_computed(unscaled, unscale=tf.math.reciprocal(loss_scale))

    def _no_overflow(self, gradients: Sequence[Gradient]) -> tf.Tensor:
        if self._overflow.is_register and not self._checks_overflow():
            return tf.constant(True)
        status = self._overflow.status(gradients)
        if self._overflow.is_register and self._is_distributed:
            return is_clear_on_all_ranks(status)
        return tf.reduce_all(tf.equal(status, 0), name="no_overflow")

    def _checks_overflow(self) -> bool:
        manager = self._loss_scale_manager
        return not isinstance(manager, FixedLossScaleManager) or manager.get_enable_overflow_check()


def _check_ranks(is_distributed: bool) -> None:
    size = current_ranks().size
    if is_distributed and size == 1:
        raise ValueError(
            "is_distributed=True, but there is only one process (RANK_SIZE is 1 or not set), and "
            "on the NPU training would fail: pass is_distributed=ops_adapter.size() > 1"
        )
    if not is_distributed and size > 1:
        log.warning(
            "%d processes, but is_distributed=False: each rank judges overflows alone, and their "
            "weights will drift apart",
            size,
        )
