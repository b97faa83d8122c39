"""``--loss-scale``: loss scaling for programs that have none."""

import pytest
from support import body, code_of, left_as_marked, migrate, untouched, with_own, with_tf

DYNAMIC = (
    "ExponentialUpdateLossScaleManager(init_loss_scale=2**32, incr_every_n_steps=1000, "
    "decr_every_n_nan_or_inf=2, decr_ratio=0.5)"
)
BY_RANK_COUNT = """
if ops_adapter.size() > 1:
    opt = NPUDistributedOptimizer(opt)
    opt = NPULossScaleOptimizer(opt, loss_scale_manager, is_distributed=True)
else:
    opt = NPULossScaleOptimizer(opt, loss_scale_manager)
"""
SCALER = f"loss_scale_manager = {DYNAMIC}{BY_RANK_COUNT}"
HOROVODS = (
    "opt = NPULossScaleOptimizer(opt, loss_scale_manager, is_distributed=ops_adapter.size() > 1)"
)


def train_with(lines, parameters="loss, lr, flag"):
    """A function ``train`` of these lines."""
    code = "".join(f"    {line}\n" if line else "\n" for line in lines.strip("\n").splitlines())
    return f"\ndef train({parameters}):\n{code}"


def becomes(given, expected, head="", **options):
    options = {"loss_scale": "dynamic", **options}
    outcome = left_as_marked(with_tf(head + train_with(given)), **options)
    assert code_of(body(outcome.text, "train")) == code_of(train_with(expected))
    return outcome


# Where the scaler goes


def test_behind_the_statement_that_makes_the_optimizer():
    outcome = becomes(
        "opt = tf.train.AdamOptimizer(lr)\nreturn opt.minimize(loss)",
        f"opt = tf.train.AdamOptimizer(lr)\n{SCALER}\nreturn opt.minimize(loss)",
    )
    assert [f.line for f in outcome.of("NPU133")] == [5]
    assert len(outcome.of("NPU201")) == 1


def test_a_number_is_a_fixed_loss_scale():
    fixed = f"loss_scale_manager = FixedLossScaleManager(loss_scale=128){BY_RANK_COUNT}"
    becomes(
        "opt = tf.train.AdamOptimizer(lr)\nreturn opt.minimize(loss)",
        f"opt = tf.train.AdamOptimizer(lr)\n{fixed}\nreturn opt.minimize(loss)",
        loss_scale="128",
    )


def test_an_optimizer_without_a_name_gets_one():
    scaler = SCALER.replace("opt ", "optimizer ").replace("(opt", "(optimizer")
    becomes(
        "return tf.train.AdamOptimizer(lr).minimize(loss)",
        f"optimizer = tf.train.AdamOptimizer(lr)\n{scaler}\nreturn optimizer.minimize(loss)",
    )


def test_behind_all_of_a_choice():
    choice = """
if flag == "adam":
    opt = tf.train.AdamOptimizer(lr)
elif flag == "sgd":
    opt = tf.train.GradientDescentOptimizer(lr)
else:
    raise ValueError(flag)
"""
    becomes(f"{choice}\nreturn opt.minimize(loss)", f"{choice}{SCALER}\nreturn opt.minimize(loss)")


def test_behind_a_block_that_the_optimizer_is_made_in():
    scoped = 'with tf.name_scope("train"):\n    opt = tf.train.AdamOptimizer(lr)\n'
    becomes(f"{scoped}return opt.minimize(loss)", f"{scoped}{SCALER}\nreturn opt.minimize(loss)")


def test_before_the_use_where_the_optimizer_is_made_on_a_condition():
    made = "if flag:\n    opt = tf.train.AdamOptimizer(lr)\nmore = 1\n"
    scaler = "".join(f"    {line}\n" for line in SCALER.splitlines())
    becomes(
        f"{made}if flag:\n    return opt.minimize(loss)",
        f"{made}if flag:\n{scaler}    return opt.minimize(loss)",
    )


