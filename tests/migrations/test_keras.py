"""Training through Keras gets a session on the NPU."""

import pytest

from tests.migrations.support import left_as_marked, migrate, untouched, with_tf

MODEL = """\
def train():
  model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
  model.compile(loss='mse', optimizer='sgd')
  model.fit(x, y, epochs=2)
"""


def main_of(outcome, path="script.py"):
    """What stands under ``if __name__ == "__main__":``, without its indentation."""
    text = outcome.texts[path].split("__main__")[1]
    return [line[2:] for line in text.splitlines()[1:] if line.strip()]


def with_main(block):
    lines = "".join(f"  {line}\n" for line in block)
    return with_tf(MODEL + "\nif __name__ == '__main__':\n" + lines)


def test_what_follows_the_training_closes_the_session():
    outcome = migrate(with_main(["args = parse()", "train()", "evaluate()"]))
    assert main_of(outcome) == [
        "args = parse()",
        "keras_session = set_keras_session_npu_config()",
        "train()",
        "evaluate()",
        "close_session(keras_session)",
    ]


@pytest.mark.parametrize(
    "last",
    ["train()", "tf.app.run()", "sys.exit(train())", "tf.app.run(main=lambda _: train())"],
)
def test_a_program_that_leaves_closes_the_session_in_a_finally(last):
    outcome = migrate(with_main(["import sys", last]))
    assert main_of(outcome) == [
        "import sys",
        "keras_session = set_keras_session_npu_config()",
        "try:",
        "  " + last,
        "finally:",
        "  close_session(keras_session)",
    ]


def test_the_session_is_closed_before_the_process_ends():
    outcome = migrate(with_main(["import sys", "train()", "sys.exit(0)"]))
    assert main_of(outcome)[1:] == [
        "keras_session = set_keras_session_npu_config()",
        "train()",
        "close_session(keras_session)",
        "sys.exit(0)",
    ]


@pytest.mark.parametrize(
    "building",
    [
        "model = tf.keras.models.Model(inputs, outputs)",
        "model = tf.keras.applications.ResNet50(weights=None)",
        "model = Net()",
        "model = build()",
    ],
)
@pytest.mark.parametrize(
    "training", ["fit(x, y)", "fit_generator(data)", "train_on_batch(x, y)", "fit(data, epochs=1)"]
)
def test_every_model_of_keras(building, training):
    outcome = migrate(
        with_tf(f"""
            class Base(tf.keras.Model):
              pass

            class Net(Base):
              pass

            def build():
              return tf.keras.Sequential()

            {building}
            model.{training}
            save(model)
        """)
    )
    assert "keras_session = set_keras_session_npu_config()\nmodel = " in outcome.text
    assert outcome.text.endswith("close_session(keras_session)\n")
    assert not any(finding.assumed for finding in outcome.findings)


def test_a_model_from_elsewhere_that_is_used_as_keras_uses_it():
    outcome = migrate(
        with_tf("""
            from models import build

            model = build()
            model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss='mse')
            model.fit(x, y)
        """)
    )
    assert "keras_session = set_keras_session_npu_config()" in outcome.text


@pytest.mark.parametrize(
    "script",
    [
        "from sklearn.svm import SVC\nSVC().fit(x, y)\nz = tf.keras.utils.to_categorical(y)",
        "class Own:\n  pass\nOwn().fit(x, epochs=1)\nz = tf.keras.utils.to_categorical(y)",
        "model = tf.keras.Sequential()\nmodel.predict(x)",
    ],
)
def test_other_models_are_left_alone(script):
    untouched(with_tf(script + "\n"))


@pytest.mark.parametrize("start", ["main()", "trainer.run()", "app.run(main)"])
def test_a_program_of_several_files_gets_the_session_where_it_starts(start):
    outcome = left_as_marked(
        {
            "trainer.py": with_tf(MODEL + "\n\ndef run():\n  train()\n"),
            "main.py": "from absl import app\nimport trainer\n\n\ndef main():\n"
            f"  trainer.run()\n\n\nif __name__ == '__main__':\n  {start}\n",
            "other.py": "import trainer\n\nif __name__ == '__main__':\n  print(trainer.__doc__)\n",
        }
    )
    assert main_of(outcome, "main.py")[:3] == [
        "keras_session = set_keras_session_npu_config()",
        "try:",
        "  " + start,
    ]
    assert "session" not in outcome.texts["trainer.py"] + outcome.texts["other.py"]


