"""Builds graphs of trainings, and prints what the recorder's audit says of each, as JSON.

Each function builds one graph and returns its training op; `expected_facts` names what is wrong.
"""

import json
import os
import sys

import tensorflow.compat.v1 as tf
from tensorflow.contrib import mixed_precision as contrib

from npu_migrate.runtime import install_bridge

install_bridge()

from npu_bridge.estimator.npu.npu_loss_scale_manager import (  # noqa: E402
    ExponentialUpdateLossScaleManager,
    FixedLossScaleManager,
)
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer  # noqa: E402
from npu_bridge.estimator.npu.npu_optimizer import (  # noqa: E402
    NPUDistributedOptimizer,
    NPUOptimizer,
)

from npu_migrate.verify.recorder.gradients import watch_gradients  # noqa: E402
from npu_migrate.verify.recorder.notes import Notes  # noqa: E402
from npu_migrate.verify.recorder.optimizers import OptimizerWatch  # noqa: E402
from npu_migrate.verify.recorder.step_plan import plan_step  # noqa: E402

GRAPHS = []


def expects(*facts):
    def note(build):
        GRAPHS.append((build, sorted(facts)))
        return build

    return note


def a_loss(resource=False):
    with tf.variable_scope(tf.get_variable_scope(), use_resource=resource):
        w = tf.get_variable("w", initializer=[1.0, 2.0])
        b = tf.get_variable("b", initializer=3.0)
    return tf.reduce_sum(w * w) + b * b


def step():
    return tf.train.get_or_create_global_step()


def dynamic():
    return ExponentialUpdateLossScaleManager(8.0, 100)


class Decay(tf.train.Optimizer):
    """Moves the step itself, once."""

    def __init__(self):
        super().__init__(False, "Decay")

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        ops = [v.assign(v - 0.1 * g) for g, v in grads_and_vars]
        if global_step is not None:
            with tf.control_dependencies(ops):
                ops.append(tf.assign_add(global_step, 1))
        return tf.group(*ops, name=name)


class DecayInLoop(Decay):
    """Moves it once per variable."""

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        ops = []
        for g, v in grads_and_vars:
            ops.append(v.assign(v - 0.1 * g))
            ops.append(global_step.assign(tf.identity(global_step + 1)))
        return tf.group(*ops, name=name)


# Nothing wrong


@expects()
def scaled():
    opt = NPULossScaleOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), dynamic())
    return opt.minimize(a_loss(), global_step=step())


@expects()
def scaled_by_a_fixed_number_with_clipping():
    opt = NPULossScaleOptimizer(Decay(), FixedLossScaleManager(8))
    pairs = opt.compute_gradients(a_loss())
    grads, _ = tf.clip_by_global_norm([g for g, _ in pairs], 1.0)
    return opt.apply_gradients(zip(grads, [v for _, v in pairs]), global_step=step())


@expects()
def combined():
    opt = NPUOptimizer(tf.train.AdamOptimizer(), dynamic(), is_loss_scale=True)
    return opt.minimize(a_loss(), global_step=step())


@expects()
def accumulated():
    opt = NPULossScaleOptimizer(Decay(), dynamic())
    pairs = opt.compute_gradients(a_loss())
    kept = [tf.Variable(tf.zeros_like(v.initial_value), trainable=False) for _, v in pairs]
    count = tf.Variable(0, trainable=False)
    added = [a.assign_add(g) for a, (g, _) in zip(kept, pairs)]
    with tf.control_dependencies([count.assign_add(1), *added]):
        is_last = tf.equal(count.read_value() % 4, 0)
        pairs = [(a.read_value(), v) for a, (_, v) in zip(kept, pairs)]
        return tf.cond(is_last, lambda: opt.apply_gradients(pairs, step()), tf.no_op)


@expects()
def two_in_turn():
    loss, first = a_loss(), tf.placeholder_with_default(True, [])
    one = NPULossScaleOptimizer(tf.train.AdamOptimizer(), dynamic())
    other = NPULossScaleOptimizer(Decay(), FixedLossScaleManager(8))
    pairs = [opt.compute_gradients(loss) for opt in (one, other)]
    return tf.cond(
        first,
        lambda: one.apply_gradients(pairs[0], global_step=step()),
        lambda: other.apply_gradients(pairs[1], global_step=step()),
    )


@expects("scaler_not_of_npu")
def original():
    opt = contrib.LossScaleOptimizer(
        tf.train.AdamOptimizer(), contrib.ExponentialUpdateLossScaleManager(8, 100)
    )
    return opt.minimize(a_loss(), global_step=step())


