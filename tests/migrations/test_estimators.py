"""Estimators get a configuration that runs on the NPU."""

import pytest

from tests.migrations.support import left_as_marked, migrate, untouched, with_tf

INIT = "from npu_bridge.npu_init import npu_run_config_init"


def line_of(outcome, word):
    (line,) = [one.strip() for one in outcome.text.splitlines() if one.strip().startswith(word)]
    return line


@pytest.mark.parametrize(
    "call, migrated",
    [
        ("Estimator(fn, config=rc)", "Estimator(fn, config=npu_run_config_init(run_config=rc))"),
        ("Estimator(fn, 'd', rc)", "Estimator(fn, 'd', npu_run_config_init(run_config=rc))"),
        ("Estimator(fn)", "Estimator(fn, config=npu_run_config_init())"),
        ("Estimator(fn, config=None)", "Estimator(fn, config=npu_run_config_init())"),
        ("Estimator(fn, 'd', None, {})", "Estimator(fn, 'd', npu_run_config_init(), {})"),
        (
            "LinearClassifier(columns, config=rc)",
            "LinearClassifier(columns, config=npu_run_config_init(run_config=rc))",
        ),
        (
            "DNNClassifier([4], columns, None, 2, None, None, 'Adam', act, None, None, rc)",
            "DNNClassifier([4], columns, None, 2, None, None, 'Adam', act, None, None, "
            "npu_run_config_init(run_config=rc))",
        ),
        (
            "BoostedTreesRegressor(columns, 1)",
            "BoostedTreesRegressor(columns, 1, config=npu_run_config_init())",
        ),
    ],
)
def test_the_config_goes_through_npu_run_config_init(call, migrated):
    outcome = migrate(with_tf(f"e = tf.estimator.{call}\n"))
    assert line_of(outcome, "e = ") == f"e = tf.estimator.{migrated}"
    assert INIT in outcome.text


@pytest.mark.parametrize(
    "imports, name",
    [
        ("import tensorflow as tf", "tf.contrib.learn.DNNClassifier"),
        ("from tensorflow.contrib import learn", "learn.LinearRegressor"),
        ("import tensorflow.compat.v1 as tf", "tf.estimator.BaselineClassifier"),
        ("from tensorflow.estimator import Estimator as E", "E"),
        ("from tensorflow.python.estimator.estimator import Estimator", "Estimator"),
        ("from tensorflow_estimator.python.estimator.estimator import Estimator", "Estimator"),
        ("import tensorflow as tf", "tf.contrib.estimator.RNNClassifier"),
    ],
)
def test_every_way_to_an_estimator(imports, name):
    outcome = migrate(f"{imports}\n\ne = {name}(a, config=rc)\n")
    assert line_of(outcome, "e = ") == f"e = {name}(a, config=npu_run_config_init(run_config=rc))"


@pytest.mark.parametrize(
    "module", ["tf.contrib.tpu", "tf.estimator.tpu", "tf.compat.v1.estimator.tpu"]
)
def test_an_npu_is_no_tpu(module):
    outcome = migrate(
        with_tf(f"""
            rc = {module}.RunConfig(tpu_config={module}.TPUConfig(iterations_per_loop=8))
            a = {module}.TPUEstimator(fn, config=rc, use_tpu=FLAGS.use_tpu, train_batch_size=8)
            b = {module}.TPUEstimator(fn, config=rc, train_batch_size=8)
            c = {module}.TPUEstimator(fn, None, rc, {{}}, True, 8)
        """)
    )
    config = "npu_run_config_init(run_config=rc)"
    assert f"(fn, config={config}, use_tpu=False, train_batch_size=8)" in line_of(outcome, "a = ")
    assert f"(fn, config={config}, train_batch_size=8, use_tpu=False)" in line_of(outcome, "b = ")
    assert f"(fn, None, {config}, {{}}, False, 8)" in line_of(outcome, "c = ")
    assert outcome.left == []


def test_a_tpu_estimator_must_have_a_config_of_its_own():
    untouched(with_tf("e = tf.contrib.tpu.TPUEstimator(fn, train_batch_size=8)  #! NPU427\n"))


