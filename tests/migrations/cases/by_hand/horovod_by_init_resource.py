import tensorflow as tf
from npu_bridge.npu_init import *

(npu_sess, npu_shutdown) = init_resource()

config = tf.ConfigProto()
loss = tf.square(tf.Variable(1.0))
opt = tf.train.AdagradOptimizer(0.01 * get_npu_rank_size())
opt = npu_distributed_optimizer_wrapper(opt)
hooks = [NPUBroadcastGlobalVariablesHook(0)]
train_op = opt.minimize(loss)
checkpoint_dir = "/tmp/train_logs" if get_npu_rank_id() == 0 else None
with tf.train.MonitoredTrainingSession(
    checkpoint_dir=checkpoint_dir, config=npu_config_proto(config_proto=config), hooks=hooks
) as mon_sess:
    while not mon_sess.should_stop():
        mon_sess.run(train_op)
shutdown_resource(npu_sess, npu_shutdown)
close_session(npu_sess)