@expects("scaler_not_of_npu", "fixed_loss_scale")
def original_with_fixed_scale():
    opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(tf.train.AdamOptimizer(), 8)
    return opt.minimize(a_loss(), global_step=step())


@expects("scaler_not_of_npu", "scaler_not_above_gradients")
def original_whose_gradients_go_round():
    opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(
        tf.train.AdamOptimizer(), "dynamic"
    )
    loss = a_loss()
    variables = tf.trainable_variables()
    return opt.apply_gradients(list(zip(tf.gradients(loss, variables), variables)), step())


@expects("scaler_not_of_npu")
def original_with_dynamic_scale():
    opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(
        tf.train.AdamOptimizer(), "dynamic"
    )
    return opt.minimize(a_loss(), global_step=step())


# The step


@expects("several_step_writers")
def step_moved_per_variable():
    return DecayInLoop().minimize(a_loss(), global_step=step())


@expects("several_step_writers")
def step_moved_per_resource_variable():
    with tf.variable_scope(tf.get_variable_scope(), use_resource=True):
        moved = step()
    return DecayInLoop().minimize(a_loss(resource=True), global_step=moved)


@expects("several_step_writers")
def step_moved_in_the_class_and_by_one_branch():
    opt, gs = NPULossScaleOptimizer(Decay(), dynamic()), step()
    pairs = opt.compute_gradients(a_loss())
    ready = tf.placeholder_with_default(True, [])
    update = tf.cond(ready, lambda: opt.apply_gradients(pairs, global_step=gs), tf.no_op)
    moved = tf.cond(ready, lambda: gs + 1, lambda: gs)
    return tf.group(update, [gs.assign(moved)])


@expects("step_decides_update")
def step_counts_micro_batches():
    opt, gs = NPULossScaleOptimizer(Decay(), dynamic()), step()
    pairs = opt.compute_gradients(a_loss())
    is_last = tf.equal(gs % 4, 3)
    return tf.cond(is_last, lambda: opt.apply_gradients(pairs, global_step=gs), tf.no_op)


# Loss scaling


@expects("scaler_stacked")
def wrapped_twice():
    manager = dynamic()
    opt = NPULossScaleOptimizer(tf.train.AdamOptimizer(), manager)
    return NPULossScaleOptimizer(opt, manager).minimize(a_loss(), global_step=step())


@expects("scaler_stacked", "scaler_not_of_npu")
def graph_rewrite_around():
    opt = NPULossScaleOptimizer(tf.train.AdamOptimizer(), dynamic())
    opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, "dynamic")
    return opt.minimize(a_loss(), global_step=step())


def _gradients_round(manager):
    opt, loss = NPULossScaleOptimizer(tf.train.AdamOptimizer(), manager), a_loss()
    variables = tf.trainable_variables()
    grads, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 1.0)
    return opt.apply_gradients(zip(grads, variables), global_step=step())


@expects("scaler_not_above_gradients")
def gradients_go_round_the_dynamic_scale():
    return _gradients_round(dynamic())


@expects("scaler_not_above_gradients")
def gradients_go_round_the_fixed_scale():
    return _gradients_round(FixedLossScaleManager(8))


def _fixed_for_gpus():
    scale = tf.train.experimental.FixedLossScale(8)
    adam = tf.train.AdamOptimizer()
    return tf.train.experimental.MixedPrecisionLossScaleOptimizer(adam, scale)


@expects("fixed_loss_scale", "scaler_not_above_gradients", "scaler_not_of_npu")
def gradients_go_round_the_fixed_scale_of_gpus():
    opt, loss = _fixed_for_gpus(), a_loss()
    tvars = tf.trainable_variables()
    return opt.apply_gradients(zip(tf.gradients(loss, tvars), tvars), step())


@expects("fixed_loss_scale", "scaler_not_of_npu")
def fixed_scale_of_gpus():
    return _fixed_for_gpus().minimize(a_loss(), step())


def _two(first, second):
    loss = a_loss()
    w, b = tf.trainable_variables()
    ops = [
        NPULossScaleOptimizer(tf.train.AdamOptimizer(), manager).minimize(loss, var_list=[v])
        for manager, v in ((first, w), (second, b))
    ]
    return tf.group(*ops)


@expects("overflow_shared")
def two_managers_on_one_register():
    return _two(dynamic(), FixedLossScaleManager(8))


@expects("overflow_shared", "manager_shared")
def one_manager_for_two():
    manager = dynamic()
    return _two(manager, manager)


