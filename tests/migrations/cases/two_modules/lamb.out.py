import tensorflow.compat.v1 as tf


class Lamb(tf.train.Optimizer):
  def __init__(self, lr, name='Lamb'):
    super(Lamb, self).__init__(False, name)
    self.lr = lr

  def apply_gradients(self, grads_and_vars, global_step, name=None):
    steps = tf.cast(global_step + 1, tf.float32)
    ops = []
    for g, v in grads_and_vars:
      ops.extend([v.assign_sub(self.lr * g / (1. + steps))])
    with tf.control_dependencies(ops):
      ops.append(tf.assign_add(global_step, 1))
    return tf.group(*ops, name=name)
