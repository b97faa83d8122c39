"""Mixed precision becomes the precision mode of sessions and Estimators."""

import pytest
from support import left_as_marked, migrate, untouched, with_tf

REWRITE = "tf.train.experimental.enable_mixed_precision_graph_rewrite"
MIXED = '"mixed_float16"'


def session(text, files=None, **options):
    """What ``script.py`` hands to the last session or Estimator, once it is migrated."""
    outcome = migrate({"script.py": with_tf(text), **(files or {})}, **options)
    return outcome.texts["script.py"].splitlines()[-1].partition("config=")[2]


def npu(mode=""):
    inner = "npu_config_proto()"
    return f"set_precision_mode({inner}{', ' + mode if mode else ''}))"


@pytest.mark.parametrize(
    "switch",
    [
        "os.environ['TF_ENABLE_AUTO_MIXED_PRECISION'] = '1'",
        "os.environ['TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE'] = '1'",
        "os.environ.setdefault('TF_ENABLE_AUTO_MIXED_PRECISION', '1')",
        f"opt = {REWRITE}(tf.train.AdamOptimizer())",
    ],
)
def test_what_is_always_on_is_set(switch):
    assert session(f"import os\n{switch}\nsess = tf.Session()\n") == npu(MIXED)


@pytest.mark.parametrize(
    "switch",
    [
        "os.environ['TF_ENABLE_AUTO_MIXED_PRECISION'] = '1' if FLAGS.amp else '0'",
        "if FLAGS.amp: os.environ['TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE'] = '1'",
        "config.graph_options.rewrite_options.auto_mixed_precision = 1",
        "tf.config.optimizer.set_experimental_options({'auto_mixed_precision': True})",
    ],
)
def test_what_can_be_seen_when_the_session_is_made_is_followed(switch):
    start = "import os\nFLAGS = tf.flags.FLAGS\nconfig = tf.ConfigProto()\n"
    outcome = migrate(with_tf(f"{start}{switch}\nsess = tf.Session()\n"))
    assert "config=set_precision_mode(npu_config_proto()))" in outcome.text
    assert [f.status.value for f in outcome.of("NPU132")] == ["migrated"]
    assert switch in outcome.text


@pytest.mark.parametrize(
    "switch",
    [
        "os.environ['TF_ENABLE_AUTO_MIXED_PRECISION'] = '0'",
        "config.graph_options.rewrite_options.auto_mixed_precision = RewriterConfig.OFF",
        "tf.config.optimizer.set_experimental_options({'auto_mixed_precision': False})",
        "os.environ['TF_ENABLE_AUTO_MIXED_PRECISION_LOSS_SCALING'] = '0'",
    ],
)
def test_what_is_switched_off_stays_off(switch):
    text = "from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig\nimport os\n"
    text += f"config = tf.ConfigProto()\n{switch}\nsess = tf.Session()\n"
    assert session(text) == "npu_config_proto())"


AMP = "TF_ENABLE_AUTO_MIXED_PRECISION"
LOSS = "loss = tf.get_variable('w', []) ** 2\n"
MINIMIZE = "op = tf.train.AdamOptimizer().minimize(loss)\n"


@pytest.mark.parametrize(
    "switch",
    [
        f"os.environ['{AMP}'] = '1'",
        f"os.environ['{AMP}_GRAPH_REWRITE'] = '1' if amp else '0'",
        f"os.environ['{AMP}'] = os.environ['{AMP}_GRAPH_REWRITE'] = '1'",
        "config.graph_options.rewrite_options.auto_mixed_precision = 1",
        "tf.config.optimizer.set_experimental_options({'auto_mixed_precision': True})",
    ],
)
@pytest.mark.parametrize("training", [MINIMIZE, "estimator.train(data)\n"])
def test_mixed_precision_without_loss_scaling_is_left_to_a_person(switch, training):
    start = f"import os\namp = 1\nconfig = tf.ConfigProto()\n{LOSS}"
    outcome = migrate(with_tf(f"{start}{switch}\n{training}sess = tf.Session()\n"))
    assert [code for _, code in outcome.left] == ["NPU136"]
    (finding,) = outcome.of("NPU136")
    assert "--loss-scale dynamic" in finding.remedy


