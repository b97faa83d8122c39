"""Loss scaling: what each construct must become, by every way in which people reach it."""

import ast
import re
from textwrap import dedent

import pytest
from support import body, left_as_marked, migrate, untouched, with_tf

PRIVATE = {
    "FixedLossScaleManager": "tensorflow.contrib.mixed_precision.python.loss_scale_manager",
    "ExponentialUpdateLossScaleManager": (
        "tensorflow.contrib.mixed_precision.python.loss_scale_manager"
    ),
    "LossScaleOptimizer": "tensorflow.contrib.mixed_precision.python.loss_scale_optimizer",
    "FixedLossScale": "tensorflow.python.training.experimental.loss_scale",
    "DynamicLossScale": "tensorflow.python.training.experimental.loss_scale",
    "MixedPrecisionLossScaleOptimizer": (
        "tensorflow.python.training.experimental.loss_scale_optimizer"
    ),
    "enable_mixed_precision_graph_rewrite": (
        "tensorflow.python.training.experimental.mixed_precision"
    ),
}

CONTRIB_FORMS = {
    "tf": ("import tensorflow as tf", "tf.contrib.mixed_precision.{0}"),
    "tensorflow": ("import tensorflow", "tensorflow.contrib.mixed_precision.{0}"),
    "module": (
        "import tensorflow.contrib.mixed_precision",
        "tensorflow.contrib.mixed_precision.{0}",
    ),
    "module as": ("import tensorflow.contrib.mixed_precision as mp", "mp.{0}"),
    "from contrib": ("from tensorflow.contrib import mixed_precision", "mixed_precision.{0}"),
    "from contrib as": ("from tensorflow.contrib import mixed_precision as m_p", "m_p.{0}"),
    "from tensorflow": (
        "from tensorflow import contrib as lib",
        "lib.mixed_precision.{0}",
    ),
    "name": ("from tensorflow.contrib.mixed_precision import {0}", "{0}"),
    "name as": ("from tensorflow.contrib.mixed_precision import {0} as My{0}", "My{0}"),
    "private name": ("from {1} import {0} as Own{0}", "Own{0}"),
    "private module": ("import {1}", "{1}.{0}"),
    "alias": ("import tensorflow as tf\namp = tf.contrib.mixed_precision", "amp.{0}"),
    "alias of alias": (
        "import tensorflow as tf\namp = tf.contrib\nmp = amp.mixed_precision",
        "mp.{0}",
    ),
}
EXPERIMENTAL_FORMS = {
    "tf": ("import tensorflow as tf", "tf.train.experimental.{0}"),
    "tf.compat.v1": ("import tensorflow as tf", "tf.compat.v1.train.experimental.{0}"),
    "compat as": ("import tensorflow.compat.v1 as tf1", "tf1.train.experimental.{0}"),
    "from compat": ("from tensorflow.compat import v1", "v1.train.experimental.{0}"),
    "from v1": ("from tensorflow.compat.v1 import train", "train.experimental.{0}"),
    "private name": ("from {1} import {0} as Own{0}", "Own{0}"),
    "private module": ("import {1} as internal_{0}", "internal_{0}.{0}"),
    "alias": ("import tensorflow as tf\nexp = tf.train.experimental", "exp.{0}"),
}


def scaled(optimizer, manager):
    """The one-expression form for a script without Horovod."""
    return (
        f"NPULossScaleOptimizer(NPUDistributedOptimizer({optimizer}) if ops_adapter.size() > 1"
        f" else {optimizer}, {manager}, is_distributed=ops_adapter.size() > 1)"
    )


def dynamic(init="2 ** 15", period="2000", multiplier="2.0", inverse="0.5"):
    """What a ``DynamicLossScale`` must become to move alike."""
    return (
        f"ExponentialUpdateLossScaleManager(init_loss_scale={init}, incr_every_n_steps={period},"
        f" decr_every_n_nan_or_inf=1, incr_ratio={multiplier}, decr_ratio={inverse})"
    )


