import tensorflow as tf
from npu_bridge.npu_init import *


def create_optimizer(loss, manager):
    global_step = tf.train.get_or_create_global_step()
    optimizer = AdamWeightDecayOptimizer(0.1)
    if get_npu_rank_size() > 1:
        optimizer = NPUDistributedOptimizer(optimizer)
        optimizer = NPULossScaleOptimizer(optimizer, manager, is_distributed=True)
    else:
        optimizer = NPULossScaleOptimizer(optimizer, manager)
    tvars = tf.trainable_variables()
    grads_and_vars = optimizer.compute_gradients(loss, tvars)
    grads, tvars = list(zip(*grads_and_vars))
    (clipped_grads, _) = tf.clip_by_global_norm(
        grads, clip_norm=1.0, use_norm=tf.global_norm(grads)
    )
    train_op = optimizer.apply_gradients(list(zip(clipped_grads, tvars)), global_step=global_step)
    return train_op


class AdamWeightDecayOptimizer(tf.train.Optimizer):
    def __init__(self, learning_rate):
        super(AdamWeightDecayOptimizer, self).__init__(False, "Adam")
        self.learning_rate = learning_rate

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        assignments = []
        for grad, param in grads_and_vars:
            assignments.extend([param.assign(param - self.learning_rate * grad)])
        new_global_step = global_step + 1
        new_global_step = tf.identity(new_global_step, name="step_update")
        assignments.extend([global_step.assign(new_global_step)])
        return tf.group(*assignments, name=name)