@pytest.mark.parametrize(
    "training",
    [
        "",
        f"opt = {REWRITE}(tf.train.AdamOptimizer(), 8.0)\nop = opt.minimize(loss)\n",
        "opt = tf.train.AdamOptimizer()\n"
        "found = [(g / 64., v) for g, v in opt.compute_gradients(loss * 64.)]\n"
        "op = opt.apply_gradients(found)\n",
    ],
)
def test_programs_that_scale_their_loss_or_do_not_train(training):
    switch = f"import os\nos.environ['{AMP}'] = '1'\n"
    outcome = migrate(with_tf(f"{switch}{LOSS}{training}sess = tf.Session()\n"))
    assert outcome.of("NPU136") == []


@pytest.mark.parametrize("end, reported", [(MINIMIZE, True), ("opt = LossScaled(1)\n", False)])
def test_loss_scaling_in_another_file_of_the_program(end, reported):
    scaled = (
        "from npu_bridge.estimator.npu.npu_loss_scale_optimizer "
        f"import NPULossScaleOptimizer as LossScaled\n{LOSS}{end}"
    )
    main = f"import os, model\nos.environ['{AMP}'] = '1'\nsess = tf.Session()\n"
    outcome = migrate({"main.py": with_tf(main), "model.py": with_tf(scaled)})
    assert bool(outcome.of("NPU136")) is reported


def test_a_loss_scale_that_is_added_is_enough():
    switch = f"import os\nos.environ['{AMP}'] = os.environ['{AMP}_LOSS_SCALING'] = '1'\n"
    text = with_tf(f"{switch}{LOSS}{MINIMIZE}sess = tf.Session()\n")
    assert migrate(text, loss_scale="dynamic").left == []
    assert [code for _, code in migrate(text).left] == ["NPU140"]


def test_without_a_session_a_person_must_set_it():
    outcome = migrate("import os\nos.environ['TF_ENABLE_AUTO_MIXED_PRECISION'] = '1'\n")
    assert outcome.left == [(2, "NPU132")]


def test_a_configuration_that_no_estimator_here_gets_carries_nothing():
    outcome = migrate("""
        import os
        import tensorflow as tf
        from models import make_estimator

        os.environ['TF_ENABLE_AUTO_MIXED_PRECISION'] = '1'
        make_estimator(tf.estimator.RunConfig(model_dir='x'))
        """)
    assert (6, "NPU132") in outcome.left


def test_a_rewrite_that_trains_nothing_goes_with_its_loss_scale():
    text = with_tf(
        f"""\
        def evaluate(opt):
            dummy = tf.no_op()
            if FLAGS.amp:
                scaler = tf.train.experimental.FixedLossScale(1)
                dummy = {REWRITE}(opt, scaler)
            return opt
        FLAGS = tf.flags.FLAGS
        sess = tf.Session()
        """
    )
    outcome = migrate(text)
    assert outcome.left == []
    assert outcome.text.count("\n    # ") == 3
    assert outcome.text.endswith(npu(f"{MIXED} if FLAGS.amp else None") + "\n")


# Conditions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "condition, build",
    [
        ("FLAGS.amp", f"if FLAGS.amp:\n    opt = {REWRITE}(opt)\n  return opt"),
        ("FLAGS.amp", f"if not FLAGS.amp:\n    return opt\n  return {REWRITE}(opt)"),
        ("FLAGS.amp", f"return {REWRITE}(opt) if FLAGS.amp else opt"),
        (
            "not FLAGS.fp32",
            f"if FLAGS.fp32:\n    pass\n  else:\n    opt = {REWRITE}(opt)\n  return opt",
        ),
        (
            "FLAGS.kind == 'amp' and FLAGS.train",
            f"if FLAGS.train:\n    if FLAGS.kind == 'amp':\n      return {REWRITE}(opt)",
        ),
    ],
)
def test_the_condition_is_asked_at_the_session(condition, build):
    text = f"FLAGS = tf.flags.FLAGS\ndef build(opt):\n  {build}\nsess = tf.Session()\n"
    given = session(text)
    if " and " in condition:
        assert all(part in given for part in condition.split(" and "))
    else:
        assert given == npu(f"{MIXED} if {condition} else None")