CONTRIB_ROWS = [
    ("<FixedLossScaleManager>(8)", "FixedLossScaleManager(8)"),
    ("<FixedLossScaleManager>(loss_scale=s)", "FixedLossScaleManager(loss_scale=s)"),
    (
        "<ExponentialUpdateLossScaleManager>(8., 1000, incr_ratio=4, decr_ratio=0.25)",
        "ExponentialUpdateLossScaleManager(8., 1000, incr_ratio=4, decr_ratio=0.25)",
    ),
    ("<LossScaleOptimizer>(opt, s)", scaled("opt", "s")),
    (
        "<LossScaleOptimizer>(opt, <FixedLossScaleManager>(128))",
        scaled("opt", "FixedLossScaleManager(128)"),
    ),
]
EXPERIMENTAL_ROWS = [
    (
        "<MixedPrecisionLossScaleOptimizer>(opt, <FixedLossScale>(8))",
        scaled("opt", "FixedLossScaleManager(8)"),
    ),
    (
        "<MixedPrecisionLossScaleOptimizer>(opt, <FixedLossScale>(loss_scale_value=s))",
        scaled("opt", "FixedLossScaleManager(loss_scale=s)"),
    ),
    ("<MixedPrecisionLossScaleOptimizer>(opt, <DynamicLossScale>())", scaled("opt", dynamic())),
    (
        "<MixedPrecisionLossScaleOptimizer>(opt, <DynamicLossScale>(s, 10, multiplier=4))",
        scaled("opt", dynamic("s", "10", "4", "0.25")),
    ),
    ("<MixedPrecisionLossScaleOptimizer>(opt, 'dynamic')", scaled("opt", dynamic())),
    ("<MixedPrecisionLossScaleOptimizer>(opt, 8.)", scaled("opt", "FixedLossScaleManager(8.)")),
    (
        "<enable_mixed_precision_graph_rewrite>(opt, 8)",
        scaled("opt", "FixedLossScaleManager(8)"),
    ),
    (
        "<enable_mixed_precision_graph_rewrite>(opt, <DynamicLossScale>(increment_period=9))",
        scaled("opt", dynamic(period="9")),
    ),
]


def script_for(form, expression):
    importing, callee = form
    names = sorted(set(re.findall(r"<(\w+)>", expression)))
    imports = {line: None for n in names for line in importing.format(n, PRIVATE[n]).split("\n")}
    code = re.sub(r"<(\w+)>", lambda m: callee.format(m.group(1), PRIVATE[m.group(1)]), expression)
    return "\n".join(imports) + f"\n\ndef build(opt, s):\n    return {code}\n"


def becomes(form, given, expected):
    outcome = left_as_marked(script_for(form, given))
    build = body(outcome.text, "build")
    found = calls_with_keywords(build)
    assert found == calls_with_keywords(f"def build(opt, s):\n    return {expected}\n"), build
    imports = [n for n in outcome.text.splitlines() if n.startswith(("import ", "from "))]
    assert not any("contrib" in line or "experimental" in line for line in imports)


def calls_with_keywords(text):
    """The code, where the order of keywords and how the manager is handed over don't count."""
    tree = ast.parse(text.replace("loss_scale_manager=", ""))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords.sort(key=lambda keyword: keyword.arg or "")
    return ast.dump(tree)


@pytest.mark.parametrize("given, expected", CONTRIB_ROWS)
@pytest.mark.parametrize("form", sorted(CONTRIB_FORMS))
def test_contrib(form, given, expected):
    becomes(CONTRIB_FORMS[form], given, expected)


@pytest.mark.parametrize("given, expected", EXPERIMENTAL_ROWS)
@pytest.mark.parametrize("form", sorted(EXPERIMENTAL_FORMS))
def test_experimental(form, given, expected):
    becomes(EXPERIMENTAL_FORMS[form], given, expected)


def test_import_inside_of_a_function():
    outcome = left_as_marked("""
        def build(opt):
            from tensorflow.contrib.mixed_precision import LossScaleOptimizer, FixedLossScaleManager
            return LossScaleOptimizer(opt, FixedLossScaleManager(8))
        """)
    assert scaled("opt", "FixedLossScaleManager(8)") in outcome.text
    assert "contrib" not in outcome.text


def test_star_import():
    outcome = left_as_marked("""
        from tensorflow.contrib.mixed_precision import *

        def build(opt):
            return LossScaleOptimizer(opt, FixedLossScaleManager(8))
        """)
    assert scaled("opt", "NPUFixedLossScaleManager(8)") in outcome.text


