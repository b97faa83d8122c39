"""Faults that were seen in migrated and in hand-migrated scripts, each as its smallest script.

``#! CODE`` marks a line that must be reported for a person.
"""

import ast
from textwrap import dedent

import pytest
from support import (
    body,
    code_of,
    left_as_marked,
    migrate,
    untouched,
    with_bridge,
    with_own,
    with_tf,
)

from npu_migrate import cli

DYNAMIC = "ExponentialUpdateLossScaleManager"


# The step, moved where it should not be


STEP_IN_THE_LOOP = with_bridge("""
    class Decay(tf.train.Optimizer):
        def __init__(self, lr):
            super(Decay, self).__init__(False, "Decay")
            self.lr = lr

        def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            ops = []
            for g, v in grads_and_vars:
                ops.append(v.assign(v - self.lr * g))
                nxt = tf.identity(global_step + 1, name="step_update")
                ops.append(global_step.assign(nxt))  #! NPU309
            return tf.group(*ops, name=name)
    """)


def test_step_moved_once_per_variable():
    outcome = untouched(STEP_IN_THE_LOOP)
    assert "Decay" in outcome.messages() and "variable" in outcome.messages()


ACCUMULATING = """
    class Decay(tf.train.Optimizer):
        def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            ops = [v.assign_sub(0.1 * g) for g, v in grads_and_vars]
            if global_step is not None:
                with tf.control_dependencies(ops):
                    ops.append(tf.assign_add(global_step, 1))
            return tf.group(*ops, name=name)

    def train_op_for(opt, loss, tvars, accum, micro_step):
        gs = tf.train.get_or_create_global_step()
        gv = opt.compute_gradients(loss / accum, tvars)
        if accum > 1:
            ready = tf.equal(micro_step % accum, 0)
            upd = tf.cond(ready, lambda: opt.apply_gradients(gv, global_step=gs), tf.no_op)
            nxt = tf.cond(ready, lambda: gs + 1, lambda: gs)
            return tf.group(upd, [gs.assign(nxt)])
        return opt.apply_gradients(gv, global_step=gs)

    def main(loss, tvars, micro_step):
        opt = NPULossScaleOptimizer(Decay(False, "decay"), FixedLossScaleManager(8))
        return train_op_for(opt, loss, tvars, 4, micro_step)
    """


def test_class_moves_the_step_and_one_branch_moves_it_again():
    outcome = migrate(with_bridge(ACCUMULATING))
    assert outcome.left == []
    branches = body(outcome.text, "train_op_for")
    assert "assign" not in branches and branches.count("global_step=gs") == 2
    assert code_of(body(outcome.text, "Decay")) == code_of(body(with_bridge(ACCUMULATING), "Decay"))


def test_isinstance_decides_whether_the_step_moves():
    outcome = left_as_marked(
        with_own("""
        def build(loss, decay):
            gs = tf.train.get_or_create_global_step()
            opt = Own(False, "own") if decay > 0 else tf.train.AdamOptimizer(0.1)
            scaled = tf.contrib.mixed_precision.LossScaleOptimizer(
                opt, tf.contrib.mixed_precision.FixedLossScaleManager(8))
            train = scaled.apply_gradients(scaled.compute_gradients(loss), global_step=gs)
            if isinstance(opt, Own):
                train = tf.group(train, [gs.assign(gs + 1)])
            return train
        """)
    )
    assert "isinstance" not in body(outcome.text, "build")
    assert "tf.assign_add(global_step, 1)" in body(outcome.text, "Own")


def test_isinstance_of_the_wrapping_optimizer():
    left_as_marked(
        with_tf("""
        def build(loss):
            opt = tf.train.MomentumOptimizer(0.1, 0.9)
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(
                opt, tf.contrib.mixed_precision.FixedLossScaleManager(8))
            if isinstance(opt, tf.train.MomentumOptimizer):  #! NPU122
                tf.logging.info("momentum")
            return opt.minimize(loss)
        """)
    )


def test_isinstance_of_the_optimizer_bound_before_is_fine():
    left_as_marked(
        with_tf("""
        def build(loss):
            inner = tf.train.MomentumOptimizer(0.1, 0.9)
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(
                inner, tf.contrib.mixed_precision.FixedLossScaleManager(8))
            if isinstance(inner, tf.train.MomentumOptimizer):
                tf.logging.info("momentum")
            return opt.minimize(loss)
        """)
    )


