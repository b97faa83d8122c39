import tensorflow as tf
from npu_bridge.npu_init import *


def model_fn(features, labels, mode):
    loss = tf.reduce_mean(tf.square(tf.layers.dense(features, 1) - labels))
    optimizer = npu_distributed_optimizer_wrapper(tf.train.GradientDescentOptimizer(0.1))
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode=mode, loss=loss, train_op=train_op)


run_config = tf.estimator.RunConfig(model_dir="out", save_checkpoints_steps=100)
estimator = tf.estimator.Estimator(
    model_fn=model_fn, config=npu_run_config_init(run_config=run_config)
)
estimator.train(input_fn, max_steps=100, hooks=npu_hooks_append(hooks_list=[]))