def test_import_that_may_fail():
    outcome = left_as_marked("""
        try:
            from tensorflow.contrib.mixed_precision import LossScaleOptimizer
        except ImportError:
            LossScaleOptimizer = None

        def build(opt, m):
            return LossScaleOptimizer(opt, m)
        """)
    assert scaled("opt", "m") in outcome.text


def test_names_of_another_file_of_the_run():
    outcome = migrate(
        {
            "compat.py": "from tensorflow.contrib import mixed_precision as mp\n",
            "train.py": """
                import compat
                from compat import mp

                def build(opt, m):
                    return mp.LossScaleOptimizer(opt, m), compat.mp.FixedLossScaleManager(8)
                """,
        }
    )
    text = outcome.texts["train.py"]
    assert scaled("opt", "m") in text and ", FixedLossScaleManager(8)" in text


def test_import_that_another_file_takes_from_here_stays():
    outcome = migrate(
        {
            "base.py": """
                from tensorflow.contrib import mixed_precision as mp

                def build(opt, m):
                    return mp.LossScaleOptimizer(opt, m)
                """,
            "other.py": """
                from base import mp

                class Manager(mp.LossScaleManager):
                    pass
                """,
        }
    )
    assert "from tensorflow.contrib import mixed_precision as mp" in outcome.texts["base.py"]


def test_removed_import_leaves_tensorflow_bound():
    outcome = left_as_marked("""
        import tensorflow.contrib.mixed_precision

        def build(opt, m):
            tensorflow.logging.info("scaled")
            return tensorflow.contrib.mixed_precision.LossScaleOptimizer(opt, m)
        """)
    assert re.search("(?m)^import tensorflow", outcome.text)


# What the findings must say


STRICTER = "stricter"


@pytest.mark.parametrize(
    "wrapped",
    [
        "MixedPrecisionLossScaleOptimizer(opt, tf.train.experimental.FixedLossScale(8))",
        "MixedPrecisionLossScaleOptimizer(opt, 8.)",
        "enable_mixed_precision_graph_rewrite(opt, 8.)",
    ],
)
def test_fixed_scale_is_said_to_be_stricter(wrapped):
    outcome = migrate(with_tf(f"def build(opt):\n    return tf.train.experimental.{wrapped}\n"))
    assert STRICTER in outcome.messages()


@pytest.mark.parametrize(
    "wrapped",
    [
        "MixedPrecisionLossScaleOptimizer(opt, tf.train.experimental.DynamicLossScale())",
        "MixedPrecisionLossScaleOptimizer(opt, 'dynamic')",
        "enable_mixed_precision_graph_rewrite(opt)",
    ],
)
def test_dynamic_scale_is_said_not_to_restore(wrapped):
    outcome = migrate(with_tf(f"def build(opt):\n    return tf.train.experimental.{wrapped}\n"))
    assert "checkpoint" in outcome.messages() and STRICTER not in outcome.messages()


def test_graph_rewrite_is_said_to_need_a_setting_of_the_session():
    outcome = migrate(
        with_tf("""
        def build(opt):
            return tf.train.experimental.enable_mixed_precision_graph_rewrite(opt)
        """)
    )
    assert "precision_mode" in outcome.messages("NPU107")


@pytest.mark.parametrize(
    "statement",
    [
        "tf.train.experimental.enable_mixed_precision_graph_rewrite(tf.keras.optimizers.SGD())",
        "tf.keras.mixed_precision.experimental.LossScaleOptimizer(sgd, 'dynamic')",
        "model.compile(tf.contrib.mixed_precision.LossScaleOptimizer(opt, m), 'mse')",
        "model.compile(optimizer=tf.contrib.mixed_precision.LossScaleOptimizer(opt, m))",
        "model.compile(tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, 8), 'mse')",
    ],
)
def test_keras_is_not_supported(statement):
    parameters = "model, opt, m, sgd"
    text = with_tf(f"def build({parameters}):\n    {statement}\n")
    outcome = migrate(text)
    (finding,) = [f for f in outcome.findings if f.status.value != "migrated"]
    assert (finding.status.value, finding.line) == ("unsupported", 3)
    assert outcome.text == text


