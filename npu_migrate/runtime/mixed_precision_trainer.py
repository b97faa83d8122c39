"""Loss scaling, clipping and normalising in one multiplication a gradient."""

from typing import Any, Dict, List, Optional, Sequence, Union

import tensorflow.compat.v1 as tf

from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.dynamic_loss_scale import DynamicLossScaleManager, StaticLossScaleManager
from npu_migrate.runtime.global_norm import grad_global_norm
from npu_migrate.runtime.gradient_averaging import average
from npu_migrate.runtime.overflow.choice import npu_register
from npu_migrate.runtime.overflow.gradient_finiteness import all_finite
from npu_migrate.runtime.overflow.ranks import is_clear_on_all_ranks
from npu_migrate.runtime.overflow.source import Gradient, GradsAndVars
from npu_migrate.runtime.skipped_steps import SkippedSteps
from npu_migrate.runtime.training_step import apply_unless_overflow


class MixedPrecisionTrainer:
    """Trains with a scaled loss and skips steps that overflow.

        trainer = MixedPrecisionTrainer(tf.train.AdamOptimizer(1e-4))
        grads_and_vars = trainer.backward(loss)
        train_op = trainer.step(grads_and_vars, batch_size=1, max_norm=1.0, global_step=step)

    Sparse gradients stay sparse. On several ranks, gradients are averaged over them, so that an
    overflow on one rank makes all skip.

    Args:
      optimizer: a `tf.train.Optimizer`, not a distributed one. If it has an attribute
        `supports_nan_check` that is true, it checks its gradients itself and is always called.
      dynamic_loss_scale: whether the scale is a `DynamicLossScaleManager`'s, else it is a
        `StaticLossScaleManager`'s.
      loss_scaler_params: arguments of the manager, as in `{"init_scale": 2.0**15}`.

    Source: `FP16Trainer` in `fp16_utils.py` of the BERT scripts of GluonNLP.
    """

    def __init__(
        self,
        optimizer: Any,
        dynamic_loss_scale: bool = True,
        loss_scaler_params: Optional[Dict[str, Any]] = None,
    ):
        manager = DynamicLossScaleManager if dynamic_loss_scale else StaticLossScaleManager
        self._optimizer = optimizer
        self.loss_scale_manager = manager(**(loss_scaler_params or {}))
        self._register = npu_register()
        self._skipped = SkippedSteps()
        self._checks_itself = bool(getattr(optimizer, "supports_nan_check", False))

    def backward(
        self,
        loss: Union[tf.Tensor, Sequence[tf.Tensor]],
        var_list: Optional[List[Any]] = None,
    ) -> GradsAndVars:
        """Computes the gradients of the scaled loss.

        Args:
          loss: a scalar, or several, whose sum is trained.
          var_list: the variables to train, by default all trainable ones.

        Returns:
          Pairs of gradient and variable. The gradients are still multiplied by the loss scale.
        """
        losses: List[Any] = list(loss) if isinstance(loss, (list, tuple)) else [loss]
        scale = self.loss_scale_manager.get_loss_scale()
        scaled = [one * tf.cast(scale, one.dtype) for one in losses]
        total = scaled[0] if len(scaled) == 1 else tf.add_n(scaled)
        return self._optimizer.compute_gradients(total, var_list)

    def step(
        self,
        grads_and_vars: GradsAndVars,
        batch_size: Any,
        max_norm: Any = None,
        global_step: Optional[tf.Variable] = None,
    ) -> tf.Operation:
        """Applies the gradients of `backward`, unless they overflowed.

        Args:
          grads_and_vars: what `backward` returned.
          batch_size: how many examples this rank's loss is a sum over; 1 if it is their mean.
            A number or a scalar tensor.
          max_norm: largest 2-norm of all gradients together, before the division by the batch
            size; a number or a float32 scalar. None for no clipping.
          global_step: variable that the optimizer increases by one when it applies.

        Returns:
          The operation of one training step.
        """
        pairs = list(grads_and_vars)
        status = self._register and self._register.status([gradient for gradient, _ in pairs])
        pairs = _averaged(pairs)
        gradients = [gradient for gradient, _ in pairs]
        scale = tf.identity(self.loss_scale_manager.get_loss_scale())
        divisor = scale * tf.cast(batch_size, tf.float32)
        if max_norm is None:
            finite = all_finite(gradients)
        else:
            norm = grad_global_norm(gradients, scale * tf.cast(max_norm, tf.float32))
            divisor *= norm.ratio
            finite = norm.is_finite
        if status is not None:
            finite = tf.logical_and(finite, is_clear_on_all_ranks(status))
        factor = tf.math.reciprocal(divisor)

        def apply() -> tf.Operation:
            ready = [(_multiplied(gradient, factor), var) for gradient, var in pairs]
            return tf.group(self._optimizer.apply_gradients(ready, global_step=global_step))

        with tf.control_dependencies([factor]):
            finite = tf.identity(finite)
        return apply_unless_overflow(
            finite, apply, self.loss_scale_manager, self._skipped, self._checks_itself
        )


def _averaged(grads_and_vars: GradsAndVars) -> GradsAndVars:
    if current_ranks().size == 1:
        return grads_and_vars
    return [
        (None if gradient is None else average(gradient), var) for gradient, var in grads_and_vars
    ]


def _multiplied(gradient: Gradient, factor: tf.Tensor) -> Gradient:
    if gradient is None:
        return None
    if isinstance(gradient, tf.IndexedSlices):
        values = _multiplied(gradient.values, factor)
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    if gradient.dtype.base_dtype == tf.float32:
        return gradient * factor
    wide = tf.cast(gradient, tf.float32) * factor
    return tf.cast(wide, gradient.dtype.base_dtype)
