"""Optimizers for BERT, and the training op.

Adam with decoupled weight decay as in BERT's paper, and LAMB after "Large Batch Optimization for
Deep Learning: Training BERT in 76 minutes", You et al., 2019.
"""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import re

import tensorflow as tf
from npu_bridge.estimator.npu.npu_loss_scale_manager import ExponentialUpdateLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer
from npu_migrate.runtime import ops_adapter

try:
  from npu_migrate.runtime.ops_adapter import Compression
except ImportError:  # trained on one GPU
  Compression = None

flags = tf.flags
FLAGS = flags.FLAGS

flags.DEFINE_float("init_loss_scale", 2.0**32, "Loss scale of the first step.")
flags.DEFINE_integer("loss_scale_window", 1000,
                     "After how many good steps the loss scale is doubled.")
flags.DEFINE_bool("fp16_allreduce", False, "Average gradients over the GPUs in float16.")


def create_optimizer(loss, init_lr, num_train_steps, num_warmup_steps, hvd=None,
                     manual_fp16=False, use_fp16=False, num_accumulation_steps=1,
                     optimizer_type="adam", allreduce_post_accumulation=False):
  """Creates the training op.

  Args:
    loss: scalar to minimize.
    init_lr: learning rate at the end of the warm-up, from where it falls to 0.
    num_train_steps: steps until the learning rate is 0.
    num_warmup_steps: steps until it is `init_lr`.
    hvd: the module `horovod.tensorflow` when several GPUs train together.
    manual_fp16: whether the model computes in float16, so that the loss must be scaled.
    use_fp16: whether TensorFlow shall rewrite the graph for mixed precision.
    num_accumulation_steps: how many batches make one step.
    optimizer_type: "adam" or "lamb".
    allreduce_post_accumulation: whether gradients are averaged over the GPUs once a step instead
      of once a batch.

  Returns:
    An operation that trains on one batch.
  """
  global_step = tf.train.get_or_create_global_step()
  learning_rate = create_learning_rate(global_step, init_lr, num_train_steps, num_warmup_steps)

  if optimizer_type == "lamb":
    optimizer = LAMBOptimizer(
        learning_rate, weight_decay_rate=0.01,
        exclude_from_weight_decay=["LayerNorm", "bias"])
  elif optimizer_type == "adam":
    optimizer = AdamWeightDecayOptimizer(
        learning_rate, weight_decay_rate=0.01,
        exclude_from_weight_decay=["LayerNorm", "bias"])
  else:
    raise ValueError("Unknown optimizer: %s" % optimizer_type)

  compression = None
  if hvd is not None:
    compression = Compression.fp16 if FLAGS.fp16_allreduce else Compression.none
  if hvd is not None and (num_accumulation_steps == 1 or not allreduce_post_accumulation):
    optimizer = NPUDistributedOptimizer(optimizer)

  if use_fp16:
    loss_scaler = ExponentialUpdateLossScaleManager(
        init_loss_scale=FLAGS.init_loss_scale,
        incr_every_n_steps=FLAGS.loss_scale_window,
        incr_ratio=2.0, decr_every_n_nan_or_inf=1, decr_ratio=0.5)
    optimizer = NPULossScaleOptimizer(optimizer, loss_scaler, is_distributed=ops_adapter.size() > 1)
    tf.identity(loss_scaler.get_loss_scale(), name="current_loss_scale_value")
  elif manual_fp16:
    loss_scale_manager = ExponentialUpdateLossScaleManager(
        init_loss_scale=FLAGS.init_loss_scale,
        incr_every_n_steps=FLAGS.loss_scale_window,
        decr_every_n_nan_or_inf=2,
        decr_ratio=0.5)
    optimizer = NPULossScaleOptimizer(optimizer, loss_scale_manager, is_distributed=ops_adapter.size() > 1)
    tf.identity(loss_scale_manager.get_loss_scale(), name="current_loss_scale_value")

  tvars = tf.trainable_variables()
  grads_and_vars = optimizer.compute_gradients(loss / num_accumulation_steps, tvars)
  # The gradient of the word embeddings is sparse; only a dense one has the right norm, since a
  # word that occurs twice has two slices.
  grads_and_vars = [(tf.convert_to_tensor(g), v) for g, v in grads_and_vars if g is not None]
  grads, tvars = list(zip(*grads_and_vars))

  # if use_fp16 or manual_fp16:
  #   all_are_finite = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g in grads])
  # else:
  #   all_are_finite = tf.constant(True)
  # A norm that is not finite would turn every gradient into NaN.
  (clipped_grads, _) = tf.clip_by_global_norm(
      grads, clip_norm=1.0,
      use_norm=tf.global_norm(grads))

  if num_accumulation_steps > 1:
    local_step = tf.get_variable("local_step", [], tf.int32, tf.zeros_initializer(),
                                 trainable=False)
    # batch_finite = tf.get_variable("batch_finite", [], tf.bool, tf.ones_initializer(),
    #                                trainable=False)
    accum_vars = [
        tf.get_variable(get_variable_name(v) + "/accum", v.shape.as_list(), tf.float32,
                        tf.zeros_initializer(), trainable=False) for v in tvars]

    is_first = tf.equal(local_step % num_accumulation_steps, 0)
    with tf.control_dependencies([is_first]):
      local_step = local_step.assign_add(1)
    is_last = tf.equal(local_step % num_accumulation_steps, 0)

    # batch_finite = tf.cond(
    #     is_first,
    #     lambda: batch_finite.assign(all_are_finite),
    #     lambda: batch_finite.assign(tf.logical_and(batch_finite, all_are_finite)))
    accums = tf.cond(
        is_first,
        lambda: [a.assign(g) for a, g in zip(accum_vars, clipped_grads)],
        lambda: [a.assign_add(g) for a, g in zip(accum_vars, clipped_grads)])

    def update(accums):
      if hvd is not None and allreduce_post_accumulation:
        accums = [hvd.allreduce(a, compression=compression) for a in accums]
      return optimizer.apply_gradients(list(zip(accums, tvars)), global_step=global_step)

    update_op = tf.cond(is_last, lambda: update(accums), lambda: tf.no_op())

    # if hvd is not None and allreduce_post_accumulation:
    #   # One GPU may overflow alone; gradients that are averaged already are the same on all.
    #   batch_finite = tf.equal(hvd.allreduce(tf.cast(batch_finite, tf.float32)), 1.0)
    # new_global_step = tf.cond(
    #     tf.logical_and(is_last, batch_finite), lambda: global_step + 1, lambda: global_step)
    # new_global_step = tf.identity(new_global_step, name="step_update")
    train_op = update_op
    with tf.control_dependencies([train_op]):
      step_update = tf.identity(global_step.read_value(), name='step_update')
    train_op = tf.group(train_op, step_update)
  else:
    train_op = optimizer.apply_gradients(
        list(zip(clipped_grads, tvars)), global_step=global_step)

    # if use_fp16 or manual_fp16:
    #   new_global_step = tf.cond(all_are_finite, lambda: global_step + 1, lambda: global_step)
    # else:
    #   new_global_step = global_step + 1
    # new_global_step = tf.identity(new_global_step, name="step_update")
    # train_op = tf.group(train_op, [global_step.assign(new_global_step)])
    with tf.control_dependencies([train_op]):
      step_update = tf.identity(global_step.read_value(), name='step_update')
    train_op = tf.group(train_op, step_update)
  return train_op