NO_STEP_AT_THE_CALL = with_own("""
    def build(opt, gv, finite):
        gs = tf.train.get_or_create_global_step()
        train = opt.apply_gradients(list(gv))  # deliberately without the step
        nxt = tf.cond(finite, lambda: gs + 1, lambda: gs)
        return tf.group(train, [gs.assign(tf.identity(nxt, name="step_update"))])

    def main(loss, own, finite):
        opt = Own(False, "own") if own else tf.train.AdamOptimizer(0.1)
        opt = tf.contrib.mixed_precision.LossScaleOptimizer(
            opt, tf.contrib.mixed_precision.FixedLossScaleManager(8))
        return build(opt, opt.compute_gradients(loss), finite)
    """)


def test_caller_hands_no_step():
    outcome = left_as_marked(NO_STEP_AT_THE_CALL)
    build = body(outcome.text, "build")
    assert "opt.apply_gradients(list(gv), global_step=gs)" in build
    assert "gs = tf.train.get_or_create_global_step()" in build
    assert "assign" not in build and "step_update" not in build
    assert "if global_step is not None:" in body(outcome.text, "Own")


def test_caller_hands_no_step_and_a_hook_reads_its_name():
    hook = dedent("""
        class Report(tf.train.SessionRunHook):
            def before_run(self, run_context):
                return tf.train.SessionRunArgs("step_update:0")
        """)
    outcome = left_as_marked(NO_STEP_AT_THE_CALL + hook)
    expected = """
        def build(opt, gv, finite):
            gs = tf.train.get_or_create_global_step()
            train = opt.apply_gradients(list(gv), global_step=gs)
            with tf.control_dependencies([train]):
                step_update = tf.identity(gs.read_value(), name="step_update")
            return tf.group(train, step_update)
        """
    assert code_of(body(outcome.text, "build")) == code_of(expected)


def test_step_that_counts_micro_batches():
    text = with_tf("""
        def build(opt, w, grad):
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(
                opt, tf.contrib.mixed_precision.FixedLossScaleManager(8))
            gs = tf.train.get_or_create_global_step()
            acc = tf.get_variable("acc", initializer=0.0, trainable=False)
            with tf.control_dependencies([acc.assign_add(grad)]):
                def apply():
                    with tf.control_dependencies([opt.apply_gradients([(acc, w)])]):
                        return tf.group(acc.assign(0.0))
                upd = tf.cond(tf.equal(gs % 4, 3), apply, lambda: tf.no_op())  #! NPU306
            with tf.control_dependencies([upd]):
                train = tf.group(gs.assign(gs + 1))
            return train
        """)
    outcome = left_as_marked(text)
    logic = body(text, "build").partition("gs = ")[2]
    assert body(outcome.text, "build").endswith(logic)


# Optimizers, wrapped wrongly


WRAPPED_TWICE = with_bridge("""
    def build(loss, lr):
        m = ExponentialUpdateLossScaleManager(  #! NPU120
            init_loss_scale=2 ** 32, incr_every_n_steps=1000)
        o = NPUDistributedOptimizer(tf.train.AdamOptimizer(lr))
        o = NPULossScaleOptimizer(o, m)  #! NPU209
        o = NPULossScaleOptimizer(o, m, is_distributed=False)  #! NPU128 NPU209
        return o.minimize(loss)
    """)


def test_wrapped_twice_with_one_manager():
    untouched(WRAPPED_TWICE)


OPERATION_WRAPPED = """
    def run(sess, loss, lr, scale):
        if scale:
            opt = tf.train.AdamOptimizer(lr).minimize(loss)
            train = {}LossScaleOptimizer(opt, {}FixedLossScaleManager(8))  #! NPU129
        else:
            train = tf.train.AdamOptimizer(lr).minimize(loss)
        sess.run([loss, train])
    """


def test_operation_wrapped():
    untouched(with_bridge(OPERATION_WRAPPED.format("NPU", "")))