MODEL = {
    "model.py": with_tf(
        f"""\
        def build(opt, fp16=False):
            if fp16:
                opt = {REWRITE}(opt)
            return opt
        """
    )
}


def test_a_parameter_is_what_the_calls_hand_over():
    text = (
        "import model\nFLAGS = tf.flags.FLAGS\nmodel.build(opt, FLAGS.amp)\nsess = tf.Session()\n"
    )
    assert session(text, MODEL) == npu(f"{MIXED} if FLAGS.amp else None")


def test_a_parameter_that_no_call_hands_over_has_its_default():
    text = "import model\nmodel.build(opt)\nsess = tf.Session()\n"
    outcome = migrate({"script.py": with_tf(text), **MODEL})
    assert "set_precision_mode" not in outcome.texts["script.py"]
    assert outcome.of("NPU405") == []


def test_what_can_not_be_asked_is_left_to_a_person():
    text = with_tf(
        f"""\
        def build(opt, flags):
            if flags():
                opt = {REWRITE}(opt)
            return opt

        sess = tf.Session()
        """
    )
    outcome = migrate(text)
    assert outcome.left == [(7, "NPU405")]
    assert "set_precision_mode(npu_config_proto(), None)" in outcome.text


OPEN = """\
import tensorflow as tf
from npu_bridge.npu_init import npu_config_proto
from npu_migrate.runtime import set_precision_mode
sess = tf.Session(config=set_precision_mode(npu_config_proto(), {}))
"""


@pytest.mark.parametrize("mode", ["None", "mode=None"])
def test_what_is_left_open_is_left_until_a_person_decides(mode):
    outcome = migrate(OPEN.format(mode))
    assert outcome.text == OPEN.format(mode)
    assert outcome.left == [(4, "NPU405")]


@pytest.mark.parametrize("mode", ['"mixed_float16" if flags() else None', '"origin"'])
def test_what_a_person_has_decided_stays(mode):
    assert not untouched(OPEN.format(mode)).findings


def test_the_option_decides_what_is_left_open():
    outcome = migrate(OPEN.format("None"), precision_mode="origin")
    assert outcome.left == []
    assert outcome.text == OPEN.format('"origin"')


def test_what_is_left_open_is_reported_in_every_kind_of_program():
    switch = f"def build(opt, flags):\n    if flags():\n        return {REWRITE}(opt)\n"
    for program in (
        "with tf.train.MonitoredSession() as sess:\n    pass\n",
        "estimator = tf.estimator.Estimator(model_fn)\n",
        "tf.keras.Sequential([]).fit(x)\n",
    ):
        outcome = migrate(with_tf(switch) + program)
        assert "None)" in outcome.text and len(outcome.of("NPU405")) == 1


def test_what_can_be_asked_is_told_apart_from_what_can_not():
    text = with_tf(
        f"""\
        def build(opt, flags):
            if flags():
                opt = {REWRITE}(opt)
            return opt

        def main(flags):
            if flags.amp:
                opt = {REWRITE}(tf.train.AdamOptimizer())
            return tf.Session()  #! NPU405
        """
    )
    outcome = migrate(text)
    mode = "set_precision_mode(npu_config_proto(), None)"
    assert f'set_precision_mode({mode}, "mixed_float16" if flags.amp else None)' in outcome.text
    message = outcome.messages("NPU405")
    assert "is also switched on" in message and "only where flags.amp" in message