@pytest.mark.parametrize(
    "made",
    [
        "AdamOfOurs()",
        "helper()",
        "optimizers.make()",
        "optimizers.Lamb()",
        "adam.Adam()",
    ],
)
@pytest.mark.parametrize("kept", ["opt", "model.optimizer"])
def test_keras_optimizers_are_known_wherever_they_come_from(made, kept):
    files = {
        "optimizers.py": """\
            import tensorflow as tf

            class Adam(tf.keras.optimizers.Adam):
                pass

            class Lamb(Adam):
                pass

            def make():
                opt = Lamb()
                return opt
            """,
        "train.py": f"""\
            import tensorflow as tf
            import optimizers
            from tensorflow.python.keras.optimizer_v2 import adam

            rewrite = tf.train.experimental.enable_mixed_precision_graph_rewrite

            class AdamOfOurs(tf.keras.optimizers.Adam):
                pass

            def helper():
                return AdamOfOurs()

            def prepare(model):
                {kept} = {made}
                {kept} = rewrite({kept})  #! NPU108
                return {kept}
            """,
    }
    outcome = left_as_marked(files)
    assert outcome.texts == {path: dedent(text) for path, text in files.items()}


# Loss scales that are called


CALLED = [
    (
        """
        def build(opt):
            s = tf.train.experimental.DynamicLossScale()
            opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, s)
            return opt, s(), tf.identity(s(), name="scale"), tf.summary.scalar("s", s())
        """,
        3,
    ),
    (
        """
        class Trainer(object):
            def __init__(self, opt):
                self.scaler = tf.train.experimental.FixedLossScale(8)
                self.opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, self.scaler)

            def log(self):
                scale = self.scaler
                return self.scaler(), scale()
        """,
        2,
    ),
    (
        """
        def make():
            return tf.train.experimental.DynamicLossScale(2. ** 10)

        def build(opt):
            s = make()
            opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, s)
            return opt, s()
        """,
        1,
    ),
    (
        """
        def report(scaler):
            return scaler()

        def build(opt):
            s = tf.train.experimental.DynamicLossScale(2. ** 10)
            opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, loss_scale=s)
            return opt, report(s)
        """,
        1,
    ),
    (
        """
        def build(opt, fp16):
            s = None
            if fp16:
                s = tf.train.experimental.DynamicLossScale(2. ** 10)
                opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(opt, s)
            return opt, s() if s is not None else None
        """,
        1,
    ),
]


@pytest.mark.parametrize("text, calls", CALLED)
def test_loss_scale_that_is_called_is_asked(text, calls):
    outcome = left_as_marked(with_tf(text))
    assert outcome.text.count(".get_loss_scale()") == calls
    assert not re.search(r"\b(s|scale|scaler)\(\)", outcome.text)
    assert "after the update" in outcome.messages("NPU111")


@pytest.mark.parametrize(
    "fetch",
    [
        "sess.run([train, 'loss_scale:0'])",
        "sess.graph.get_tensor_by_name('loss_scale:0')",
        "tf.estimator.LoggingTensorHook(['loss_scale:0'], every_n_iter=10)",
    ],
)
def test_fetch_of_the_loss_scale_by_name_is_reported(fetch):
    outcome = migrate(
        with_tf(f"""
        def build(opt, loss, sess):
            s = tf.train.experimental.DynamicLossScale()
            opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, s)
            scale = tf.identity(s(), name='loss_scale')
            train = opt.minimize(loss)
            return {fetch}, scale, train
        """)
    )
    assert [(f.line, f.code[:4]) for f in outcome.findings if "loss_scale:0" in f.message] == [
        (8, "NPU1")
    ]


def test_fetch_of_the_loss_scale_by_another_file_is_reported():
    outcome = migrate(
        {
            "train.py": with_tf("""
                def build(opt, loss):
                    m = tf.train.experimental.DynamicLossScale(8., 100)
                    opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, m)
                    return opt.minimize(loss)
                """),
            "hooks.py": "def report(sess):\n    return sess.run('loss_scale:0')\n",
        }
    )
    assert [f.line for f in outcome.findings if f.path == "hooks.py"] == [2]


# Managers under control dependencies