def test_operation_wrapped_before_migration_keeps_its_manager_too():
    contrib = "tf.contrib.mixed_precision."
    untouched(with_tf(OPERATION_WRAPPED.format(contrib, contrib)))


MANAGER_UNDER_A_FLAG = with_bridge("""
    import os

    def make(opt, args):
        if args.precision == "allow_mix_precision":
            m = ExponentialUpdateLossScaleManager(2 ** 32, incr_every_n_steps=1000)
        if int(os.getenv("RANK_SIZE")) == 1:  #! NPU211
            return NPULossScaleOptimizer(opt, m)  #! NPU130
        return NPULossScaleOptimizer(opt, m, is_distributed=True)  #! NPU130
    """)


def test_manager_under_a_flag_and_wrapper_without():
    untouched(MANAGER_UNDER_A_FLAG)


def test_manager_and_wrapper_under_one_flag_are_fine():
    outcome = migrate(
        with_bridge("""
        import os

        def make(opt, args):
            if args.precision == "allow_mix_precision":
                m = ExponentialUpdateLossScaleManager(2 ** 32, incr_every_n_steps=1000)
                if int(os.getenv("RANK_SIZE", "1")) == 1:
                    return NPULossScaleOptimizer(opt, m)
            return opt
        """)
    )
    assert outcome.findings == ()


def test_averaging_outside_of_loss_scaling():
    outcome = left_as_marked(
        with_tf("""
        import horovod.tensorflow as hvd

        def build(loss, lr):
            gs = tf.train.get_or_create_global_step()
            m = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(128, 100)
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(
                tf.train.MomentumOptimizer(lr, 0.9), m)
            opt = hvd.DistributedOptimizer(opt, compression=hvd.Compression.fp16)
            train = opt.minimize(loss, gs)  # positional step
            return train
        """)
    )
    expected = """
        def build(loss, lr):
            gs = tf.train.get_or_create_global_step()
            m = ExponentialUpdateLossScaleManager(128, 100)
            opt = NPULossScaleOptimizer(
                NPUDistributedOptimizer(tf.train.MomentumOptimizer(lr, 0.9)), m,
                is_distributed=ops_adapter.size() > 1)
            train = opt.minimize(loss, gs)
            return train
        """
    assert code_of(body(outcome.text, "build")) == code_of(expected)
    (finding,) = outcome.of("NPU205")
    assert "compress" in finding.message


GRADIENTS_GO_ROUND = with_bridge("""
    def build(loss, lr, gs, distributed):
        tvars = tf.trainable_variables()
        opt = NPULossScaleOptimizer(
            tf.train.AdamOptimizer(lr), ExponentialUpdateLossScaleManager(2 ** 15, 1000))
        if distributed:
            gv = opt.compute_gradients(loss, tvars)
        else:
            gv = list(zip(tf.gradients(loss, tvars), tvars))  #! NPU116
        grads, _ = tf.clip_by_global_norm([g for g, _ in gv], 1.0)
        return opt.apply_gradients(list(zip(grads, tvars)), global_step=gs)
    """)


def test_gradients_go_round_the_scaling():
    untouched(GRADIENTS_GO_ROUND)


def test_scaled_by_hand_gets_no_scaler_on_top():
    outcome = left_as_marked(
        with_tf("""
        import horovod.tensorflow as hvd

        def build(loss, params, lr, scale=None):
            opt = hvd.DistributedOptimizer(tf.train.AdamOptimizer(lr))
            if scale is None:
                gv = opt.compute_gradients(loss, var_list=params)
            else:
                gv = opt.compute_gradients(loss * scale, var_list=params)  #! NPU117
                gv = [(g / scale, v) for (g, v) in gv]
            return opt.apply_gradients(gv)
        """)
    )
    assert "NPULossScaleOptimizer" not in outcome.text
    assert "loss * scale" in outcome.text and "g / scale" in outcome.text


STACKED = with_bridge("""
    def build(loss, lr):
        opt = NPULossScaleOptimizer(tf.train.AdamOptimizer(lr), FixedLossScaleManager(8))
        opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(opt, 8)  #! NPU128
        return opt.minimize(loss)
    """)


def test_second_scaler_stacked_on():
    untouched(STACKED)


# Gradients that are used up