@pytest.mark.parametrize(
    "script",
    [
        "rc = npu_run_config_init(tf.estimator.RunConfig())\n"
        "e = tf.estimator.Estimator(fn, config=rc)",
        "rc = NPURunConfig(model_dir='d')\nrc = rc.replace(tf_random_seed=1)\n"
        "e = tf.estimator.Estimator(fn, config=rc)",
        "e = NPUEstimator(fn, config=NPURunConfig())",
        "def make(rc):\n  return tf.estimator.Estimator(fn, config=rc)\n"
        "make(npu_run_config_init())\nmake(rc=NPURunConfig())",
        "def config():\n  return npu_run_config_init()\n"
        "e = tf.estimator.Estimator(fn, config=config())",
        "class A:\n  def __init__(self):\n    self.rc = npu_run_config_init()\n"
        "  def run(self):\n    return tf.estimator.Estimator(fn, config=self.rc)",
        "c = npu_config_proto(tf.ConfigProto())\nrc = tf.estimator.RunConfig(session_config=c)\n"
        "e = tf.estimator.Estimator(fn, config=rc)",
    ],
)
@pytest.mark.parametrize("star", [False, True])
def test_what_was_migrated_by_hand_stays(script, star):
    names = ["NPUEstimator", "NPURunConfig", "npu_config_proto", "npu_run_config_init"]
    used = [name for name in names if name in script]
    imports = "*" if star else ", ".join(used)
    untouched(f"import tensorflow as tf\nfrom npu_bridge.npu_init import {imports}\n\n{script}\n")


def test_a_session_configuration_with_the_npu_optimizer_is_migrated_already():
    untouched(
        with_tf("""
            from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

            c = tf.ConfigProto()
            custom_op = c.graph_options.rewrite_options.custom_optimizers.add()
            custom_op.name = "NpuOptimizer"
            c.graph_options.rewrite_options.remapping = RewriterConfig.OFF
            e = tf.estimator.Estimator(fn, config=tf.estimator.RunConfig(session_config=c))
        """)
    )


def test_arguments_that_cannot_be_seen():
    left_as_marked(
        with_tf("""
            def make(*args, **kwargs):
              a = tf.estimator.Estimator(**kwargs)  #! NPU422
              b = tf.estimator.Estimator(*args)  #! NPU422
              c = tf.contrib.tpu.TPUEstimator(config=rc, **kwargs)  #! NPU422
              return tf.estimator.Estimator(config=rc, **kwargs)
        """)
    )


def test_a_subclass_hands_its_config_on():
    outcome = migrate(
        with_tf("""
            class Own(tf.estimator.Estimator):
              def __init__(self, config=None):
                super(Own, self).__init__(model_fn=fn, config=config)

            class Old(tf.estimator.Estimator):
              def __init__(self, config):
                tf.estimator.Estimator.__init__(self, fn, 'd', config)

            class Plain(tf.estimator.Estimator):
              pass

            own, old, plain = Own(rc), Old(rc), Plain(fn, config=rc)
        """)
    )
    assert (
        "super(Own, self).__init__(model_fn=fn, config=npu_run_config_init(run_config=config))"
        in (outcome.text)
    )
    assert "__init__(self, fn, 'd', npu_run_config_init(run_config=config))" in outcome.text
    assert "Own(rc), Old(rc), Plain(fn, config=npu_run_config_init(run_config=rc))" in outcome.text


def test_a_subclass_that_another_file_makes_is_reported():
    left_as_marked(
        {
            "own.py": with_tf("class Own(tf.estimator.Estimator):  #! NPU423\n  pass\n"),
            "main.py": "from own import Own\n\ne = Own(fn)\n",
        }
    )


def test_an_estimator_that_is_handed_on_is_reported():
    left_as_marked(
        with_tf("""
            import functools

            make = functools.partial(tf.estimator.Estimator, fn)  #! NPU426
            table = {'plain': tf.estimator.Estimator}  #! NPU426
            is_one = isinstance(make, tf.estimator.Estimator)
            self.assertIsInstance(make, tf.estimator.Estimator)
        """)
    )