def create_learning_rate(global_step, init_lr, num_train_steps, num_warmup_steps):
  """Rises in a line from 0 to `init_lr`, and falls in a line to 0 at the last step."""
  learning_rate = tf.train.polynomial_decay(
      init_lr, global_step, num_train_steps, end_learning_rate=0.0, power=1.0)
  if num_warmup_steps:
    step = tf.cast(global_step, tf.float32)
    warmup_learning_rate = init_lr * step / num_warmup_steps
    learning_rate = tf.where(step < num_warmup_steps, warmup_learning_rate, learning_rate)
  return learning_rate


class AdamWeightDecayOptimizer(tf.train.Optimizer):
  """Adam with decoupled weight decay, and without bias correction."""

  def __init__(self, learning_rate, weight_decay_rate=0.0, beta_1=0.9, beta_2=0.999,
               epsilon=1e-6, exclude_from_weight_decay=None, name="AdamWeightDecayOptimizer"):
    super(AdamWeightDecayOptimizer, self).__init__(False, name)
    self.learning_rate = tf.identity(learning_rate, name="learning_rate")
    self.weight_decay_rate = weight_decay_rate
    self.beta_1 = beta_1
    self.beta_2 = beta_2
    self.epsilon = epsilon
    self.exclude_from_weight_decay = exclude_from_weight_decay or []

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    """See base class, but for the step: the caller moves it."""
    assignments = []
    for grad, param in grads_and_vars:
      if grad is None or param is None:
        continue
      m = create_slot(param, "adam_m")
      v = create_slot(param, "adam_v")

      next_m = self.beta_1 * m + (1.0 - self.beta_1) * grad
      next_v = self.beta_2 * v + (1.0 - self.beta_2) * tf.square(grad)
      update = next_m / (tf.sqrt(next_v) + self.epsilon)
      # Decay beside Adam: in the loss it would go into m and v.
      if decays(param, self.weight_decay_rate, self.exclude_from_weight_decay):
        update += self.weight_decay_rate * param

      next_param = param - self.learning_rate * update
      assignments.extend([param.assign(next_param), m.assign(next_m), v.assign(next_v)])
    if global_step is not None:
      with tf.control_dependencies(assignments):
        assignments.append(tf.assign_add(global_step, 1))
    return tf.group(*assignments, name=name)


