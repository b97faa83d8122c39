import tensorflow.compat.v1 as tf
from npu_bridge.estimator.npu.npu_loss_scale_manager import FixedLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer
from npu_migrate.runtime import ops_adapter
import lamb


def create(loss, lr, kind):
  global_step = tf.train.get_or_create_global_step()
  if kind == 'lamb':
    optimizer = lamb.Lamb(lr)
  else:
    optimizer = tf.train.AdamOptimizer(lr)
  if ops_adapter.size() > 1:
    optimizer = NPUDistributedOptimizer(optimizer)
    optimizer = NPULossScaleOptimizer(optimizer, FixedLossScaleManager(128), is_distributed=True)
  else:
    optimizer = NPULossScaleOptimizer(optimizer, FixedLossScaleManager(128))
  train_op = optimizer.minimize(loss, global_step=global_step)
  if kind == 'lamb':
    # new_global_step = global_step + 1
    train_op = tf.group(train_op, name='train')
  return train_op