@pytest.mark.parametrize(
    "given",
    [
        "zip(grads, tvars)",
        "map(lambda p: p, zip(grads, tvars))",
        "filter(None, zip(grads, tvars))",
        "((g, v) for g, v in zip(grads, tvars))",
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        "opt.apply_gradients({}, global_step=gs)",
        "opt.apply_gradients(grads_and_vars={}, global_step=gs)",
        "opt.apply_gradients({}, gs)",
    ],
)
def test_gradients_in_an_iterator(given, call):
    text = with_own("""
        def build(loss, gs, tvars):
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(
                Own(False, "own"), tf.contrib.mixed_precision.FixedLossScaleManager(8))
            grads = [g for g, _ in opt.compute_gradients(loss, tvars)]
            grads, _ = tf.clip_by_global_norm(grads, 1.0)
            return {}
        """)
    outcome = left_as_marked(text.format(call.format(given)))
    returned = body(outcome.text, "build").splitlines()[-1].strip()
    assert code_of(returned) == code_of("return " + call.format(f"list({given})"))


def test_gradients_in_an_iterator_with_a_name():
    outcome = left_as_marked(
        with_tf("""
        def build(loss, gs, tvars):
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(
                tf.train.AdamOptimizer(), tf.contrib.mixed_precision.FixedLossScaleManager(8))
            grads = [g for g, _ in opt.compute_gradients(loss, tvars)]
            pairs = zip(grads, tvars)
            return opt.apply_gradients(pairs, global_step=gs)
        """)
    )
    assert "pairs = list(zip(grads, tvars))" in outcome.text


def test_gradients_from_a_generator_function():
    outcome = left_as_marked(
        with_tf("""
        def pairs(grads, tvars):
            for g, v in zip(grads, tvars):
                yield g, v

        def build(loss, tvars):
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(
                tf.train.AdamOptimizer(), tf.contrib.mixed_precision.FixedLossScaleManager(8))
            grads = [g for g, _ in opt.compute_gradients(loss, tvars)]
            return opt.apply_gradients(pairs(grads, tvars))
        """)
    )
    assert "opt.apply_gradients(list(pairs(grads, tvars)))" in outcome.text


def test_iterator_for_an_optimizer_without_loss_scaling_stays():
    untouched(
        with_tf("""
        def build(grads, tvars):
            return tf.train.AdamOptimizer().apply_gradients(zip(grads, tvars))
        """)
    )


# What only looks like something else


def test_text_that_only_looks_migrated():
    kept = ["'''", "opt = NPUDistributedOptimizer(opt)", "# opt = NPULossScaleOptimizer(opt, m)"]
    outcome = left_as_marked(
        with_own("""
        def build(loss, gs, tvars):
            opt = Own(False, "own")
            '''
            opt = NPUDistributedOptimizer(opt)
            opt = NPULossScaleOptimizer(opt, m, is_distributed=True)
            '''
            # opt = NPULossScaleOptimizer(opt, m)
            m = tf.contrib.mixed_precision.FixedLossScaleManager(8)
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, m)
            gv = opt.compute_gradients(loss, tvars)
            return tf.group(opt.apply_gradients(gv, global_step=gs), [gs.assign(gs + 1)])
        """)
    )
    lines = [line.strip() for line in outcome.text.splitlines()]
    assert all(line in lines for line in kept)
    assert "return opt.apply_gradients(gv, global_step=gs)" in lines
    assert "tf.assign_add(global_step, 1)" in body(outcome.text, "Own")
    assert "contrib" not in outcome.text


@pytest.mark.parametrize(
    "value, manager",
    [
        ("'dynamic'", f"{DYNAMIC}(2 ** 15, 2000, 1, 2.0, 0.5)"),
        ("128.", "FixedLossScaleManager(128.)"),
        ("tf.train.experimental.FixedLossScale(8)", "FixedLossScaleManager(8)"),
        (
            "tf.train.experimental.FixedLossScale(loss_scale_value=8)",
            "FixedLossScaleManager(loss_scale=8)",
        ),
        (
            "tf.train.experimental.DynamicLossScale(increment_period=100)",
            f"{DYNAMIC}(2 ** 15, 100, 1, 2.0, 0.5)",
        ),
        (
            "tf.train.experimental.DynamicLossScale(2. ** 12, 2000, 4.)",
            f"{DYNAMIC}(2. ** 12, 2000, 1, 4., 1 / 4)",
        ),
        (
            "tf.train.experimental.DynamicLossScale(multiplier=1.25)",
            f"{DYNAMIC}(2 ** 15, 2000, 1, 1.25, 1 / 1.25)",
        ),
    ],
)
def test_loss_scales_become_managers_that_move_alike(value, manager):
    text = "def build(opt):\n    return tf.train.experimental.{}(opt, {})\n"
    for name in ("MixedPrecisionLossScaleOptimizer", "enable_mixed_precision_graph_rewrite"):
        outcome = left_as_marked(with_tf(text.format(name, value)))
        assert managers(outcome.text) == managers(manager)


