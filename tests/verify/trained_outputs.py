"""Small trainings, and bad migrations of them that only show when they train."""

from textwrap import dedent, indent
from typing import NamedTuple

START = '''\
import sys

import numpy as np
import tensorflow as tf
{imports}

class Decay(tf.train.Optimizer):
    """Leaves the step to others."""

    def __init__(self, rate):
        super(Decay, self).__init__(False, "Decay")
        self.rate = rate

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        updates = [v.assign_sub(self.rate * g) for g, v in grads_and_vars]
        return tf.group(*updates, name=name)


class MovingDecay(Decay):
    """Moves the step itself."""

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        updates = [v.assign_sub(self.rate * g) for g, v in grads_and_vars]
        with tf.control_dependencies(updates):
            return tf.group(global_step.assign_add(1), name=name)


def build(loss, gs):
{build}

def main():
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.placeholder(tf.float32, [None, 1])
    predicted = tf.layers.dense(tf.layers.dense(x, 4, tf.nn.tanh), 1)
    loss = tf.losses.mean_squared_error(y, predicted)
    train = build(loss, tf.train.get_or_create_global_step())
    random = np.random.RandomState(7)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(6):
            batch = random.rand(8, 3)
            session.run([train, loss], {{x: batch, y: batch.sum(1, keepdims=True)}})


main()
'''
CONTRIB = """\
mp = tf.contrib.mixed_precision
try:
    import horovod.tensorflow as hvd
except ImportError:
    hvd = None
else:
    hvd.init()
"""
BRIDGE = """\
from npu_bridge.estimator.npu.npu_loss_scale_manager import ExponentialUpdateLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_manager import FixedLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer
"""


class Pair(NamedTuple):
    """What `build` is before and after a migration."""

    original: str
    migrated: str

    def write(self, folder):
        """The two scripts, written to a folder."""
        scripts = []
        for name, imports, build in zip(self._fields, (CONTRIB, BRIDGE), self):
            script = folder / f"{name}.py"
            body = indent(dedent(build), "    ")
            script.write_text(START.format(imports=imports, build=body))
            scripts.append(str(script))
        return scripts


ADAM = "tf.train.AdamOptimizer(0.01)"
SCALED = """
manager = mp.ExponentialUpdateLossScaleManager(64, 2, 1, decr_ratio=0.5)
opt = mp.LossScaleOptimizer({}, manager)
return opt.minimize(loss, gs)
"""
EXPERIMENTAL = """
scale = tf.train.experimental.{}
opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(tf.train.AdamOptimizer(0.01), scale)
return opt.minimize(loss, gs)
"""
NPU_SCALED = """
manager = {}
opt = NPULossScaleOptimizer(tf.train.AdamOptimizer(0.01), manager)
return opt.minimize(loss, gs)
"""
STEP_BY_CLASS = """
opt = Decay(0.1)
{}
train = opt.apply_gradients(opt.compute_gradients(loss), global_step=gs)
if isinstance(opt, Decay):
    train = tf.group(train, gs.assign(gs + 1))
return train
"""
FINITE_STEP = """
opt = {}
pairs = opt.compute_gradients(loss)
finite = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g, _ in pairs])
train = opt.apply_gradients(pairs)
return tf.group(train, gs.assign(tf.cond(finite, lambda: gs + 1, lambda: gs)))
"""
MICRO_BATCHES = """
opt = {opt}
kept, pairs = [], opt.compute_gradients(loss)
for g, v in pairs:
    kept.append(tf.Variable(tf.zeros(v.shape), trainable=False))
with tf.control_dependencies([k.assign_add(g) for k, (g, _) in zip(kept, pairs)]):
    def apply():
        update = opt.apply_gradients([(k.read_value(), v) for k, (_, v) in zip(kept, pairs)]{step})
        with tf.control_dependencies([update]):
            return tf.group(*[k.assign(tf.zeros(k.shape)) for k in kept])
    update = tf.cond(tf.equal(gs % 2, 1), apply, tf.no_op)
{after}
"""
CLIPPED = """
opt = {}
grads, tvars = zip(*opt.compute_gradients(loss))
pairs = zip(grads, tvars)
{}
train = opt.apply_gradients(pairs)
with tf.control_dependencies([train]):
    return tf.group(gs.assign_add(1))
"""
BY_HAND = """
opt = {}
scale = 1024.0
pairs = [(g / scale, v) for g, v in opt.compute_gradients(loss * scale)]
return opt.apply_gradients(pairs, gs)
"""
REWRITTEN = """
opt = tf.train.experimental.enable_mixed_precision_graph_rewrite({}, 1024.0)
return opt.minimize(loss, gs)
"""
KERAS = """
tf.keras.backend.clear_session()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
model.compile(loss="mse", optimizer={})
model.fit(np.ones((4, 3)), np.ones((4, 1)), epochs=3, verbose=0)
sys.exit()
"""
EMBEDDED = """
table = tf.get_variable("table", [3, 2], initializer=tf.ones_initializer())
rows = tf.nn.embedding_lookup(table, [tf.cast(gs, tf.int32) % 3])
opt = tf.train.MomentumOptimizer(0.1, {momentum})
opt = {scaled}
return opt.minimize(loss + tf.reduce_sum(rows), gs)
"""
MOMENTUM = "tf.train.MomentumOptimizer(0.1, 0.9)"
DECAYED = "tf.contrib.opt.MomentumWOptimizer(3e-7, 0.003, 0.9)"
COUNTING = """
train = {}.minimize(loss)
with tf.control_dependencies([train]):
    return tf.group(gs.assign_add(1))
"""
NORMALISED = """
shifted = tf.layers.batch_normalization(tf.random_uniform([8, 2]), training=True)
loss += tf.reduce_mean(shifted)
with tf.control_dependencies({}):
    return tf.train.AdamOptimizer(0.01).minimize(loss, gs)
"""
SLOW = """
opt = {optimizer}
return opt.minimize({loss}, gs)
"""
DECAYING = "tf.contrib.opt.AdamWOptimizer(2e-7, 2e-5, epsilon={})"
USUAL = DECAYING.format(1e-6)
CONTRIB_FIXED = "mp.LossScaleOptimizer({}, mp.FixedLossScaleManager(8))"
NPU_FIXED = "NPULossScaleOptimizer({}, FixedLossScaleManager(8))"
EXPERIMENTAL_FIXED = "tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, 8.)"

