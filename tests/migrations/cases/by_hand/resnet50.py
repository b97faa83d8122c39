import tensorflow as tf
from hccl.manage.api import get_rank_id
from hccl.manage.api import get_rank_size
from npu_bridge.estimator import npu_ops
from npu_bridge.estimator.npu.npu_config import NPURunConfig
from npu_bridge.estimator.npu.npu_estimator import NPUEstimator
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer
from npu_bridge.hccl import hccl_ops
from tensorflow.core.protobuf import rewriter_config_pb2


def input_fn(is_training, filenames, batch_size):
    dataset = tf.data.Dataset.from_tensor_slices(filenames)
    if is_training:
        dataset = dataset.shard(get_rank_size(), get_rank_id())
    return dataset.batch(batch_size, drop_remainder=True)


def model_fn(features, labels, mode, params):
    if features.dtype != params["dtype"]:
        features = tf.cast(features, params["dtype"])
    logits = tf.layers.dense(features, 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    optimizer = NPUDistributedOptimizer(tf.train.MomentumOptimizer(0.1, 0.9))
    train_op = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    accuracy = tf.metrics.accuracy(tf.cast(labels, tf.float32), tf.argmax(logits, 1))
    rank_size = get_rank_size()
    newaccuracy = (hccl_ops.allreduce(accuracy[0], "sum") / rank_size, accuracy[1])
    metrics = {"accuracy": newaccuracy}
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)


def init_npu():
    npu_init = npu_ops.initialize_system()
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.remapping = rewriter_config_pb2.RewriterConfig.OFF
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes("allow_mix_precision")
    custom_op.parameter_map["use_off_line"].b = True
    init_sess = tf.Session(config=config)
    return init_sess, npu_init


def main(_):
    init_sess, npu_init = init_npu()
    init_sess.run(npu_init)
    run_config = NPURunConfig(
        model_dir="out",
        session_config=tf.ConfigProto(allow_soft_placement=True),
        save_checkpoints_steps=115200,
        enable_data_pre_proc=True,
        iterations_per_loop=100,
        precision_mode="allow_mix_precision",
        hcom_parallel=True,
    )
    classifier = NPUEstimator(model_fn=model_fn, model_dir="out", config=run_config)
    classifier.train(input_fn=lambda: input_fn(True, [], 32), max_steps=10)


if __name__ == "__main__":
    tf.app.run(main)