@pytest.mark.parametrize(
    "given, manager",
    [
        (
            """
            with tf.control_dependencies(ops):
                opt = mp.LossScaleOptimizer(opt, mp.ExponentialUpdateLossScaleManager(8, 100))
                return opt.minimize(loss)
            """,
            "(8, 100)",
        ),
        (
            """
            with tf.control_dependencies(ops):
                manager = mp.ExponentialUpdateLossScaleManager(8, 100)
                return mp.LossScaleOptimizer(opt, manager).minimize(loss)
            """,
            "(8, 100)",
        ),
        (
            """
            with tf.control_dependencies(ops):
                with tf.name_scope("train"), tf.control_dependencies([loss]):
                    scale = tf.train.experimental.DynamicLossScale(8., 100)
                    opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, scale)
                    return opt.minimize(loss)
            """,
            "init_loss_scale=8.",
        ),
        (
            """
            if ops:
                with tf.control_dependencies(ops):
                    opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(opt)
                    return opt.minimize(loss)
            """,
            "init_loss_scale=2 ** 15",
        ),
    ],
)
def test_manager_is_lifted_out_of_control_dependencies(given, manager):
    text = with_tf("mp = tf.contrib.mixed_precision\n\ndef build(opt, loss, ops):\n") + given
    outcome = left_as_marked(text.replace("\n            ", "\n    "))
    build = body(outcome.text, "build").splitlines()
    (made,) = [n for n, line in enumerate(build) if manager in line]
    (block,) = [n for n, line in enumerate(build) if "control_dependencies(ops)" in line]
    detached = "control_dependencies(None)" in build[made - 1]
    assert made < block or detached


def test_fixed_manager_may_stay_in_control_dependencies():
    outcome = left_as_marked(
        with_tf("""
        def build(opt, loss, ops):
            with tf.control_dependencies(ops):
                m = tf.contrib.mixed_precision.FixedLossScaleManager(8)
                return tf.contrib.mixed_precision.LossScaleOptimizer(opt, m).minimize(loss)
        """)
    )
    assert "        m = FixedLossScaleManager(8)" in outcome.text


def test_manager_that_needs_the_block_is_reported():
    left_as_marked(
        with_tf("""
        def build(opt, loss, ops, compute):
            with tf.control_dependencies(ops):
                init = compute(loss)
                m = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(  #! NPU113
                    init, 100)
                return tf.contrib.mixed_precision.LossScaleOptimizer(opt, m).minimize(loss)
        """)
    )


def test_manager_of_a_helper_that_the_block_calls_is_lifted_or_reported():
    outcome = migrate(
        with_tf("""
        def make():
            return tf.train.experimental.DynamicLossScale(8., 100)

        def build(opt, loss, ops):
            with tf.control_dependencies(ops):
                opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, make())
                return opt.minimize(loss)
        """)
    )
    make = body(outcome.text, "make")
    assert make.index("with tf.control_dependencies(None):") < make.index("Manager(")


# Gradients


@pytest.mark.parametrize(
    "call",
    [
        "opt.apply_gradients(gvs, manual_fp16=True)",
        "opt.apply_gradients(gvs, None, 'name', True)",
    ],
)
def test_argument_that_does_not_pass_through_is_reported(call):
    left_as_marked(
        with_tf(f"""
        def build(opt, loss, m):
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, m)
            gvs = opt.compute_gradients(loss)
            return {call}  #! NPU115
        """)
    )


@pytest.mark.parametrize(
    "grads", ["tf.gradients(loss, tvars)", "[g / 8. for g in tf.gradients(loss * 8., tvars)]"]
)
def test_gradients_round_the_scaling_are_reported_and_left(grads):
    line = f"    grads = {grads}"
    outcome = migrate(
        with_tf(f"""
        def build(opt, loss, tvars, m):
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, m)
        {line}
            return opt.apply_gradients(list(zip(grads, tvars)))
        """)
    )
    assert (5, "NPU116") in outcome.left
    assert line in outcome.text.splitlines()