PAIRS = {
    "step by isinstance": Pair(
        STEP_BY_CLASS.format(""),
        STEP_BY_CLASS.format("opt = " + NPU_FIXED.format("opt")),
    ),
    "scale mapped by defaults": Pair(
        EXPERIMENTAL.format("DynamicLossScale(64, 100)"),
        NPU_SCALED.format("ExponentialUpdateLossScaleManager(64, 100)"),
    ),
    "stricter fixed scale": Pair(
        EXPERIMENTAL.format("FixedLossScale(8)"), NPU_SCALED.format("FixedLossScaleManager(8)")
    ),
    "sparse gradients": Pair(
        EMBEDDED.format(momentum=0.9, scaled=EXPERIMENTAL_FIXED),
        EMBEDDED.format(momentum=0.9, scaled=NPU_FIXED.format("opt")),
    ),
    "sparse gradients and another momentum": Pair(
        EMBEDDED.format(momentum=0.9, scaled=EXPERIMENTAL_FIXED),
        EMBEDDED.format(momentum=0.8, scaled=NPU_FIXED.format("opt")),
    ),
    "sparse gradients and a dropped decay": Pair(
        EMBEDDED.format(momentum=0.9, scaled=EXPERIMENTAL_FIXED).replace(MOMENTUM, DECAYED),
        EMBEDDED.format(momentum=0.9, scaled=NPU_FIXED.format("opt")).replace(
            MOMENTUM, "tf.train.MomentumOptimizer(0.003, 0.9)"
        ),
    ),
    "stricter fixed scale and a step that counts all": Pair(
        EXPERIMENTAL.format("FixedLossScale(8)"),
        COUNTING.format(NPU_FIXED.format(ADAM)),
    ),
    "loss scale left out": Pair(
        SCALED.format(ADAM), f"opt = {ADAM}\nreturn opt.minimize(loss, gs)"
    ),
    "statistics left out": Pair(
        NORMALISED.format("tf.get_collection(tf.GraphKeys.UPDATE_OPS)"), NORMALISED.format("[]")
    ),
    "nothing scaled": Pair(*[f"return {ADAM}.minimize(loss, gs)"] * 2),
    "step by a blind finite check": Pair(
        FINITE_STEP.format(CONTRIB_FIXED.format(ADAM)), FINITE_STEP.format(NPU_FIXED.format(ADAM))
    ),
    "step counts micro batches": Pair(
        MICRO_BATCHES.format(
            opt=CONTRIB_FIXED.format(ADAM),
            step="",
            after="with tf.control_dependencies([update]):\n    return tf.group(gs.assign(gs + 1))",
        ),
        MICRO_BATCHES.format(opt=NPU_FIXED.format(ADAM), step=", gs", after="return update"),
    ),
    "caller hands no step": Pair(
        STEP_BY_CLASS.format(""),
        "opt = "
        + NPU_FIXED.format("MovingDecay(0.1)")
        + "\nreturn opt.apply_gradients(opt.compute_gradients(loss))",
    ),
    "gradients used up before they are applied": Pair(
        CLIPPED.format("Decay(0.1)", ""),
        CLIPPED.format("Decay(0.1)", "small = tf.add_n([tf.reduce_sum(g) for g, _ in pairs])"),
    ),
    "gradients that are used up on an NPU": Pair(
        CLIPPED.format("Decay(0.1)", ""),
        CLIPPED.format(NPU_FIXED.format("Decay(0.1)"), ""),
    ),
    "scaler on top of scaling by hand": Pair(
        BY_HAND.format(ADAM), BY_HAND.format(NPU_FIXED.format(ADAM))
    ),
    "scaler below the graph rewrite": Pair(
        REWRITTEN.format(ADAM), REWRITTEN.format(NPU_FIXED.format(ADAM))
    ),
    "scaler in keras": Pair(
        KERAS.format(ADAM),
        KERAS.format(f"NPULossScaleOptimizer({ADAM}, ExponentialUpdateLossScaleManager(8, 100))"),
    ),
    "operation wrapped": Pair(
        SCALED.format(ADAM),
        f"train = {ADAM}.minimize(loss, gs)\nreturn {NPU_FIXED.format('train')}",
    ),
    "decay dropped": Pair(
        SLOW.format(optimizer=USUAL, loss="loss"),
        SLOW.format(optimizer="tf.train.AdamOptimizer(2e-5, epsilon=1e-6)", loss="loss"),
    ),
    "other epsilon": Pair(
        SLOW.format(optimizer=USUAL, loss="loss"),
        SLOW.format(optimizer=DECAYING.format(1e-5), loss="loss"),
    ),
    "other rounding": Pair(
        SLOW.format(optimizer="tf.train.MomentumOptimizer(0.1, 0.9)", loss="loss"),
        SLOW.format(optimizer="tf.train.MomentumOptimizer(0.1, 0.9)", loss="loss * 1.0000001"),
    ),
    "manager under a flag": Pair(
        f"return {ADAM}.minimize(loss, gs)",
        f"""
if "--mixed" in sys.argv:
    manager = FixedLossScaleManager(8)
return NPULossScaleOptimizer({ADAM}, manager).minimize(loss, gs)
""",
    ),
    "manager in control dependencies": Pair(
        f"return {ADAM}.minimize(loss, gs)",
        f"""
with tf.control_dependencies([tf.identity(loss)]):
    manager = ExponentialUpdateLossScaleManager(8, 100)
return NPULossScaleOptimizer({ADAM}, manager).minimize(loss, gs)
""",
    ),
}

