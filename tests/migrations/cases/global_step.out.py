"""Training op with its own optimizer, which leaves the global step to the caller."""
import tensorflow as tf
from npu_bridge.estimator.npu.npu_loss_scale_manager import FixedLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer
from npu_migrate.runtime import ops_adapter


def build_train_op(loss, lr, clip_by_global_norm, loss_scale):
  step = tf.train.get_or_create_global_step()
  opt = DecayedMomentum(lr)
  manager = FixedLossScaleManager(loss_scale)
  if ops_adapter.size() > 1:
    opt = NPUDistributedOptimizer(opt)
    opt = NPULossScaleOptimizer(opt, manager, is_distributed=True)
  else:
    opt = NPULossScaleOptimizer(opt, manager)
  tvars = tf.trainable_variables()
  grads_and_vars = opt.compute_gradients(loss, tvars)
  grads = [g for g, _ in grads_and_vars]
  # all_are_finite = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g in grads])
  clipped, _ = tf.clip_by_global_norm(
      grads, clip_norm=1.0,
      use_norm=tf.global_norm(grads))
  train_op = opt.apply_gradients(list(zip(clipped, tvars)), global_step=step)

  # The optimizer above does not move the step.
  # if clip_by_global_norm:
  #   new_step = tf.cond(all_are_finite, lambda: step + 1, lambda: step)
  # else:
  #   new_step = step + 1
  # new_step = tf.identity(new_step, name='step_update')
  # train_op = tf.group(train_op, [step.assign(new_step)])
  return train_op


class DecayedMomentum(tf.train.Optimizer):

  def __init__(self, lr, decay=0.01, name='DecayedMomentum'):
    super(DecayedMomentum, self).__init__(False, name)
    self.lr = lr
    self.decay = decay

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    updates = []
    for grad, var in grads_and_vars:
      if grad is None:
        continue
      updates.append(var.assign(var - self.lr * (grad + self.decay * var)))
    if global_step is not None:
      with tf.control_dependencies(updates):
        updates.append(tf.assign_add(global_step, 1))
    return tf.group(*updates, name=name)
