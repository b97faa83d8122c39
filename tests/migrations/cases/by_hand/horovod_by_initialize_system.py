import tensorflow as tf
from npu_bridge.npu_init import *
from hccl.manage.api import get_rank_id, get_rank_size

npu_init = npu_ops.initialize_system()
npu_shutdown = npu_ops.shutdown_system()
config = tf.ConfigProto(allow_soft_placement=True)
custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
custom_op.name = "NpuOptimizer"
config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
config.graph_options.rewrite_options.memory_optimization = RewriterConfig.OFF
init_sess = tf.Session(config=config)
init_sess.run(npu_init)

loss = tf.square(tf.Variable(1.0))
opt = tf.train.AdagradOptimizer(0.01 * get_rank_size())
opt = npu_distributed_optimizer_wrapper(opt)
hooks = [NPUBroadcastGlobalVariablesHook(0, int(os.getenv("RANK_ID", "0")))]
train_op = opt.minimize(loss)
checkpoint_dir = "/tmp/train_logs" if get_rank_id() == 0 else None
with tf.train.MonitoredTrainingSession(
    checkpoint_dir=checkpoint_dir, config=config, hooks=hooks
) as mon_sess:
    while not mon_sess.should_stop():
        mon_sess.run(train_op)
init_sess.run(npu_shutdown)
init_sess.close()
