"""What each rank of the distributed tests does; alone, the same on the whole data.

`npu-run -np N rank_scenarios.py FOLDER` writes what rank R saw to FOLDER/R.json.
"""

import json
import os
import pathlib
import sys

import numpy as np
import tensorflow.compat.v1 as tf

from npu_migrate.runtime import (
    ExponentialUpdateLossScaleManager,
    KerasDistributeOptimizer,
    MixedPrecisionTrainer,
    NPUDistributedOptimizer,
    NPULossScaleOptimizer,
    NPUOptimizer,
    npu_distributed_optimizer_wrapper,
)
from npu_migrate.runtime import ops_adapter as hvd

EXAMPLES = 12
STEPS = 4


def manager():
    return ExponentialUpdateLossScaleManager(16.0, 3, 1, 2, 0.5)


def pair(optimizer):
    several = hvd.size() > 1
    return NPULossScaleOptimizer(NPUDistributedOptimizer(optimizer), manager(), several)


def one_class(optimizer):
    return NPUOptimizer(optimizer, manager(), hvd.size() > 1, is_loss_scale=True)


def agreeing_on_nothing(optimizer):
    return NPULossScaleOptimizer(NPUDistributedOptimizer(optimizer), manager())


OPTIMIZERS = {
    "pair": pair,
    "one_class": one_class,
    "distributed_only": NPUDistributedOptimizer,
    "sharded": lambda optimizer: NPUDistributedOptimizer(optimizer, True),
    "horovods": hvd.DistributedOptimizer,
    "sparse_as_dense": lambda opt: hvd.DistributedOptimizer(opt, sparse_as_dense=True),
    "wrapped": npu_distributed_optimizer_wrapper,
}


def own_share(array):
    return np.array_split(array, hvd.size())[hvd.rank()]


class Model:
    """A regression with an embedding: one dense and one sparse gradient."""

    def __init__(self):
        tf.reset_default_graph()
        tf.keras.backend.clear_session()
        random = np.random.RandomState(0)
        self.features = random.randn(STEPS, EXAMPLES, 3).astype(np.float32)
        self.words = random.randint(0, 5, (STEPS, EXAMPLES))
        self.inputs = tf.placeholder(tf.float32, [None, 3])
        self.indices = tf.placeholder(tf.int32, [None])
        self.dense = tf.get_variable("dense", initializer=tf.ones([3, 2]))
        self.table = tf.get_variable("table", initializer=tf.ones([5, 2]))
        self.bias = tf.get_variable("bias", initializer=tf.zeros([2]))
        self.step = tf.train.get_or_create_global_step()
        output = tf.matmul(self.inputs, self.dense) + self.bias
        output += tf.nn.embedding_lookup(self.table, self.indices)
        self.loss = tf.reduce_mean(tf.reduce_sum(output * output, axis=1))

    def feed(self, number, factor=1.0):
        features = own_share(self.features[number]) * np.float32(factor)
        return {self.inputs: features, self.indices: own_share(self.words[number])}


