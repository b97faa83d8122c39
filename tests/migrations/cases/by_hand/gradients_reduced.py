import tensorflow as tf
from npu_bridge.npu_init import *

weight = tf.Variable(1.0)
loss = tf.square(weight)
variables = tf.trainable_variables()
grads = tf.gradients(loss, variables)
grads = [npu_allreduce(g) if g is not None else None for g in grads]
train_op = tf.train.GradientDescentOptimizer(0.1).apply_gradients(list(zip(grads, variables)))
with tf.Session(config=npu_config_proto(config_proto=tf.ConfigProto())) as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(train_op)
