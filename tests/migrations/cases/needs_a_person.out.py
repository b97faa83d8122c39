"""Each function holds one thing that must be reported, with its line, and not guessed."""
import tensorflow as tf
from npu_bridge.estimator.npu.npu_loss_scale_manager import ExponentialUpdateLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_manager import FixedLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer
from npu_migrate.runtime import ops_adapter
from tensorflow.contrib import mixed_precision as mp


class OwnScaler(mp.LossScaleOptimizer):
    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        finite = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g, _ in grads_and_vars])
        return tf.cond(finite, lambda: self._opt.apply_gradients(grads_and_vars, global_step), tf.no_op)


def gan(g_loss, d_loss, sess):
    g = NPULossScaleOptimizer(NPUDistributedOptimizer(tf.train.AdamOptimizer(1e-4)) if ops_adapter.size() > 1 else tf.train.AdamOptimizer(1e-4), FixedLossScaleManager(64), is_distributed=ops_adapter.size() > 1).minimize(g_loss)
    d = NPULossScaleOptimizer(NPUDistributedOptimizer(tf.train.AdamOptimizer(1e-4)) if ops_adapter.size() > 1 else tf.train.AdamOptimizer(1e-4), FixedLossScaleManager(64), is_distributed=ops_adapter.size() > 1).minimize(d_loss)
    return sess.run([g, d])


def by_hand(loss, params, scale):
    grads = [g / scale for g in tf.gradients(loss * scale, params)]
    bad = tf.reduce_any([tf.reduce_any(tf.is_nan(g)) for g in grads])
    return tf.cond(bad, lambda: tf.no_op(), lambda: tf.group(*[p.assign_sub(g) for p, g in zip(params, grads)]))


def unknown_scale(opt, scale):
    return tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, scale)


def inside_dependencies(loss):
    manager = ExponentialUpdateLossScaleManager(2 ** 15, 1000)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        return NPULossScaleOptimizer(NPUDistributedOptimizer(tf.train.AdamOptimizer()) if ops_adapter.size() > 1 else tf.train.AdamOptimizer(), manager, is_distributed=ops_adapter.size() > 1).minimize(loss)


def keras_amp():
    return tf.train.experimental.enable_mixed_precision_graph_rewrite(tf.keras.optimizers.SGD(0.1))