def test_behind_horovod_even_on_a_condition():
    given = """
opt = tf.train.AdamOptimizer(lr)
if flag:
    opt = hvd.DistributedOptimizer(opt)
{}return opt.minimize(loss)
"""
    outcome = becomes(
        given.format(""),
        given.format(f"loss_scale_manager = {DYNAMIC}\n{HOROVODS}\n").replace(
            "hvd.Distrib", "NPUDistrib"
        ),
        "import horovod.tensorflow as hvd\n",
    )
    assert not outcome.of("NPU201")


def test_gradients_that_are_averaged_by_hand_are_averaged_once():
    given = """
opt = tf.train.AdamOptimizer(lr)
{}pairs = [(hvd.allreduce(g), v) for g, v in opt.compute_gradients(loss)]
return opt.apply_gradients(pairs)
"""
    becomes(
        given.format(""),
        given.format(f"loss_scale_manager = {DYNAMIC}\n{HOROVODS}\n"),
        "import horovod.tensorflow as hvd\n",
    )


@pytest.mark.parametrize(
    "given",
    [
        "with tf.control_dependencies(flag):\n    opt = tf.train.AdamOptimizer(lr)\n"
        "    return opt.minimize(loss)",
        "with tf.control_dependencies(flag):\n    return tf.train.AdamOptimizer(lr).minimize(loss)",
    ],
)
def test_the_manager_waits_for_no_control_dependencies(given):
    outcome = left_as_marked(with_tf(train_with(given)), loss_scale="dynamic")
    lines = [line.strip() for line in outcome.text.splitlines()]
    manager = lines.index(f"loss_scale_manager = {DYNAMIC}")
    assert lines[manager - 1] == "with tf.control_dependencies(None):"


def test_optimizer_that_is_an_attribute():
    outcome = left_as_marked(
        with_tf("""
        class Model(object):
            def __init__(self, lr):
                self.opt = tf.train.AdamOptimizer(lr)

            def train(self, loss):
                return self.opt.apply_gradients(self.opt.compute_gradients(loss))
        """),
        loss_scale="dynamic",
    )
    made = body(outcome.text, "__init__")
    assert "self.opt = NPULossScaleOptimizer(self.opt, loss_scale_manager)" in made
    assert "return self.opt.apply_gradients(self.opt.compute_gradients(loss))" in outcome.text


def test_optimizer_that_is_handed_to_another_function():
    outcome = left_as_marked(
        with_tf("""
        def build(opt, loss):
            return opt.minimize(loss)

        def train(loss, lr):
            opt = tf.train.AdamOptimizer(lr)
            return build(opt, loss)
        """),
        loss_scale="dynamic",
    )
    assert "opt = NPULossScaleOptimizer(opt" in body(outcome.text, "train")
    assert body(outcome.text, "build").count("\n") == 2


def test_two_optimizers_have_a_manager_each():
    outcome = migrate(
        with_tf("""
        def train(d_loss, g_loss, session):
            d_opt = tf.train.AdamOptimizer(0.1)
            g_opt = tf.train.AdamOptimizer(0.1)
            session.run([d_opt.minimize(d_loss), g_opt.minimize(g_loss)])
        """),
        loss_scale="dynamic",
    )
    managers = {
        line.split()[0] for line in outcome.text.splitlines() if line.strip().endswith(DYNAMIC)
    }
    assert len(managers) == 2
    assert [code for _, code in outcome.left] == ["NPU119"]


def test_two_optimizers_behind_the_same_updates_need_not_run_together():
    left_as_marked(
        with_tf("""
        def train(d_loss, g_loss, session):
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
                d_op = tf.train.AdamOptimizer(0.1).minimize(d_loss)
                g_op = tf.train.AdamOptimizer(0.1).minimize(g_loss)
            session.run(d_op)
            session.run(g_op)
        """),
        loss_scale="dynamic",
    )