def managers(text):
    """The calls that make managers, with the value of each of their arguments."""
    names = {
        "FixedLossScaleManager": ["loss_scale"],
        DYNAMIC: [
            "init_loss_scale",
            "incr_every_n_steps",
            "decr_every_n_nan_or_inf",
            "incr_ratio",
            "decr_ratio",
        ],
    }
    calls = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            values = list(zip(names[node.func.id], node.args))
            values += [(keyword.arg, keyword.value) for keyword in node.keywords]
            known = ((name, eval(compile(ast.Expression(v), "", "eval"))) for name, v in values)
            calls.add((node.func.id, frozenset(known)))
    return calls


# Several optimizers


ONE_MANAGER = with_bridge("""
    def build(d_loss, g_loss):
        m1 = ExponentialUpdateLossScaleManager(2 ** 15, 1000)  #! NPU120
        m2 = m1
        d = NPULossScaleOptimizer(tf.train.AdamOptimizer(), m1).minimize(d_loss)
        g = NPULossScaleOptimizer(tf.train.AdamOptimizer(), m2).minimize(g_loss)
        return tf.group(d, g)  #! NPU119
    """)
TWO_MANAGERS = ONE_MANAGER.replace("#! NPU120", "").replace(
    "m2 = m1", "m2 = FixedLossScaleManager(8)"
)


def test_one_manager_for_two_optimizers():
    outcome = untouched(ONE_MANAGER)
    (finding,) = outcome.of("NPU120")
    assert "10, 11" in finding.message


def test_one_overflow_register_for_two_managers():
    outcome = untouched(TWO_MANAGERS)
    (finding,) = outcome.of("NPU119")
    assert "10, 11" in finding.message


MODEL = with_bridge("""
    class Gan(object):
        def build(self, first, second):
            d = NPULossScaleOptimizer(tf.train.AdamOptimizer(), first)
            g = NPULossScaleOptimizer(tf.train.AdamOptimizer(), second)
            self.d_train, self.losses = d.minimize(self.d_loss), []
            self.g_train = g.minimize(self.g_loss)


    def train(session, gan):
        session.run([gan.d_train, gan.losses])
        session.run([gan.d_train, gan.g_train])  #! NPU119
    """)


def test_training_ops_kept_by_a_model_share_the_overflow_register():
    untouched(MODEL)


@pytest.mark.parametrize(
    "scaled",
    [
        "MixedPrecisionLossScaleOptimizer(opt, tf.train.experimental.FixedLossScale(8.0))",
        "MixedPrecisionLossScaleOptimizer(opt, 'dynamic')",
        "enable_mixed_precision_graph_rewrite(opt)",
    ],
)
def test_sparse_gradients_become_dense(scaled):
    outcome = left_as_marked(
        with_tf(f"""
        def build(ids):
            emb = tf.get_variable("emb", [3, 2], initializer=tf.ones_initializer())
            loss = tf.reduce_sum(tf.nn.embedding_lookup(emb, ids))
            opt = tf.train.MomentumOptimizer(0.1, 0.9)
            opt = tf.train.experimental.{scaled}
            return opt.minimize(loss)
        """)
    )
    message = outcome.messages("NPU106", "NPU107")
    assert "sparse" in message and "dense" in message