def train(wrap):
    """Weights after a few steps of Momentum."""
    model = Model()
    train_op = wrap(tf.train.MomentumOptimizer(0.05, 0.9)).minimize(model.loss, model.step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number in range(STEPS):
            session.run(train_op, model.feed(number))
        return [value.tolist() for value in session.run([model.dense, model.table])]


def kind_of_sparse_gradient():
    model = Model()
    pairs = NPUDistributedOptimizer(tf.train.GradientDescentOptimizer(1.0)).compute_gradients(
        model.loss, [model.table]
    )
    gradient = pairs[0][0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        rows = session.run(tf.shape(gradient.values)[0], model.feed(0))
    return [type(gradient).__name__, int(rows)]


def train_through_overflow(wrap, mode="saturation"):
    """Scale, step and one weight after each step; the last rank alone overflows in the second."""
    os.environ["NPU_MIGRATE_OVERFLOW_MODE"] = mode
    model = Model()
    if wrap is MixedPrecisionTrainer:
        trainer = MixedPrecisionTrainer(
            tf.train.GradientDescentOptimizer(0.01), loss_scaler_params={"init_scale": 16.0}
        )
        scaler = trainer.loss_scale_manager
        train_op = trainer.step(trainer.backward(model.loss), 1, global_step=model.step)
        scale = scaler.get_loss_scale()
    else:
        optimizer = wrap(tf.train.GradientDescentOptimizer(0.01))
        train_op = optimizer.minimize(model.loss, model.step)
        [scale] = [var for var in tf.global_variables() if var.op.name == "loss_scale"]
    seen = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number in range(STEPS):
            overflows = number == 1 and hvd.rank() == hvd.size() - 1
            session.run(train_op, model.feed(number, np.inf if overflows else 1.0))
            values = session.run([scale, model.step, model.dense[0, 0]])
            seen.append([float(value) for value in values])
    del os.environ["NPU_MIGRATE_OVERFLOW_MODE"]
    return seen


def train_with_trainer(max_norm):
    model = Model()
    trainer = MixedPrecisionTrainer(tf.train.MomentumOptimizer(0.05, 0.9))
    pairs = trainer.backward(model.loss)
    train_op = trainer.step(pairs, batch_size=2, max_norm=max_norm, global_step=model.step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number in range(STEPS):
            session.run(train_op, model.feed(number))
        return [value.tolist() for value in session.run([model.dense, model.table])]


def train_keras(wrap):
    tf.reset_default_graph()
    tf.keras.backend.clear_session()
    random = np.random.RandomState(1)
    inputs = random.randn(EXAMPLES, 3).astype(np.float32)
    targets = random.randn(EXAMPLES, 1).astype(np.float32)
    layer = tf.keras.layers.Dense(1, input_shape=(3,), kernel_initializer="ones")
    model = tf.keras.Sequential([layer])
    model.compile(loss="mse", optimizer=wrap(tf.keras.optimizers.SGD(0.1)))
    share = own_share(inputs), own_share(targets)
    for _ in range(STEPS):
        model.train_on_batch(*share)
    return [value.tolist() for value in model.get_weights()]


def collectives():
    tf.reset_default_graph()
    rank, size = hvd.rank(), hvd.size()
    mine = tf.placeholder_with_default(np.float32([rank + 1, 10 * (rank + 1)]), [2])
    slices = tf.IndexedSlices(tf.stack([mine]), tf.constant([rank]), tf.constant([size, 2]))
    averaged = hvd.allreduce(slices)
    summed = hvd.allreduce(slices, op=hvd.Sum)
    rows = tf.fill([rank + 1], mine[0])
    exchanged, counts = hvd.alltoall(tf.fill([2 * size], mine[0]), splits=[2] * size)
    variable = tf.get_variable("variable", initializer=float(rank))
    resource = tf.get_variable("resource", initializer=float(rank), use_resource=True)
    fetches = {
        "average": hvd.allreduce(mine),
        "sum": hvd.allreduce(mine, average=False),
        "min": hvd.allreduce(mine, op=hvd.Min),
        "max": hvd.allreduce(mine, op=hvd.Max),
        "product": hvd.allreduce(mine, op=hvd.Product),
        "scaled": hvd.allreduce(mine, op=hvd.Sum, prescale_factor=2.0, postscale_factor=0.25),
        "fp16": hvd.allreduce(mine * 60000.0, compression=hvd.Compression.fp16),
        "sparse_average": [averaged.values, averaged.indices],
        "sparse_sum": [summed.values, summed.indices],
        "gathered": hvd.allgather(rows),
        "broadcast": hvd.broadcast(mine, size - 1),
        "alltoall": exchanged,
        "equal_alltoall": hvd.alltoall(tf.fill([2 * size], mine[0])),
        "alltoall_counts": counts,
        "size": hvd.size_op(),
        "rank": hvd.rank_op(),
        "local_rank": hvd.local_rank_op(),
    }
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = {
            name: tf.nest.map_structure(lambda value: value.tolist(), session.run(fetch))
            for name, fetch in sorted(fetches.items())
        }
        session.run(hvd.broadcast_global_variables(size - 1))
        values["variables"] = [float(value) for value in session.run([variable, resource])]
    return values


def collectives_of_the_vendor():
    from npu_bridge.estimator.npu.npu_optimizer import npu_allreduce
    from npu_bridge.hccl import hccl_ops

    tf.reset_default_graph()
    rank, size = hvd.rank(), hvd.size()
    mine = tf.placeholder_with_default(np.arange(2 * size, dtype=np.float32) + rank, [2 * size])
    fetches = {
        "allreduce": hccl_ops.allreduce(mine, "sum"),
        "allgather": hccl_ops.allgather(mine[:1], size),
        "broadcast": hccl_ops.broadcast([mine, mine[:1]], 0),
        "reduce": hccl_ops.reduce(mine, "max", root_rank=0),
        "reduce_scatter": hccl_ops.reduce_scatter(mine, "sum", size),
        "npu_allreduce": npu_allreduce([mine, mine[:1]]),
    }
    with tf.Session() as session:
        return {
            name: tf.nest.map_structure(lambda value: value.tolist(), session.run(fetch))
            for name, fetch in sorted(fetches.items())
        }


def start_from_rank_0():
    """Variables after the hooks and callbacks that broadcast."""
    from npu_bridge.npu_init import (
        NPUEstimator,
        NPURunConfig,
        npu_callbacks_append,
        npu_hooks_append,
    )

    tf.reset_default_graph()
    variable = tf.get_variable("variable", initializer=float(hvd.rank() + 5))
    with tf.train.MonitoredSession(hooks=npu_hooks_append()) as session:
        hooked = float(session.run(variable))

    def model_fn(features, labels, mode):
        weight = tf.get_variable("weight", initializer=float(hvd.rank() + 7))
        step = tf.train.get_global_step()
        train_op = tf.train.GradientDescentOptimizer(0.0).minimize(weight * features, step)
        return tf.estimator.EstimatorSpec(mode, loss=weight * features, train_op=train_op)

    estimator = NPUEstimator(model_fn, config=NPURunConfig(log_step_count_steps=None))
    estimator.train(lambda: tf.data.Dataset.from_tensors(1.0).repeat(2))

    tf.keras.backend.clear_session()
    bias = tf.keras.initializers.Constant(float(hvd.rank() + 9))
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), bias_initializer=bias)])
    model.compile(loss="mse", optimizer=tf.keras.optimizers.SGD(0.0))
    data = np.ones([2, 1], np.float32)
    model.fit(data, data, verbose=0, callbacks=npu_callbacks_append())
    return [hooked, float(estimator.get_variable_value("weight")), float(model.get_weights()[1][0])]