def test_arguments_of_a_run_config_that_the_npu_has_not_go():
    outcome = migrate(
        with_tf("""
            a = tf.estimator.RunConfig(train_distribute=s(), eval_distribute=s(), device_fn=None)
            b = a.replace(protocol='grpc', model_dir='d')
            c = tf.estimator.RunConfig(train_distribute=None, save_checkpoints_secs=60)
            d = tf.estimator.RunConfig('d', 1, 2, 3, None, None, 5, 6, 7, s(), device_of)
            e = tf.estimator.RunConfig('d', 1, 2, 3, None, None, 5, 6, 7, s(), None, None, s())
        """)
    )
    assert outcome.left == []
    assert line_of(outcome, "a = ") == "a = tf.estimator.RunConfig(device_fn=None)"
    assert line_of(outcome, "b = ") == "b = a.replace(model_dir='d')"
    assert "train_distribute=None" in line_of(outcome, "c = ")
    assert line_of(outcome, "d = ").endswith("('d', 1, 2, 3, None, None, 5, 6, 7, None, None)")
    assert line_of(outcome, "e = ").endswith(
        "('d', 1, 2, 3, None, None, 5, 6, 7, None, None, None, None)"
    )
    assert "NPUDistributedOptimizer" in outcome.of("NPU424")[0].message
    assert "NPUDistributedOptimizer" not in outcome.of("NPU424")[1].message


@pytest.mark.parametrize("style", ["helpers", "classes"])
def test_a_strategy_goes_with_the_configuration_that_had_it(style):
    outcome = migrate(
        with_tf("""
            strategy = tf.distribute.MirroredStrategy()
            rc = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy)
            e = tf.estimator.Estimator(fn, config=rc)
        """),
        estimator=style,
    )
    assert outcome.left == []
    assert "# strategy = tf.distribute.MirroredStrategy()\n" in outcome.text
    assert "RunConfig()\n" in outcome.text
    assert "NPUDistributedOptimizer" in outcome.messages("NPU420", "NPU424")


def test_a_strategy_that_something_else_asks_stays():
    outcome = migrate(
        with_tf("""
            strategy = tf.distribute.MirroredStrategy()
            rc = tf.estimator.RunConfig(train_distribute=strategy)
            batch_size = 8 // strategy.num_replicas_in_sync
        """)
    )
    assert outcome.left == [(3, "NPU218")]
    assert "\nstrategy = tf.distribute.MirroredStrategy()\n" in outcome.text


def test_several_devices_save_by_step():
    left_as_marked(
        with_tf("""
            import horovod.tensorflow as hvd

            hvd.init()
            a = tf.estimator.RunConfig(save_checkpoints_secs=60)  #! NPU425
            b = tf.estimator.RunConfig(save_checkpoints_steps=60, save_checkpoints_secs=None)
        """)
    )


def test_names_of_the_users_own_are_left_alone():
    untouched("""
        from mylib import Estimator, estimator

        class RunConfig:
          pass

        e = Estimator(fn, config=RunConfig(train_distribute=1))
        f = estimator.DNNClassifier(fn)
    """)


def test_text_that_is_replaced_in_a_loop_is_no_configuration():
    untouched(
        with_tf("""
        name, spec = __doc__, tf.estimator.EstimatorSpec('train')
        for old in ('Estimator', 'RunConfig'):
          name = name.replace(old, '')
    """)
    )


@pytest.mark.parametrize("style", ["helpers", "classes"])
def test_mixed_precision_that_the_script_switches_on_is_set(style):
    outcome = migrate(
        with_tf("""
            import os

            os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"
            rc = tf.estimator.RunConfig()
            e = tf.estimator.Estimator(fn, config=rc)
            f = tf.estimator.Estimator(fn)
        """),
        estimator=style,
    )
    plain = {"helpers": ["npu_run_config_init(run_config=rc)", "npu_run_config_init()"]}
    given = plain.get(style, ["rc", "NPURunConfig()"])
    for config in given:
        assert f'config=set_precision_mode({config}, "mixed_float16"))' in outcome.text
    assert outcome.left == []


# The style of classes -----------------------------------------------------------------------------


def classes(script):
    return migrate(with_tf(script), estimator="classes")


@pytest.mark.parametrize(
    "call, migrated",
    [
        ("Estimator(fn, config=None)", "NPUEstimator(fn, config=NPURunConfig())"),
        ("Estimator(fn)", "NPUEstimator(fn, config=NPURunConfig())"),
        (
            "Estimator(fn, 'd', None, {}, warm)",
            "NPUEstimator(fn, 'd', NPURunConfig(), {}, warm_start_from=warm)",
        ),
        (
            "Estimator(fn, config=tf.estimator.RunConfig('d', 1, save_checkpoints_steps=9))",
            "NPUEstimator(fn, config=NPURunConfig(model_dir='d', tf_random_seed=1, "
            "save_checkpoints_steps=9))",
        ),
    ],
)
def test_estimators_become_the_npus(call, migrated):
    outcome = classes(f"e = tf.estimator.{call}\n")
    assert line_of(outcome, "e = ") == f"e = {migrated}"
    assert "npu_run_config_init" not in outcome.text