def test_manager_inside_control_dependencies():
    outcome = left_as_marked(
        with_tf("""
        mp = tf.contrib.mixed_precision

        def build(loss):
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
                opt = mp.LossScaleOptimizer(
                    tf.train.AdamOptimizer(0.1), mp.ExponentialUpdateLossScaleManager(8., 1000))
                train = opt.minimize(loss)
            return train
        """)
    )
    build = body(outcome.text, "build").splitlines()
    (manager,) = [n for n, line in enumerate(build) if f"{DYNAMIC}(8., 1000)" in line]
    (block,) = [n for n, line in enumerate(build) if "UPDATE_OPS" in line]
    assert manager < block
    assert "NPULossScaleOptimizer" in "".join(build[block:])


# Horovod


def test_arguments_of_horovod_that_change_the_result_are_refused():
    text = with_tf("""
        import horovod.tensorflow as hvd

        def build(loss, gs):
            opt = hvd.DistributedOptimizer(  #! NPU207
                tf.train.AdamOptimizer(1e-3 * hvd.size()), name="d",
                compression=hvd.Compression.fp16, sparse_as_dense=True,
                backward_passes_per_step=4, op=hvd.Adasum)
            return opt.minimize(loss, global_step=gs)
        """)
    outcome = left_as_marked(text)
    assert "backward_passes_per_step" in outcome.messages() and "op" in outcome.messages()
    assert body(outcome.text, "build") == body(text, "build")


def test_arguments_of_horovod_that_are_dropped_are_named():
    outcome = left_as_marked(
        with_tf("""
        import horovod.tensorflow as hvd

        def build(loss, gs):
            opt = hvd.DistributedOptimizer(
                tf.train.AdamOptimizer(1e-3 * hvd.size()), name="d",
                compression=hvd.Compression.fp16, sparse_as_dense=True,
                backward_passes_per_step=1, op=hvd.Average)
            return opt.minimize(loss, global_step=gs)
        """)
    )
    message = outcome.messages("NPU203")
    assert "compression" in message and "sparse_as_dense" in message
    assert "NPUDistributedOptimizer(" in outcome.text
    assert "tf.train.AdamOptimizer(1e-3 * hvd.size())" in outcome.text


HOROVOD_IN_TWO_WAYS = """\
import os, horovod.tensorflow as hv  # two modules in one line
try:
    from horovod.tensorflow.compression import Compression
except ImportError:
    Compression = None
def mean(x):
    if hv.size() == 1:
        return x
    return {} / hv.size(), Compression, os
"""


def test_use_of_horovod_without_counterpart_keeps_the_import():
    text = HOROVOD_IN_TWO_WAYS.replace("os\n", "os  #! NPU206\n")
    outcome = untouched(text.format("hv.mpi_ops._allreduce(x)"))
    assert "_allreduce" in outcome.messages()


def test_import_of_horovod_goes_one_name_at_a_time():
    outcome = left_as_marked(HOROVOD_IN_TWO_WAYS.format("hv.allreduce(x, average=False)"))
    lines = outcome.text.splitlines()
    assert "import os" in [line.partition("  #")[0].rstrip() for line in lines]
    assert "from npu_migrate.runtime import ops_adapter as hv" in lines
    assert "    from npu_migrate.runtime.ops_adapter import Compression" in lines
    assert "    Compression = None" in lines
    assert "horovod" not in outcome.text and "None" not in lines


RANKS_JUDGE_APART = with_bridge("""
    def build(loss, lr, gs, cards):
        opt = tf.train.AdamOptimizer(lr)
        if cards == 8:
            opt = NPUDistributedOptimizer(opt)
        opt = NPULossScaleOptimizer(opt, FixedLossScaleManager(8))  #! NPU209
        return opt.minimize(loss, global_step=gs)
    """)


def test_ranks_judge_overflow_apart():
    untouched(RANKS_JUDGE_APART)


def test_one_device_alone_with_is_distributed():
    untouched(
        with_bridge("""
        def build(opt):
            return NPULossScaleOptimizer(  #! NPU210
                opt, FixedLossScaleManager(8), is_distributed=True)
        """)
    )


# Keras, names, finite checks


def test_keras_model_with_a_loss_scaling_optimizer():
    outcome = untouched(
        with_tf("""
        def build(x, y):
            m = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
            opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(  #! NPU108
                tf.train.AdamOptimizer(1e-3))
            m.compile(loss="mse", optimizer=opt)
            m.fit(x, y, epochs=1)  #! NPU441
        """)
    )
    assert outcome.findings[0].status.value == "unsupported"


