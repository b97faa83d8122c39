"""A script for GPUs, before its migration: Horovod by three styles of training.

`horovodrun ... horovod_script.py FOLDER` writes the results of rank R to FOLDER/R.json.
"""

import json
import os
import sys

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

EXAMPLES = 8
STEPS = 4


class Model:
    def __init__(self, overflows=False):
        tf.reset_default_graph()
        examples = np.random.RandomState(0).randn(STEPS * EXAMPLES, 3).astype(np.float32)
        if overflows and hvd.rank() == hvd.size() - 1:
            examples[EXAMPLES : 2 * EXAMPLES] = np.inf
        dataset = tf.data.Dataset.from_tensor_slices(examples).shard(hvd.size(), hvd.rank())
        inputs = dataset.batch(EXAMPLES // hvd.size()).make_one_shot_iterator().get_next()
        start = np.float32([1.0, 2.0, 3.0]) * (hvd.rank() + 1)
        self.step = tf.train.get_or_create_global_step()
        self.weights = tf.get_variable("weights", initializer=start)
        self.loss = tf.reduce_mean(tf.square(tf.reduce_sum(inputs * self.weights, axis=1)))


def with_session():
    model = Model()
    opt = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(0.05, 0.9))
    train_op = opt.minimize(model.loss, global_step=model.step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(hvd.broadcast_global_variables(0))
        for _ in range(STEPS):
            session.run(train_op)
        return session.run([model.step, model.weights])


def by_hand(overflows=False):
    model = Model(overflows)
    opt = tf.train.MomentumOptimizer(0.05, 0.9)
    tvars = tf.trainable_variables()
    grads = tf.gradients(model.loss, tvars)
    grads = [hvd.allreduce(grad) for grad in grads]
    train_op = opt.apply_gradients(zip(grads, tvars), global_step=model.step)
    start = hvd.broadcast_variables(tf.global_variables(), root_rank=0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(start)
        for _ in range(STEPS):
            session.run(train_op)
        return session.run([model.step, model.weights])


class Last(tf.train.SessionRunHook):
    def __init__(self, fetches):
        self.fetches = fetches

    def end(self, session):
        self.seen = session.run(self.fetches)


def with_hooks():
    model = Model()
    opt = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(0.05, 0.9))
    train_op = opt.minimize(model.loss, global_step=model.step)
    last = Last([model.step, model.weights])
    hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(last_step=STEPS), last]
    with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
        while not session.should_stop():
            session.run(train_op)
    return last.seen


def main():
    hvd.init()
    results = {
        "session": with_session(),
        "by hand": by_hand(),
        "hooks": with_hooks(),
        "overflow": by_hand(overflows=True),
    }
    results = {name: [int(s), w.tolist()] for name, (s, w) in results.items()}
    with open(os.path.join(sys.argv[1], f"{hvd.rank()}.json"), "w") as file:
        json.dump(results, file)


if __name__ == "__main__":
    main()
