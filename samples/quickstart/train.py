"""Fits a line with dynamic loss scaling, as one would on a GPU."""

from __future__ import print_function

import numpy as np
import tensorflow as tf

flags = tf.flags
FLAGS = flags.FLAGS

flags.DEFINE_integer("steps", 100, "How many steps to train.")
flags.DEFINE_float("loss_scale", 0, "A fixed loss scale, or 0 for a dynamic one.")


def build(x, y):
    """The loss and the training op."""
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(w * x + b - y))

    opt = tf.train.MomentumOptimizer(0.05, 0.9)  # plain momentum does
    if FLAGS.loss_scale:
        manager = tf.contrib.mixed_precision.FixedLossScaleManager(FLAGS.loss_scale)
    else:
        manager = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(
            init_loss_scale=2 ** 15, incr_every_n_steps=1000,
            decr_every_n_nan_or_inf=2, decr_ratio=0.5)
    opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, manager)
    return loss, opt.minimize(loss, global_step=tf.train.get_or_create_global_step())


def main(_):
    data = np.random.RandomState(1)
    x = tf.placeholder(tf.float32, [None])
    y = tf.placeholder(tf.float32, [None])
    loss, train = build(x, y)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(FLAGS.steps):
            batch = data.uniform(-1, 1, 32)
            value, _ = session.run([loss, train], {x: batch, y: 3 * batch + 1})
            if step % 10 == 0:
                print("step", step, "loss", value)


if __name__ == "__main__":
    tf.app.run()