@pytest.mark.parametrize(
    "text, status, base",
    [
        ("class Mine(mp.LossScaleOptimizer):\n    pass\n", "migrated", "NPULossScaleOptimizer"),
        (
            "class Mine(mp.FixedLossScaleManager):\n    def half(self):\n        return 0.5\n",
            "migrated",
            "FixedLossScaleManager",
        ),
        (
            "class Mine(mp.LossScaleOptimizer):\n"
            "    def apply_gradients(self, grads_and_vars, global_step=None, name=None):\n"
            "        return self._opt.apply_gradients(grads_and_vars, global_step, name)\n",
            "manual",
            "mp.LossScaleOptimizer",
        ),
        (
            "class Mine(mp.ExponentialUpdateLossScaleManager):\n"
            "    def update_loss_scale(self, finite_grads):\n"
            "        return tf.no_op()\n",
            "manual",
            "mp.ExponentialUpdateLossScaleManager",
        ),
        (
            "class Mine(mp.LossScaleOptimizer):\n"
            "    def scale(self):\n"
            "        return self._loss_scale_manager.get_loss_scale()\n",
            "manual",
            "mp.LossScaleOptimizer",
        ),
    ],
)
def test_subclass(text, status, base):
    outcome = migrate(with_tf("mp = tf.contrib.mixed_precision\n\n\n" + text))
    (finding,) = outcome.of("NPU118")
    assert (finding.status.value, finding.line) == (status, 5)
    assert f"class Mine({base}):" in outcome.text


def test_manager_of_the_users_own_is_accepted():
    outcome = left_as_marked(
        with_tf("""
        class Mine(tf.contrib.mixed_precision.LossScaleManager):
            def get_loss_scale(self):
                return tf.constant(8.)

            def update_loss_scale(self, finite_grads):
                return tf.no_op()

        def build(opt):
            return tf.contrib.mixed_precision.LossScaleOptimizer(opt, Mine())
        """)
    )
    assert scaled("opt", "Mine()") in outcome.text


# Several optimizers, and rewrites that train nothing


PAIR = """
    mp = tf.contrib.mixed_precision

    class Gan(object):
        def build(self, d_loss, g_loss):
            d = mp.LossScaleOptimizer(tf.train.AdamOptimizer(), mp.FixedLossScaleManager(8))
            g = mp.LossScaleOptimizer(tf.train.AdamOptimizer(), mp.FixedLossScaleManager(8))
            self.d_op, self.g_op = d.minimize(d_loss), g.minimize(g_loss)
            d_op = d.minimize(d_loss)
            g_op = g.minimize(g_loss)
            self.d_train = d.minimize(d_loss)
            self.g_train = g.minimize(g_loss)
            return {returned}

        def train(self, sess, d_op, g_op):
            {run}
    """


@pytest.mark.parametrize(
    "returned, run, line",
    [
        ("tf.group(d_op, g_op)", "pass", 14),
        ("tf.group([d_op, g_op])", "pass", 14),
        ("None", "sess.run([self.d_train, self.g_train])", 17),
        ("None", "sess.run({'d': self.d_train, 'g': self.g_train})", 17),
    ],
)
def test_two_optimizers_in_one_run(returned, run, line):
    outcome = migrate(with_tf(PAIR.format(returned=returned, run=run)))
    (finding,) = outcome.of("NPU119")
    assert finding.line == line and "7, 8" in finding.message
    assert outcome.text.count("= NPULossScaleOptimizer(") >= 2


def test_two_optimizers_in_separate_runs():
    outcome = migrate(
        with_tf(PAIR.format(returned="d_op, g_op", run="sess.run(d_op), sess.run(g_op)"))
    )
    assert outcome.left == []


def test_one_manager_counts_twice():
    outcome = migrate(
        with_tf("""
        mp = tf.contrib.mixed_precision

        def build(d_loss, g_loss):
            m = mp.ExponentialUpdateLossScaleManager(8, 100)
            d = mp.LossScaleOptimizer(tf.train.AdamOptimizer(), m).minimize(d_loss)
            g = mp.LossScaleOptimizer(tf.train.AdamOptimizer(), m).minimize(g_loss)
            return d, g
        """)
    )
    (finding,) = outcome.of("NPU120")
    assert "7, 8" in finding.message


@pytest.mark.parametrize(
    "statement",
    [
        "tf.train.experimental.enable_mixed_precision_graph_rewrite(tf.train.AdamOptimizer())",
        "dummy = tf.train.experimental.enable_mixed_precision_graph_rewrite(tf.no_op())",
        "dummy_op = tf.train.experimental.enable_mixed_precision_graph_rewrite(\n"
        "        tf.train.GradientDescentOptimizer(1.0))",
    ],
)
def test_rewrite_that_trains_nothing(statement):
    outcome = migrate(with_tf(f"def evaluate(model):\n    {statement}\n    return model()\n"))
    ((line, code),) = outcome.left
    assert (line, code) == (3, "NPU121")
    assert "NPULossScaleOptimizer" not in outcome.text