def test_a_library_whose_program_is_not_there_is_left_to_a_person():
    left_as_marked(with_tf(MODEL.replace("epochs=2)", "epochs=2)  #! NPU441")))


def test_clearing_keras_makes_another_session():
    outcome = migrate("from tensorflow.keras import backend as K\n\nK.clear_session()\n")
    assert outcome.text.endswith("\nnpu_clear_session()\n")


def test_a_script_that_clears_sessions_closes_the_last():
    outcome = migrate(with_main(["tf.keras.backend.clear_session()", "train()", "report()"]))
    assert main_of(outcome) == [
        "set_keras_session_npu_config()",
        "npu_clear_session()",
        "train()",
        "report()",
        "close_session(tf.keras.backend.get_session())",
    ]


@pytest.mark.parametrize(
    "session", ["set_keras_session_npu_config()", "tf.keras.backend.set_session(s)"]
)
def test_a_script_that_gives_keras_a_session_keeps_it(session):
    imports = "from npu_bridge.npu_init import *\n" if "npu" in session else ""
    untouched(with_tf(imports + MODEL + f"\nif __name__ == '__main__':\n  {session}\n  train()\n"))


def test_the_standalone_package_is_reported():
    left_as_marked("from keras.models import Sequential  #! NPU443\n\nmodel = Sequential()\n")


def test_mixed_precision_that_the_script_switches_on_is_set():
    switch = "import os\nos.environ['TF_ENABLE_AUTO_MIXED_PRECISION'] = '1'  #! NPU136\n"
    outcome = left_as_marked(with_tf(switch + "model = tf.keras.Sequential()\nmodel.fit(x, y)\n"))
    config = 'config=set_precision_mode(npu_config_proto(), "mixed_float16")'
    assert f"keras_session = set_keras_session_npu_config({config})" in outcome.text


# Horovod for Keras --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "imported, migrated",
    [
        (
            "import horovod.tensorflow.keras as hvd",
            "from npu_migrate.runtime.ops_adapter import keras as hvd",
        ),
        (
            "from horovod.tensorflow import keras as hvd",
            "from npu_migrate.runtime.ops_adapter import keras as hvd",
        ),
    ],
)
def test_the_adapter_has_horovods_keras(imported, migrated):
    rest = """
hvd.init()
opt = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size()))
callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
    hvd.callbacks.LearningRateWarmupCallback(warmup_epochs=5, verbose=1),
]
"""
    outcome = migrate(f"import tensorflow as tf\n{imported}\n{rest}")
    assert outcome.text == f"import tensorflow as tf\n{migrated}\n{rest}"
    assert outcome.left == []


def test_callbacks_that_are_imported_by_name():
    outcome = migrate(
        "from horovod.tensorflow.keras.callbacks import MetricAverageCallback\n\n"
        "callbacks = [MetricAverageCallback()]\n"
    )
    adapter = "npu_migrate.runtime.ops_adapter.keras.callbacks"
    assert outcome.text.startswith(f"from {adapter} import MetricAverageCallback\n")


def test_what_the_adapter_has_not_of_keras_is_left():
    outcome = untouched("""
        import horovod.tensorflow.keras as hvd  #! NPU212

        callbacks = [hvd.callbacks.BestModelCheckpoint()]  #! NPU206
    """)
    assert "BestModelCheckpoint" in outcome.messages("NPU206")


def test_a_path_that_is_spelled_out_and_the_standalone_package_are_left():
    untouched("""
        import horovod.tensorflow.keras  #! NPU212

        horovod.tensorflow.keras.init()
    """)
    untouched("import horovod.keras as hvd  #! NPU212\n\nhvd.init()\n")


def test_arguments_of_the_optimizer_that_change_what_is_computed():
    left_as_marked(
        with_tf("""
            import horovod.tensorflow.keras as hvd

            a = hvd.DistributedOptimizer(opt, backward_passes_per_step=2)  #! NPU207
            b = hvd.DistributedOptimizer(opt, compression=hvd.Compression.fp16)
        """)
    )
