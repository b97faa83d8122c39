"""The smallest training: one weight, whose gradient is fed."""

import numpy as np
import tensorflow.compat.v1 as tf

LEARNING_RATE = 0.125


class ToyTraining:
    """`weight` starts at 1 and falls by 0.125 with every step that is applied.

    Args:
      wrap: makes the optimizer to train with of an inner one.
      manager: its loss-scale manager.
      disturb: what happens to the fed gradient on its way; by default nothing.
      overflow: what is fed as gradient to make a step overflow.
    """

    def __init__(self, wrap, manager, disturb=tf.identity, overflow=np.inf):
        self.manager = manager
        self.overflow = overflow
        self.fed = tf.placeholder(tf.float32, [])
        self.weight = tf.get_variable("weight", initializer=1.0)
        self.global_step = tf.train.get_or_create_global_step()
        self.optimizer = wrap(tf.train.GradientDescentOptimizer(LEARNING_RATE))
        self.grads_and_vars = self.optimizer.compute_gradients(self.weight * disturb(self.fed))
        self.train_op = self.optimizer.apply_gradients(self.grads_and_vars, self.global_step)

    def trace(self, pattern):
        """Trains one step for each character, '1' for an overflow; what is seen after each.

        Returns:
          Three lists: loss scale, global step, weight.
        """
        seen = []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for character in pattern:
                self.step(session, character == "1")
                seen.append(self.state(session))
        return [list(column) for column in zip(*seen)]

    def step(self, session, overflows=False):
        """Trains one step."""
        session.run(self.train_op, {self.fed: self.overflow if overflows else 1.0})

    def state(self, session):
        """Loss scale, global step and weight now."""
        fetches = [self.manager.get_loss_scale(), self.global_step, self.weight]
        return tuple(float(value) for value in session.run(fetches))