def test_one_class_for_both():
    becomes(
        "opt = tf.train.AdamOptimizer(lr)\nreturn opt.minimize(loss)",
        f"""
opt = tf.train.AdamOptimizer(lr)
loss_scale_manager = {DYNAMIC}
opt = NPUOptimizer(
    opt, loss_scale_manager, is_distributed=ops_adapter.size() > 1, is_loss_scale=True)
return opt.minimize(loss)
""",
        optimizer="combined",
    )


# What travels with it


GRADIENTS = """
opt = tf.train.AdamOptimizer(lr)
{}tvars = tf.trainable_variables()
grads = {}
clipped, _ = tf.clip_by_global_norm(grads, 1.0)
return opt.apply_gradients({})
"""


def test_gradients_come_from_the_optimizer_that_scales():
    becomes(
        GRADIENTS.format("", "tf.gradients(loss, tvars)", "zip(clipped, tvars)"),
        GRADIENTS.format(
            f"{SCALER}\n",
            "[gradient for gradient, _ in opt.compute_gradients(loss, tvars)]",
            "list(zip(clipped, tvars))",
        ),
    )


@pytest.mark.parametrize(
    "call", ["tf.gradients([loss, lr], tvars)", "tf.gradients(loss, tvars, grad_ys=flag)"]
)
def test_gradients_that_compute_gradients_can_not_give_are_left(call):
    given = GRADIENTS.format("", f"{call}  #! NPU116", "list(zip(clipped, tvars))")
    outcome = left_as_marked(with_tf(train_with(given)), loss_scale="dynamic")
    assert call in outcome.text


def test_gradients_before_the_optimizer_are_left():
    left_as_marked(
        with_tf("""
        def train(loss, tvars):
            grads = tf.gradients(loss, tvars)  #! NPU116
            opt = tf.train.AdamOptimizer(0.1)
            return opt.apply_gradients(list(zip(grads, tvars)))
        """),
        loss_scale="dynamic",
    )


def test_gradients_within_the_loss_are_no_concern():
    outcome = left_as_marked(
        with_tf("""
        def train(loss, inputs):
            slope = tf.gradients(loss, [inputs])[0]
            total = loss + tf.reduce_sum(slope * slope)
            opt = tf.train.AdamOptimizer(0.1)
            return opt.apply_gradients(opt.compute_gradients(total))
        """),
        loss_scale="dynamic",
    )
    assert "slope = tf.gradients(loss, [inputs])[0]" in outcome.text


def test_the_step_moves_in_the_optimizer():
    outcome = left_as_marked(
        with_own("""
        def train(loss):
            step = tf.train.get_or_create_global_step()
            opt = Own(False, "own")
            train_op = opt.apply_gradients(opt.compute_gradients(loss), global_step=step)
            return tf.group(train_op, [step.assign(step + 1)])
        """),
        loss_scale="dynamic",
    )
    assert "tf.assign_add(global_step, 1)" in body(outcome.text, "Own")
    assert "step.assign" not in body(outcome.text, "train")


def test_the_optimizers_of_another_file():
    files = {
        "own.py": with_own(""),
        "train.py": with_tf("""
            import own

            def train(loss):
                step = tf.train.get_or_create_global_step()
                opt = own.Own(False, "own")
                train_op = opt.apply_gradients(opt.compute_gradients(loss), global_step=step)
                return tf.group(train_op, [step.assign(step + 1)])
            """),
    }
    outcome = migrate(files, loss_scale="dynamic")
    assert outcome.left == []
    assert "tf.assign_add(global_step, 1)" in outcome.texts["own.py"]
    assert "NPULossScaleOptimizer(" in outcome.texts["train.py"]


def test_what_fails_in_float16_is_said_along():
    left_as_marked(
        with_tf("""
        def train(loss, total):
            opt = tf.train.AdamOptimizer(0.1)
            return opt.minimize(loss - tf.log(total + 1e-10))  #! NPU713
        """),
        loss_scale="dynamic",
    )


