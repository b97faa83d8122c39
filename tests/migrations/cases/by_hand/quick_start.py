import tensorflow as tf
from npu_bridge.npu_init import *

total = tf.add(tf.random_normal([4]), tf.random_uniform([4]))
config = tf.ConfigProto(allow_soft_placement=True)
custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
custom_op.name = "NpuOptimizer"
config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
config.graph_options.rewrite_options.memory_optimization = RewriterConfig.OFF
with tf.Session(config=config) as sess:
    print(sess.run(total))