@pytest.mark.parametrize(
    "statement",
    [
        'os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"',
        "os.environ['TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE'] = '1'",
        "os.putenv('TF_ENABLE_AUTO_MIXED_PRECISION_LOSS_SCALING', '1')",
        "os.environ.setdefault('TF_ENABLE_AUTO_MIXED_PRECISION', '1')",
        "os.environ.update({'TF_ENABLE_AUTO_MIXED_PRECISION': '1'})",
    ],
)
def test_mixed_precision_by_the_environment(statement):
    outcome = migrate(f"import os\n{statement}\n")
    assert [(f.line, f.code[:4]) for f in outcome.findings] == [(2, "NPU1")]
    assert "precision_mode" in outcome.messages() + outcome.findings[0].remedy


# Finite checks


def test_finite_check_around_the_norm_with_a_name_between():
    outcome = left_as_marked(
        with_tf("""
        def build(opt, loss, m):
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, m)
            grads, tvars = zip(*opt.compute_gradients(loss))
            finite = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g in grads])
            norm = tf.cond(finite, lambda: tf.global_norm(grads), lambda: tf.constant(1.0))
            clipped, _ = tf.clip_by_global_norm(grads, 1.0, use_norm=norm)
            return opt.apply_gradients(list(zip(clipped, tvars)))
        """)
    )
    build = body(outcome.text, "build")
    assert "norm = tf.global_norm(grads)" in build and "finite" not in build


def test_finite_check_that_something_else_reads():
    left_as_marked(
        with_tf("""
        def build(opt, loss, m):
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, m)
            grads, tvars = zip(*opt.compute_gradients(loss))
            finite = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g in grads])  #! NPU124
            tf.summary.scalar("finite", tf.cast(finite, tf.float32))
            clipped, _ = tf.clip_by_global_norm(grads, 1.0, use_norm=tf.cond(
                finite, lambda: tf.global_norm(grads), lambda: tf.constant(1.0)))
            return opt.apply_gradients(list(zip(clipped, tvars)))
        """)
    )


@pytest.mark.parametrize("check", ["tf.is_finite", "tf.math.is_nan", "tf.debugging.is_inf"])
def test_finite_check_that_skips_the_update(check):
    untouched(
        with_tf(f"""
        def build(opt, loss):
            gvs = opt.compute_gradients(loss)
            bad = tf.reduce_any([tf.reduce_any({check}(g)) for g, _ in gvs])  #! NPU124
            return tf.cond(bad, tf.no_op, lambda: opt.apply_gradients(gvs))
        """)
    )


def test_finite_check_of_something_else_is_no_concern_of_loss_scaling():
    untouched(
        with_tf("""
        def clean(features):
            return tf.where(tf.is_nan(features), tf.zeros_like(features), features)  #! NPU910
        """)
    )


# Not decidable


@pytest.mark.parametrize(
    "text",
    [
        """
        def build(opt, scale):
            return tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, scale)  #! NPU110
        """,
        """
        def build(contrib, opt, m):
            return contrib().mixed_precision.LossScaleOptimizer(opt, m)  #! NPU903
        """,
        """
        if tf.__version__ == "1.15.5":
            mp = tf.contrib.mixed_precision
        else:
            import mine as mp

        def build(opt, m):
            return mp.LossScaleOptimizer(opt, m)  #! NPU901
        """,
        """
        def build(args):
            return tf.contrib.mixed_precision.LossScaleOptimizer(*args)  #! NPU902
        """,
    ],
)
def test_what_cannot_be_decided_is_reported_and_left(text):
    untouched(with_tf(text))


@pytest.mark.parametrize(
    "text",
    [
        """
        class LossScaleOptimizer(object):
            pass

        def build(opt, m):
            return LossScaleOptimizer(opt, m)
        """,
        """
        def build(tf, opt, m):
            return tf.contrib.mixed_precision.LossScaleOptimizer(opt, m)  #! NPU903
        """,
        """
        import numpy as tf

        def build(opt, m):
            return tf.contrib.mixed_precision.LossScaleOptimizer(opt, m)
        """,
        """
        class Mine(object):
            def LossScaleOptimizer(self, opt, m):
                return opt, m

            def build(self, opt, m):
                return self.LossScaleOptimizer(opt, m)
        """,
    ],
)
def test_what_only_looks_alike_stays(text):
    untouched(text)