def test_a_step_that_moves_apart_is_said_along():
    left_as_marked(
        with_tf("""
        def move(global_step):
            return tf.assign_add(global_step, 1)  #! NPU311

        def train(loss):
            return tf.train.AdamOptimizer(0.1).minimize(loss)
        """),
        loss_scale="dynamic",
    )


# What is left as it is


TRAINS = "opt = tf.train.AdamOptimizer(lr)\nreturn opt.minimize(loss)"


def test_nothing_is_added_unless_it_is_asked_for():
    untouched(with_tf(train_with(TRAINS)))


def test_a_program_that_scales_gets_no_second_scale():
    files = {
        "scaled.py": with_tf("""
            def scaled(opt):
                return tf.contrib.mixed_precision.LossScaleOptimizer(
                    opt, tf.contrib.mixed_precision.FixedLossScaleManager(8))
            """),
        "train.py": with_tf("import scaled\n" + train_with(TRAINS)),
    }
    outcome = migrate(files, loss_scale="dynamic")
    assert outcome.texts["train.py"] == files["train.py"]
    assert "FixedLossScaleManager(8)" in outcome.texts["scaled.py"]
    assert "--loss-scale adds nothing" in outcome.messages("NPU103")


def test_what_is_left_in_one_file_is_still_said_once_the_others_are_scaled():
    files = {
        "one.py": with_tf("import two\n" + train_with(TRAINS)),
        "two.py": with_tf("""
            def build(opt, loss):
                return opt.minimize(loss)  #! NPU135
            """),
    }
    outcome = left_as_marked(files, loss_scale="dynamic")
    assert "NPULossScaleOptimizer(" in outcome.texts["one.py"]


@pytest.mark.parametrize(
    ("scaled", "unscaled"),
    [
        ("loss * flag", "g / flag"),
        ("flag * loss", "g * (1.0 / flag)"),
        ("loss * 128.0", "g / 128.0"),
        ("tf.scalar_mul(flag, loss)", "tf.scalar_mul(1.0 / flag, g)"),
        ("tf.multiply(loss, flag)", "tf.divide(g, flag)"),
        ("tf.math.multiply(x=loss, y=tf.cast(flag, loss.dtype))", "g * tf.reciprocal(flag)"),
        ("loss * flag", "tf.math.divide_no_nan(g, tf.cast(flag, g.dtype))"),
    ],
)
def test_a_program_that_scales_by_hand_gets_no_second_scale(scaled, unscaled):
    untouched(
        with_tf(f"""
        def train(loss, flag):
            opt = tf.train.AdamOptimizer(0.1)
            pairs = opt.compute_gradients({scaled})  #! NPU117
            return opt.apply_gradients([({unscaled}, v) for g, v in pairs])
        """),
        loss_scale="dynamic",
    )


def test_a_loss_that_is_multiplied_in_place_is_scaled_by_hand():
    untouched(
        with_tf("""
        def train(loss, scale):
            loss *= scale
            opt = tf.train.AdamOptimizer(0.1)
            gradients = [g for g, _ in opt.compute_gradients(loss)]  #! NPU117
            for position in range(len(gradients)):
                gradients[position] /= scale
            return opt.apply_gradients(list(zip(gradients, tf.trainable_variables())))
        """),
        loss_scale="dynamic",
    )


