import tensorflow as tf
from npu_bridge.estimator.npu.npu_loss_scale_manager import FixedLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer
from npu_migrate.runtime import ops_adapter


class Inherits(tf.train.Optimizer):
  """Overrides only the per-variable hooks: apply_gradients of the base class moves the step."""

  def _apply_dense(self, grad, var):
    return var.assign_sub(0.1 * grad)


class MovesIt(tf.train.Optimizer):
  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    ops = [v.assign_sub(0.1 * g) for g, v in grads_and_vars]
    if global_step is not None:
      ops.append(tf.assign_add(global_step, 1))
    return tf.group(*ops)


class Leaves(tf.train.Optimizer):
  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    apply_op = tf.group(*[v.assign_sub(0.1 * g) for g, v in grads_and_vars])
    if global_step is not None:
      with tf.control_dependencies([apply_op]):
        return tf.group(tf.assign_add(global_step, 1), name=name)
    return apply_op


def counted_twice(loss, step):
  opt = Inherits(False, 'inherits')
  if ops_adapter.size() > 1:
    opt = NPUDistributedOptimizer(opt)
    opt = NPULossScaleOptimizer(opt, FixedLossScaleManager(8), is_distributed=True)
  else:
    opt = NPULossScaleOptimizer(opt, FixedLossScaleManager(8))
  train_op = opt.minimize(loss, global_step=step)
  return train_op


def in_control_dependencies(self, loss):
  opt = Leaves(False, 'leaves')
  if ops_adapter.size() > 1:
    opt = NPUDistributedOptimizer(opt)
    opt = NPULossScaleOptimizer(opt, FixedLossScaleManager(8), is_distributed=True)
  else:
    opt = NPULossScaleOptimizer(opt, FixedLossScaleManager(8))
  train_op = opt.apply_gradients(opt.compute_gradients(loss), global_step=self.global_step)
  # with tf.control_dependencies([train_op]):
  #   self.train_op = tf.assign_add(self.global_step, 1)
  self.train_op = train_op


def nothing_to_do(loss, step):
  opt = MovesIt(False, 'moves')
  if ops_adapter.size() > 1:
    opt = NPUDistributedOptimizer(opt)
    opt = NPULossScaleOptimizer(opt, FixedLossScaleManager(8), is_distributed=True)
  else:
    opt = NPULossScaleOptimizer(opt, FixedLossScaleManager(8))
  return opt.minimize(loss, global_step=step)


def no_loss_scaling(loss, step):
  train_op = Leaves(False, 'plain').minimize(loss, global_step=step)
  return train_op