@pytest.mark.parametrize(
    "switch",
    [
        "os.environ['TF_ENABLE_AUTO_MIXED_PRECISION'] = '1'",
        "config.graph_options.rewrite_options.auto_mixed_precision = 1",
        "tf.config.optimizer.set_experimental_options({'auto_mixed_precision': True})",
    ],
)
def test_a_switch_of_its_own_says_when_a_session_has_mixed_precision(switch):
    text = with_tf(
        f"""\
        import os

        def build(opt, params):
            if params.use_amp:
                opt = {REWRITE}(opt)
            return opt.minimize(loss)

        def main(flags):
            config = tf.ConfigProto()
            if flags.use_amp:
                {switch}
            return tf.Session(config=config)

        def evaluate():
            return tf.Session()  #! NPU405
        """
    )
    outcome = left_as_marked(text)
    assert "set_precision_mode(npu_config_proto(config_proto=config))" in outcome.text


def test_training_or_not_is_no_condition():
    text = f"""\
def model_fn(features, labels, mode):
  if mode == tf.estimator.ModeKeys.PREDICT:
    return None
  if mode == tf.estimator.ModeKeys.TRAIN:
    return {REWRITE}(tf.train.AdamOptimizer())
estimator = tf.estimator.Estimator(model_fn, config=tf.estimator.RunConfig())
"""
    run_config = "npu_run_config_init(run_config=tf.estimator.RunConfig())"
    assert session(text) == f"set_precision_mode({run_config}, {MIXED}))"


# Files that run together ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "training",
    [
        "tf.estimator.Estimator(model_fn)",
        "tf.estimator.train_and_evaluate(tf.estimator.DNNClassifier([1], []), a, b)",
        "tf.keras.Sequential([]).fit(x)",
    ],
)
def test_whatever_trains_carries_the_precision(training):
    text = f"import os\nos.environ['TF_ENABLE_AUTO_MIXED_PRECISION'] = '1'\nx = {training}\n"
    outcome = migrate(with_tf(text))
    assert MIXED in outcome.text
    assert {code for _, code in outcome.left} <= {"NPU136"}


def test_every_session_of_the_program_gets_it_and_no_other():
    files = {
        "train.py": with_tf(f"import model\nopt = {REWRITE}(opt)\nsess = tf.Session()\n"),
        "model.py": with_tf("def check():\n  return tf.Session()\n"),
        "evaluate.py": with_tf("import model\nsess = tf.Session()\n"),
    }
    texts = migrate(files).texts
    assert "set_precision_mode" in texts["train.py"]
    assert "set_precision_mode" in texts["model.py"]
    assert "set_precision_mode" not in texts["evaluate.py"]


# The option -----------------------------------------------------------------------------------


def test_the_option_sets_every_session():
    text = "FLAGS = tf.flags.FLAGS\nsess = tf.Session()\n"
    given = session(text, precision_mode="force_fp16")
    assert given == npu('"force_fp16"')


def test_the_option_sets_what_runs_on_the_npu_already():
    text = "from npu_bridge.npu_init import npu_config_proto\n"
    text += "sess = tf.Session(config=npu_config_proto())\n"
    assert session(text, precision_mode="origin") == npu('"origin"')


def test_a_precision_of_ones_own_stays():
    untouched(
        with_tf(
            """\
            import os
            os.environ['TF_ENABLE_AUTO_MIXED_PRECISION'] = '1'
            config = tf.ConfigProto()
            custom = config.graph_options.rewrite_options.custom_optimizers.add()
            custom.name = "NpuOptimizer"
            custom.parameter_map["precision_mode"].s = b"allow_mix_precision"
            sess = tf.Session(config=config)
            """
        )
    )


def test_a_switch_that_can_not_be_asked_is_named_by_its_file():
    switch = f"def build(opt, flags):\n    if flags():\n        {REWRITE}(opt)\n"
    files = {
        "__init__.py": "",
        "model.py": with_tf(switch),
        "train.py": with_tf("from . import model\nsess = tf.Session()\n"),
    }
    (finding,) = migrate(files).of("NPU405")
    assert "switched on at model.py:4" in finding.message