def test_names_of_the_script_are_not_taken():
    text = with_tf("""
        class Own(tf.train.Optimizer):
            def apply_gradients(self, grads_and_vars, global_step=None, name=None):
                update_op = 3
                self.seen = update_op
                return tf.group(*[v.assign_sub(g) for g, v in grads_and_vars], name=name)

        def build(loss, ops_adapter, loss_scale_manager):
            step_update = 7
            gs = tf.train.get_or_create_global_step()
            with tf.control_dependencies([loss]):
                opt = tf.contrib.mixed_precision.LossScaleOptimizer(
                    Own(False, "own"),
                    tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(8, 100))
                train = opt.minimize(loss, global_step=gs)
            new = tf.identity(gs + 1, name="step_update")
            train = tf.group(train, [gs.assign(new)])
            return train, "step_update:0", step_update, ops_adapter, loss_scale_manager
        """)
    outcome = left_as_marked(text)
    for name in ("update_op", "ops_adapter", "loss_scale_manager", "step_update"):
        assert bindings(outcome.text, name) == bindings(text, name)
    assert "name='step_update'" in outcome.text.replace('"', "'")


def bindings(text, name):
    """How often ``text`` binds ``name``."""
    nodes = list(ast.walk(ast.parse(text)))
    stored = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return (stored + [n.arg for n in nodes if isinstance(n, ast.arg)]).count(name)


def test_step_that_the_loop_rebinds_is_left_alone():
    untouched(
        with_tf("""
        def loop(sess, global_step, train, n):
            for _ in range(n):
                global_step, _r = sess.run([global_step, train])
        """)
    )


def test_nothing_that_swallows_errors_is_inserted():
    assert "except" not in left_as_marked(NO_STEP_AT_THE_CALL).text


FINITE_CHECK = """
    def build(loss, lr, tvars{parameter}):
        {step}
        opt = NPULossScaleOptimizer(tf.train.AdamOptimizer(lr), FixedLossScaleManager(8))
        grads = [g for g, _ in opt.compute_gradients(loss, tvars)]
        finite = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g in grads]){mark}
        clipped, _ = tf.clip_by_global_norm(
            grads, 1.0, use_norm=tf.cond(
                finite, lambda: tf.global_norm(grads), lambda: tf.constant(1.0)))
        train = opt.apply_gradients(list(zip(clipped, tvars)))
        nxt = tf.cond(finite, lambda: gs + 1, lambda: gs)
        train = tf.group(train, [gs.assign(nxt)])
        return train
    """


def test_step_and_weights_are_judged_alike():
    step = "gs = tf.train.get_or_create_global_step()"
    outcome = left_as_marked(with_bridge(FINITE_CHECK.format(parameter="", step=step, mark="")))
    expected = """
        def build(loss, lr, tvars):
            gs = tf.train.get_or_create_global_step()
            opt = NPULossScaleOptimizer(tf.train.AdamOptimizer(lr), FixedLossScaleManager(8))
            grads = [g for g, _ in opt.compute_gradients(loss, tvars)]
            clipped, _ = tf.clip_by_global_norm(grads, 1.0, use_norm=tf.global_norm(grads))
            train = opt.apply_gradients(list(zip(clipped, tvars)), global_step=gs)
            return train
        """
    assert code_of(body(outcome.text, "build")) == code_of(expected)


BLIND_CHECK = with_bridge(
    FINITE_CHECK.format(parameter=", gs", step="del lr", mark="  #! NPU124").replace("(lr)", "()")
)


def test_finite_check_that_is_left_is_reported():
    left_as_marked(BLIND_CHECK)


@pytest.mark.parametrize("check", ["tf.is_nan", "tf.math.is_inf", "tf.debugging.is_finite"])
def test_finite_check_that_replaces_gradients(check):
    untouched(
        with_bridge(f"""
        def build(loss):
            opt = NPULossScaleOptimizer(tf.train.AdamOptimizer(), FixedLossScaleManager(8))
            gvs = opt.compute_gradients(loss)
            gvs = [(tf.where({check}(g), g, tf.zeros_like(g)), v) for g, v in gvs]  #! NPU124
            return opt.apply_gradients(gvs)
        """)
    )