def test_a_configuration_changes_with_its_estimator():
    outcome = classes("""
        rc = tf.estimator.RunConfig(
            model_dir='d',
            device_fn=None,  # not on the NPU
            session_creation_timeout_secs=60)
        other = tf.estimator.RunConfig()
        rc = rc.replace(tf_random_seed=1)
        e = tf.estimator.Estimator(fn, config=rc)
        f = tf.estimator.DNNClassifier([4], columns, config=rc)
    """)
    assert "rc = NPURunConfig(\n" in outcome.text
    assert "device_fn" not in outcome.text
    assert "other = tf.estimator.RunConfig()" in outcome.text
    assert line_of(outcome, "e = ") == "e = NPUEstimator(fn, config=rc)"
    assert "config=npu_run_config_init(run_config=rc)" in line_of(outcome, "f = ")
    assert "every 100 steps" in outcome.messages("NPU420")
    assert "dropped: session_creation_timeout_secs" in outcome.messages("NPU420")


def test_a_configuration_that_saves_nothing_goes_on_saving_nothing():
    outcome = classes("""
        a = tf.estimator.RunConfig(save_checkpoints_steps=None, save_checkpoints_secs=None)
        b = tf.estimator.RunConfig(save_checkpoints_secs=None)
        c = tf.estimator.RunConfig('d', 1, 2, None)
        for rc in a, b, c:
          pass
        tf.estimator.Estimator(fn, config=a), tf.estimator.Estimator(fn, config=b)
        tf.estimator.Estimator(fn, config=c)
    """)
    assert "a = NPURunConfig(save_checkpoints_steps=0, save_checkpoints_secs=None)" in outcome.text
    assert "b = NPURunConfig(save_checkpoints_secs=None, save_checkpoints_steps=0)" in outcome.text
    assert "tf_random_seed=1, save_summary_steps=2, save_checkpoints_steps=0)" in outcome.text


@pytest.mark.parametrize(
    "script, obstacle",
    [
        ("def make(rc):\n  return E(fn, config=rc)", "its config (rc) may be any configuration"),
        ("c = load()\ne = E(fn, config=c)", "its config (of line 2) is not seen to be a plain"),
        ("e = E(fn, config=tf.estimator.RunConfig(), **more)", "*args or **kwargs hide"),
        ("e = tf.estimator.DNNClassifier([1], [])", "it has no counterpart of DNNClassifier"),
    ],
)
def test_what_keeps_an_estimator_from_becoming_the_npus_is_named(script, obstacle):
    outcome = classes(script.replace("E(", "tf.estimator.Estimator(") + "\n")
    assert f"can't take its place: {obstacle}" in outcome.messages("NPU420")


@pytest.mark.parametrize(
    "script",
    [
        "def make(rc):\n  return tf.estimator.Estimator(fn, config=rc)",
        "rc = tf.contrib.tpu.RunConfig()\ne = tf.contrib.tpu.TPUEstimator(fn, config=rc)",
        "class Own(tf.estimator.Estimator):\n  def __init__(self, rc):\n"
        "    super().__init__(fn, config=rc)\ne = Own(tf.estimator.RunConfig())",
    ],
)
def test_what_no_class_fits_goes_through_npu_run_config_init(script):
    outcome = left_as_marked(with_tf(script + "\n"), estimator="classes")
    assert "config=npu_run_config_init(run_config=rc)" in outcome.text
    assert "NPURunConfig" not in outcome.text


def test_a_keras_model_becomes_an_estimator():
    script = """
        rc = tf.estimator.RunConfig()
        e = tf.keras.estimator.model_to_estimator(model, None, None, 'd', rc, 'saver')
    """
    assert "npu_run_config_init(run_config=rc)" in migrate(with_tf(script)).text
    assert line_of(classes(script), "e = ") == (
        "e = model_to_npu_estimator(model, None, None, 'd', config=rc, checkpoint_format='saver')"
    )


def test_a_text_that_is_replaced_in_a_loop_is_no_configuration():
    untouched(
        with_tf("""
        def clean(text, words):
            for word in words:
                text = text.replace(word, '')
            return text

        def train(model_fn):
            return clean
        """)
        + "# tf.estimator.RunConfig\n"
    )
