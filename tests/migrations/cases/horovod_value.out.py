import os
import tensorflow as tf
from npu_bridge.estimator.npu.npu_hook import NPUBroadcastGlobalVariablesHook
from npu_bridge.estimator.npu.npu_loss_scale_manager import ExponentialUpdateLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer
from npu_bridge.npu_init import npu_config_proto
from npu_migrate.runtime import ops_adapter
from npu_migrate.runtime.ops_adapter import Compression

flags = tf.flags
FLAGS = flags.FLAGS
flags.DEFINE_bool('horovod', False, 'several devices')


def create_optimizer(loss, lr, hvd=None, post=False, fp16=False):
    opt = tf.train.MomentumOptimizer(lr, 0.9)
    if hvd is not None and not post:
        opt = NPUDistributedOptimizer(opt)
    if fp16:
        manager = ExponentialUpdateLossScaleManager(2 ** 32, 1000)
        opt = NPULossScaleOptimizer(opt, manager, is_distributed=ops_adapter.size() > 1)
    gvs = opt.compute_gradients(loss)
    if post and hvd is not None:
        gvs = [(hvd.allreduce(g, compression=Compression.none), v) for g, v in gvs]
    return opt.apply_gradients(gvs, global_step=tf.train.get_or_create_global_step())


def main(_):
    if FLAGS.horovod:
        from npu_migrate.runtime import ops_adapter as hvd
        hvd.init()
    config = tf.ConfigProto()
    hooks = []
    if FLAGS.horovod:
        if hvd.size() > 1:
            hooks.append(NPUBroadcastGlobalVariablesHook(0, hvd.rank()))
    w = tf.get_variable('w', [4])
    train = create_optimizer(tf.reduce_sum(w * w), 0.1 * (hvd.size() if FLAGS.horovod else 1),
                             hvd=None if not FLAGS.horovod else hvd, fp16=True)
    with tf.train.MonitoredTrainingSession(config=npu_config_proto(config_proto=config), hooks=hooks) as sess:
        for _ in range(5):
            sess.run(train)


if __name__ == '__main__':
    tf.app.run()