@pytest.mark.parametrize(
    "text",
    [
        STEP_IN_THE_LOOP,
        with_bridge(ACCUMULATING),
        WRAPPED_TWICE,
        with_bridge(OPERATION_WRAPPED.format("NPU", "")),
        MANAGER_UNDER_A_FLAG,
        GRADIENTS_GO_ROUND,
        STACKED,
        ONE_MANAGER,
        TWO_MANAGERS,
        RANKS_JUDGE_APART,
        BLIND_CHECK,
    ],
)
def test_check_refuses_what_was_migrated_badly(text, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(text)
    assert cli.main(["--check", "-q", str(script)]) == 1
    assert script.read_text() == text


# Files that are hard to read


SCALED = b"import tensorflow as tf\nm = tf.contrib.mixed_precision.FixedLossScaleManager(8)\n"
ODD = {
    "bom": b"\xef\xbb\xbfimport tensorflow as tf\n",
    "mixed_line_ends": b"a = 1\r\nb = 2\nc = 3\r\n",
    "lone_carriage_return": b"x = 1\ry = 2\r\n",
    "tab_after_space": b"def f(x):\n\t with x:\n\t\t pass\n",
    "form_feed": b"import os\n\x0cx = 1\n",
    "gbk": "# coding: gbk\n# \u6ce8\u91ca\nx = 1\n".encode("gbk"),
}


def test_odd_files_without_anything_to_do_keep_every_byte(tmp_path):
    for name, data in ODD.items():
        (tmp_path / f"{name}.py").write_bytes(data)
    assert cli.main([str(tmp_path)]) == 0
    for name, data in ODD.items():
        assert (tmp_path / f"{name}.py").read_bytes() == data


@pytest.mark.parametrize("name", sorted(ODD))
def test_odd_file_is_migrated_or_named_and_others_are_done(name, tmp_path, capsys):
    odd, good = tmp_path / "odd.py", tmp_path / "zoo.py"
    given = ODD[name] + SCALED
    odd.write_bytes(given)
    good.write_bytes(SCALED)
    status = cli.main([str(tmp_path)])
    report = "".join(capsys.readouterr())
    assert b"m = FixedLossScaleManager(8)" in good.read_bytes()
    after = odd.read_bytes()
    if after == given:
        assert status == 2 and "odd.py" in report
    else:
        assert b"m = FixedLossScaleManager(8)" in after
        assert after.startswith(ODD[name])


# Names, not spelling


ONLY_THE_LAST_LINE = '''\
"""doc"""
from __future__ import print_function
setup()                                     # code before the imports
import tensorflow                           # no alias
class Pool(object):
    def batch(self, n): return self.items[:n]
    def DistributedOptimizer(self, o): return o
def run(pool, hvd):                         # parameter, not Horovod
    return hvd.DistributedOptimizer(pool.batch(4))
opt = tensorflow.train.experimental.MixedPrecisionLossScaleOptimizer(base(), "dynamic")
'''


def test_only_what_the_names_stand_for_changes():
    outcome = left_as_marked(ONLY_THE_LAST_LINE)
    before, after = ONLY_THE_LAST_LINE.splitlines(), outcome.text.splitlines()
    assert after[:4] == before[:4]
    imports = [line for line in after if line.startswith("from npu")]
    assert after[4 : 4 + len(imports)] == imports == sorted(set(imports))
    rest = after[4 + len(imports) :]
    assert rest[: len(before) - 5] == before[4:-1]
    wrapped = "\n".join(rest[len(before) - 5 :])
    assert wrapped.count("base()") == 1 and "opt = NPULossScaleOptimizer(opt" in wrapped
    assert "tensorflow" not in wrapped


def test_imports_of_one_file_stay_out_of_the_next():
    untouched_file = "import tensorflow\nx = LossScaleOptimizer\n"
    files = {"a.py": ONLY_THE_LAST_LINE, "b.py": untouched_file, "c.py": ONLY_THE_LAST_LINE}
    outcome = migrate(files)
    assert outcome.texts["b.py"] == untouched_file
    assert outcome.texts["a.py"] == outcome.texts["c.py"]