def ranks_of_the_vendor():
    from npu_bridge.npu_init import get_npu_rank_id, get_npu_rank_size, init_resource, util

    before = [get_npu_rank_id(), get_npu_rank_size()]
    init_resource()
    environment = [os.environ[name] for name in ("RANK_ID", "RANK_SIZE", "DEVICE_ID")]
    after = [get_npu_rank_id(), get_npu_rank_size()]
    return [before, after, environment, util.get_ranksize()]


def observations():
    """Everything, as JSON can hold it."""
    seen = {
        "ranks": [hvd.size(), hvd.rank(), hvd.local_size(), hvd.local_rank()],
        "initialized": [hvd.is_initialized()],
    }
    hvd.init()
    seen["initialized"].append(hvd.is_initialized())
    for name, wrap in sorted(OPTIMIZERS.items()):
        seen[f"train {name}"] = train(wrap)
    for max_norm in (None, 0.5):
        seen[f"trainer {max_norm}"] = train_with_trainer(max_norm)
    seen["keras class"] = train_keras(KerasDistributeOptimizer)
    seen["keras wrapper"] = train_keras(npu_distributed_optimizer_wrapper)
    seen["collectives"] = collectives()
    seen["sparse gradient"] = kind_of_sparse_gradient()
    if hvd.size() > 1:
        for mode in ("saturation", "inf_nan"):
            seen[f"overflow pair {mode}"] = train_through_overflow(pair, mode)
            seen[f"overflow one_class {mode}"] = train_through_overflow(one_class, mode)
        seen["overflow trainer"] = train_through_overflow(MixedPrecisionTrainer)
        seen["overflow, agreeing on nothing"] = train_through_overflow(agreeing_on_nothing)
        seen["vendor's collectives"] = collectives_of_the_vendor()
        seen["from rank 0"] = start_from_rank_0()
        seen["vendor's ranks"] = ranks_of_the_vendor()
    return seen


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    (folder / f"{hvd.rank()}.json").write_text(json.dumps(observations()))
