import tensorflow as tf
from npu_bridge.npu_init import *

optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
if FLAGS.loss_scale == 0:
    manager = ExponentialUpdateLossScaleManager(
        init_loss_scale=2**32, incr_every_n_steps=1000, decr_every_n_nan_or_inf=2, decr_ratio=0.5
    )
elif FLAGS.loss_scale >= 1:
    manager = FixedLossScaleManager(loss_scale=FLAGS.loss_scale)
else:
    raise ValueError(FLAGS.loss_scale)
if int(os.getenv("RANK_SIZE", "1")) > 1:
    optimizer = NPUDistributedOptimizer(optimizer)
    optimizer = NPULossScaleOptimizer(optimizer, manager, is_distributed=True)
else:
    optimizer = NPULossScaleOptimizer(optimizer, manager)
loss = tf.square(tf.Variable(1.0))
train_op = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
