import tensorflow as tf
from npu_bridge.npu_init import *


def broadcast_global_variables(root_rank):
    op_list = []
    for var in tf.trainable_variables():
        if "float" in var.dtype.name:
            outputs = hccl_ops.broadcast(tensor=[var], root_rank=root_rank)
            if outputs is not None:
                op_list.append(outputs[0].op)
                op_list.append(tf.assign(var, outputs[0]))
    return tf.group(op_list)


def main(_):
    (npu_sess, npu_shutdown) = init_resource()
    rank_size, rank_id = get_npu_rank_size(), get_npu_rank_id()
    dataset = tf.data.Dataset.range(100).shard(rank_size, rank_id)
    dataset = dataset.batch(8, drop_remainder=True)
    iterator = tf.data.Iterator.from_structure(dataset.output_types, dataset.output_shapes)
    value = iterator.get_next()
    start = iterator.make_initializer(dataset)
    weight = tf.Variable(1.0)
    loss = tf.reduce_mean(weight * tf.cast(value, tf.float32))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    optimizer = npu_distributed_optimizer_wrapper(optimizer)
    train_op = optimizer.minimize(loss)
    config = tf.ConfigProto(allow_soft_placement=True)
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes("allow_mix_precision")
    config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
    config.graph_options.rewrite_options.memory_optimization = RewriterConfig.OFF
    sess = tf.Session(config=config)
    sess.run(tf.global_variables_initializer())
    sess.run(broadcast_global_variables(0))
    sess.run(start)
    for _ in range(10):
        sess.run(train_op)
    sess.close()
    shutdown_resource(npu_sess, npu_shutdown)
    close_session(npu_sess)


if __name__ == "__main__":
    tf.app.run()