class LAMBOptimizer(tf.train.Optimizer):
  """Adam with a learning rate for each layer, after the norm of its weights."""

  def __init__(self, learning_rate, weight_decay_rate=0.0, beta_1=0.9, beta_2=0.999,
               epsilon=1e-6, exclude_from_weight_decay=None, name="LAMBOptimizer"):
    super(LAMBOptimizer, self).__init__(False, name)
    self.learning_rate = tf.identity(learning_rate, name="learning_rate")
    self.weight_decay_rate = weight_decay_rate
    self.beta_1 = beta_1
    self.beta_2 = beta_2
    self.epsilon = epsilon
    self.exclude_from_weight_decay = exclude_from_weight_decay or []

  def apply_gradients(self, grads_and_vars, global_step, name=None):
    """See base class, but for the step: the caller moves it."""
    assignments = []
    steps = tf.cast(global_step + 1, tf.float32)
    for grad, param in grads_and_vars:
      if grad is None or param is None:
        continue
      m = create_slot(param, "lamb_m")
      v = create_slot(param, "lamb_v")

      next_m = self.beta_1 * m + (1.0 - self.beta_1) * grad
      next_v = self.beta_2 * v + (1.0 - self.beta_2) * tf.square(grad)
      unbiased_m = next_m / (1.0 - self.beta_1**steps)
      unbiased_v = next_v / (1.0 - self.beta_2**steps)
      update = unbiased_m / (tf.sqrt(unbiased_v) + self.epsilon)
      if decays(param, self.weight_decay_rate, self.exclude_from_weight_decay):
        update += self.weight_decay_rate * param

      weight_norm = tf.norm(param)
      update_norm = tf.norm(update)
      trust_ratio = tf.where(
          tf.logical_and(weight_norm > 0, update_norm > 0), weight_norm / update_norm, 1.0)
      next_param = param - trust_ratio * self.learning_rate * update
      assignments.extend([param.assign(next_param), m.assign(next_m), v.assign(next_v)])
    with tf.control_dependencies(assignments):
      assignments.append(tf.assign_add(global_step, 1))
    return tf.group(*assignments, name=name)


def create_slot(param, name):
  """A variable of zeros that goes with a parameter."""
  return tf.get_variable(
      get_variable_name(param) + "/" + name, param.shape.as_list(), tf.float32,
      tf.zeros_initializer(), trainable=False)


def decays(param, weight_decay_rate, exclude):
  """Whether the weights of a parameter decay: not if its name matches one of the patterns."""
  name = get_variable_name(param)
  return weight_decay_rate > 0 and not any(re.search(pattern, name) for pattern in exclude)


def get_variable_name(variable):
  """The name of a variable, without the number of its tensor."""
  return re.sub(r":\d+$", "", variable.name)