def test_an_optimizer_class_that_scales_by_hand_gets_no_second_scale():
    outcome = left_as_marked(
        {
            "scaler.py": with_tf("""
                class Scaler(tf.train.Optimizer):
                    def __init__(self, optimizer, scale):
                        super(Scaler, self).__init__(False, "Scaler")
                        self._optimizer = optimizer
                        self._scale = scale

                    def compute_gradients(self, loss, *args, **kwargs):
                        if self._scale != 1.0:
                            loss = tf.scalar_mul(self._scale, loss)
                        pairs = self._optimizer.compute_gradients(loss, *args, **kwargs)  #! NPU117
                        return [(tf.scalar_mul(1.0 / self._scale, g), v) for g, v in pairs]

                    def apply_gradients(self, *args, **kwargs):
                        return self._optimizer.apply_gradients(*args, **kwargs)
                """),
            "train.py": with_tf("""
                from scaler import Scaler

                def train(loss, scale):
                    optimizer = Scaler(tf.train.MomentumOptimizer(0.1, 0.9), scale)
                    return optimizer.minimize(loss, tf.train.get_global_step())
                """),
        },
        loss_scale="dynamic",
    )
    assert not any("NPULossScaleOptimizer" in text for text in outcome.texts.values())


@pytest.mark.parametrize(
    "text",
    [
        # Keras
        """
        def train(model):
            model.compile(loss="mse", optimizer="adam")  #! NPU135
        """,
        """
        def train(loss):
            opt = tf.keras.optimizers.Adam(0.1)
            return opt.apply_gradients(loss)  #! NPU135
        """,
        # made where it can't be seen
        """
        def train(opt, loss):
            return opt.minimize(loss)  #! NPU135
        """,
        """
        import elsewhere

        def train(loss):
            opt = elsewhere.make()
            return opt.apply_gradients(opt.compute_gradients(loss))  #! NPU135
        """,
        # in another graph
        """
        opt = tf.train.AdamOptimizer(0.1)

        def model_fn(loss):
            return opt.minimize(loss)  #! NPU135
        """,
        # bound anew on the way round
        """
        def train(loss, many):
            opt = tf.train.AdamOptimizer(0.1)
            for one in many:
                opt.minimize(one)  #! NPU135
                opt = tf.train.AdamOptimizer(one)
        """,
        # two in one statement
        """
        def train(loss):
            return tf.group(
                tf.train.AdamOptimizer(0.1).minimize(loss),  #! NPU135
                tf.train.AdamOptimizer(0.2).minimize(loss))  #! NPU135
        """,
        # one is left, so both are
        """
        def train(loss, other):
            opt = tf.train.AdamOptimizer(0.1)
            return opt.minimize(loss), other.minimize(loss)  #! NPU135
        """,
        # what Horovod does here has no counterpart
        """
        import horovod.tensorflow as hvd

        def train(loss):
            opt = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1), op=hvd.Sum)  #! NPU207
            return opt.minimize(loss)  #! NPU135
        """,
    ],
)
def test_what_can_not_be_scaled_is_said(text):
    outcome = left_as_marked(with_tf(text), loss_scale="dynamic")
    assert "LossScale" not in outcome.text


@pytest.mark.parametrize(
    "text",
    [
        "import scipy.optimize\n\nbest = scipy.optimize.minimize(abs, 0)\n",
        "import re\n\nre.compile('a')\n",
        """
        class Problem(object):
            def solve(self):
                return self.minimize()
        """,
        """
        class OptimizerTest(tf.test.TestCase):
            def test_it(self):
                tf.train.AdamOptimizer(0.1).minimize(1)
        """,
        """
        class Twice(tf.train.Optimizer):
            def __init__(self, opt):
                self._opt = opt

            def apply_gradients(self, grads_and_vars, global_step=None, name=None):
                return self._opt.apply_gradients(grads_and_vars, global_step, name)
        """,
    ],
)
def test_what_does_not_train(text):
    untouched(with_tf(text), loss_scale="dynamic")


# Faults that were found in scripts of many styles


def test_the_scaler_stands_before_gradients_are_computed_wherever_that_is():
    becomes(
        "opt = tf.train.AdamOptimizer(lr); towers = []\n"
        "for part in loss:\n"
        "    towers.append(opt.compute_gradients(part))\n"
        "return opt.apply_gradients(flag(towers))",
        f"opt = tf.train.AdamOptimizer(lr); towers = []\n{SCALER}\n"
        "for part in loss:\n"
        "    towers.append(opt.compute_gradients(part))\n"
        "return opt.apply_gradients(flag(towers))",
    )