@expects("finite_check_decides")
def finite_check():
    opt, gs = NPULossScaleOptimizer(tf.train.AdamOptimizer(), dynamic()), step()
    pairs = opt.compute_gradients(a_loss())
    finite = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g, _ in pairs])
    moved = tf.cond(finite, lambda: gs + 1, lambda: gs)
    return tf.group(opt.apply_gradients(pairs), [gs.assign(moved)])


@expects("finite_check_decides")
def check_numerics():
    opt, gs = NPULossScaleOptimizer(tf.train.AdamOptimizer(), dynamic()), step()
    pairs = opt.compute_gradients(a_loss())
    return opt.apply_gradients([(tf.check_numerics(g, "overflow"), v) for g, v in pairs], gs)


@expects("finite_check_decides")
def comparison_with_infinity():
    opt, gs = NPULossScaleOptimizer(tf.train.AdamOptimizer(), dynamic()), step()
    pairs = opt.compute_gradients(a_loss())
    is_finite = tf.global_norm([g for g, _ in pairs]) < float("inf")
    return tf.cond(is_finite, lambda: opt.apply_gradients(pairs, gs), tf.no_op)


class Capped(ExponentialUpdateLossScaleManager):
    """Computes its scale anew each time that it is asked."""

    def get_loss_scale(self):
        return tf.minimum(super().get_loss_scale(), 2.0**20)


@expects()
def computed_scale():
    manager = Capped(1024.0, 100)
    return NPULossScaleOptimizer(tf.train.AdamOptimizer(), manager).minimize(a_loss(), step())


@expects()
def gathered_in_one_buffer():
    opt, gs = NPULossScaleOptimizer(tf.train.AdamOptimizer(), dynamic()), step()
    pairs = opt.compute_gradients(a_loss())
    sizes = [v.shape.num_elements() for _, v in pairs]
    kept = tf.Variable(tf.zeros([sum(sizes)]), trainable=False)
    flat = tf.concat([tf.reshape(g, [-1]) for g, _ in pairs], 0)
    with tf.control_dependencies([kept.assign_add(flat)]):
        parts = tf.split(kept.read_value(), sizes)
    return opt.apply_gradients([(tf.reshape(p, v.shape), v) for p, (_, v) in zip(parts, pairs)], gs)


@expects()
def finite_check_that_is_only_looked_at():
    opt, gs = NPULossScaleOptimizer(tf.train.AdamOptimizer(), dynamic()), step()
    pairs = opt.compute_gradients(a_loss())
    finite = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g, _ in pairs])
    shown = tf.cond(finite, lambda: gs + 0, lambda: gs * 0)
    return tf.group(opt.apply_gradients(pairs, gs), shown)


@expects("finite_check_decides")
def finite_check_that_clips():
    opt, gs = NPULossScaleOptimizer(tf.train.AdamOptimizer(), dynamic()), step()
    pairs = opt.compute_gradients(a_loss())
    pairs = [(tf.where(tf.is_finite(g), g, tf.zeros_like(g)), v) for g, v in pairs]
    return opt.apply_gradients(pairs, gs)


@expects("finite_check_decides")
def finite_check_that_stops():
    opt, gs = NPULossScaleOptimizer(tf.train.AdamOptimizer(), dynamic()), step()
    pairs = opt.compute_gradients(a_loss())
    check = tf.Assert(tf.reduce_all(tf.is_finite(pairs[0][0])), ["overflow"])
    with tf.control_dependencies([check]):
        return tf.group(opt.apply_gradients(pairs, gs))


# Ranks


@expects("ranks_apart", "ranks_judge_apart")
def two_ranks_without_is_distributed():
    os.environ["RANK_SIZE"], os.environ["RANK_ID"] = "2", "0"
    opt = NPULossScaleOptimizer(tf.train.AdamOptimizer(), dynamic())
    return opt.minimize(a_loss(), global_step=step())


@expects("averaged_after_unscaling")
def averaged_outside():
    opt = NPULossScaleOptimizer(tf.train.AdamOptimizer(), dynamic())
    return NPUDistributedOptimizer(opt).minimize(a_loss(), global_step=step())


def main():
    notes = Notes()
    watch = OptimizerWatch(notes)
    watch.install()
    watch_gradients(notes, watch.asked_loss, None)
    found = {}
    for build, expected in GRAPHS:
        with tf.Graph().as_default() as graph:
            train = build()
            plan = plan_step(graph, notes.of(graph), [getattr(train, "op", train)], None)
        os.environ.pop("RANK_SIZE", None)
        os.environ.pop("RANK_ID", None)
        found[build.__name__] = [
            expected,
            [[fact.name, fact.detail or fact.places[0]] for fact in plan.facts],
        ]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
