import tensorflow as tf
from npu_bridge.npu_init import *

strategy = npu_strategy.NPUStrategy()
with strategy.scope():
    weight = tf.Variable(1.0)
    loss = tf.square(weight)
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session(config=npu_config_proto()) as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(train_op)