@pytest.mark.parametrize(
    "trained",
    [
        "opt.minimize(loss + slope)",
        "opt.apply_gradients([(g, v) for g, v in opt.compute_gradients(loss + slope)])",
    ],
)
def test_a_gradient_in_the_loss_is_no_gradient_that_is_applied(trained):
    penalty = "slope = tf.norm(tf.gradients(flag(loss), [loss])[0])"
    becomes(
        f"opt = tf.train.AdamOptimizer(lr)\n{penalty}\nreturn {trained}",
        f"opt = tf.train.AdamOptimizer(lr)\n{SCALER}\n{penalty}\nreturn {trained}",
    )


@pytest.mark.parametrize(
    "trained",
    [
        "tf.contrib.training.create_train_op(loss, opt)",
        "tf.contrib.slim.learning.create_train_op(loss, optimizer=opt)",
        "tf.contrib.layers.optimize_loss(loss, None, lr, opt)",
    ],
)
def test_functions_that_train_with_the_optimizer_they_take(trained):
    becomes(
        f"opt = tf.train.AdamOptimizer(lr)\nreturn {trained}",
        f"opt = tf.train.AdamOptimizer(lr)\n{SCALER}\nreturn {trained}",
    )


def test_an_optimizer_that_is_only_named_is_reported():
    script = with_tf(
        train_with('return tf.contrib.layers.optimize_loss(loss, None, lr, "Adam")  #! NPU135')
    )
    outcome = untouched(script, loss_scale="dynamic")
    assert "named here" in outcome.of("NPU135")[0].message


def test_a_script_that_trains_eagerly_is_reported():
    untouched(
        """
        import tensorflow as tf

        tf.enable_eager_execution()  #! NPU906
        opt = tf.train.AdamOptimizer(0.1)

        def step(loss):
            opt.apply_gradients(tf.contrib.eager.implicit_gradients(loss)())  #! NPU135
        """,
        loss_scale="dynamic",
    )


# Under a strategy of tf.distribute ----------------------------------------------------------------

UNDER_STRATEGY = """
def model_fn(features, labels, mode):
    loss = tf.get_variable('w', []) ** 2
    train_op = tf.train.AdamOptimizer().minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
"""
STRATEGY = "tf.distribute.MirroredStrategy()"


def test_no_scaling_is_added_where_a_strategy_stays():
    text = (
        f"import conf\n{UNDER_STRATEGY}e = tf.estimator.Estimator(model_fn, config=conf.make(S))\n"
    )
    conf = "import tensorflow as tf\ndef make(s):\n    return tf.estimator.RunConfig(**{'d': s})\n"
    files = {"conf.py": conf, "train.py": with_tf(text.replace("S)", f"{STRATEGY})"))}
    outcome = migrate(files, loss_scale="dynamic")
    assert "NPULossScaleOptimizer" not in outcome.texts["train.py"]
    assert "a strategy of tf.distribute stays" in outcome.messages("NPU135")
    assert len(outcome.of("NPU218")) == 1


@pytest.mark.parametrize(
    "config",
    [
        f"c = tf.estimator.RunConfig(train_distribute={STRATEGY})\n",
        f"s = {STRATEGY}\nc = tf.estimator.RunConfig()\nc = c.replace(train_distribute=s)\n",
    ],
)
def test_scaling_is_added_where_the_strategy_goes(config):
    text = f"{UNDER_STRATEGY}{config}e = tf.estimator.Estimator(model_fn, config=c)\n"
    outcome = migrate(with_tf(text), loss_scale="dynamic")
    assert "NPULossScaleOptimizer" in outcome.text
    assert STRATEGY not in "".join(x for x in outcome.text.splitlines() if not x.startswith("#"))
    assert outcome.left == []