COMPRESSED = """
opt = {distributed}(tf.train.GradientDescentOptimizer({rate}){compression})
return opt.minimize(loss, gs)
"""


def compressed(rate):
    """A pair that drops compression, and may change the learning rate."""
    compression = ", compression=hvd.Compression.fp16"
    return Pair(
        COMPRESSED.format(
            distributed="hvd.DistributedOptimizer", rate=0.1, compression=compression
        ),
        COMPRESSED.format(distributed="NPUDistributedOptimizer", rate=rate, compression=""),
    )


RANKED = """
opt = {distributed}({sgd})
opt = {scaler}(opt, {manager}(64, 2, 1, decr_ratio=0.5))
return opt.minimize(loss, gs)
"""
TWO_RANKS = Pair(
    RANKED.format(
        distributed="hvd.DistributedOptimizer",
        sgd="tf.train.GradientDescentOptimizer(0.1)",
        scaler="mp.LossScaleOptimizer",
        manager="mp.ExponentialUpdateLossScaleManager",
    ),
    RANKED.format(
        distributed="NPUDistributedOptimizer",
        sgd="tf.train.GradientDescentOptimizer(0.1)",
        scaler="NPULossScaleOptimizer",
        manager="ExponentialUpdateLossScaleManager",
    ),
)
