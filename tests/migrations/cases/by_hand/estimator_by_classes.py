import tensorflow as tf
from npu_bridge.npu_init import *


def model_fn(features, labels, mode):
    loss = tf.reduce_mean(tf.square(tf.layers.dense(features, 1) - labels))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    optimizer = NPUDistributedOptimizer(optimizer)
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode=mode, loss=loss, train_op=train_op)


def input_fn():
    dataset = tf.data.Dataset.from_tensor_slices((xs, ys))
    dataset = dataset.shard(get_npu_rank_size(), get_npu_rank_id())
    return dataset.repeat().batch(8, drop_remainder=True)


def main(_):
    npu_config = NPURunConfig(
        model_dir=FLAGS.model_dir,
        save_checkpoints_steps=FLAGS.save_checkpoints_steps,
        session_config=tf.ConfigProto(allow_soft_placement=True, log_device_placement=False),
        precision_mode="allow_mix_precision",
    )
    estimator = NPUEstimator(model_fn=model_fn, config=npu_config, model_dir=FLAGS.model_dir)
    estimator.train(input_fn=input_fn, max_steps=100)


if __name__ == "__main__":
    (npu_sess, npu_shutdown) = init_resource()
    main(None)
    shutdown_resource(npu_sess, npu_shutdown)
    close_session(npu_sess)
