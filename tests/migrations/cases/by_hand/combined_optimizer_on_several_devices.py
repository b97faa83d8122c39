import tensorflow as tf
from npu_bridge.npu_init import *

optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
manager = FixedLossScaleManager(loss_scale=128)
optimizer = NPUOptimizer(
    optimizer,
    loss_scale_manager=manager,
    is_distributed=get_npu_rank_size() > 1,
    is_loss_scale=True,
    is_tailing_optimization=False,
)
loss = tf.square(tf.Variable(1.0))
train_op = optimizer.minimize(loss)
