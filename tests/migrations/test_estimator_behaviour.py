"""Original and migrated Estimators and Keras scripts, each trained by a run of its own."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

tf = pytest.importorskip("tensorflow", reason="needs TensorFlow 1.15, and so Python 3.7")
if not tf.__version__.startswith("1.15."):
    pytest.skip("needs TensorFlow 1.15", allow_module_level=True)

from support import migrate, with_tf  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]

ESTIMATORS = with_tf("""
    import json
    import sys
    import numpy as np

    X = np.random.RandomState(0).rand(32, 2).astype("float32")
    Y = (X.sum(1) > 1).astype("int32")
    SEEN = {}

    def input_fn(params=None):
      data = tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).repeat().batch(8)
      return data.make_one_shot_iterator().get_next()

    def loss_of(features, labels):
      kernel = tf.get_variable("kernel", [2, 1], initializer=tf.ones_initializer())
      return tf.reduce_mean(
          tf.square(tf.matmul(features["x"], kernel)[:, 0] - tf.cast(labels, tf.float32)))

    def train_op(loss):
      optimizer = tf.train.GradientDescentOptimizer(0.1)
      return optimizer.minimize(loss, global_step=tf.train.get_global_step())

    def model_fn(features, labels, mode):
      loss = loss_of(features, labels)
      return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op(loss))

    def tpu_model_fn(features, labels, mode, params):
      loss = loss_of(features, labels)
      assert params["batch_size"] == 8
      return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op(loss))

    def seen(name, estimator, variable="kernel"):
      estimator.train(input_fn, steps=3)
      session = estimator.config.session_config
      optimizers = session.graph_options.rewrite_options.custom_optimizers if session else []
      SEEN[name] = {
          "value": np.ravel(estimator.get_variable_value(variable)).tolist(),
          "step": int(estimator.get_variable_value("global_step")),
          "optimizers": [o.name for o in optimizers],
      }

    config = tf.estimator.RunConfig(tf_random_seed=1, save_checkpoints_steps=5)
    seen("plain", tf.estimator.Estimator(model_fn, config=config))
    columns = [tf.feature_column.numeric_column("x", shape=(2,))]
    linear = tf.estimator.LinearClassifier(columns, config=config)
    seen("canned", linear, "linear/linear_model/x/weights")
    tpu = tf.contrib.tpu.RunConfig(tf_random_seed=1)
    seen("tpu", tf.contrib.tpu.TPUEstimator(
        tpu_model_fn, config=tpu, use_tpu=False, train_batch_size=8))

    with open(sys.argv[1], "w") as file:
      json.dump(SEEN, file)
""")

KERAS = with_tf("""
    import atexit
    import json
    import sys
    import numpy as np

    X = np.random.RandomState(0).rand(32, 2).astype("float32")

    def main(arguments):
      dense = tf.keras.layers.Dense(1, input_shape=(2,), kernel_initializer="ones")
      model = tf.keras.Sequential([dense])
      model.compile(loss="mse", optimizer=tf.keras.optimizers.SGD(0.1))
      history = model.fit(X, X.sum(1) / 3, epochs=3, batch_size=8, shuffle=False, verbose=0)
      session = tf.keras.backend.get_session()
      optimizers = session._config.graph_options.rewrite_options.custom_optimizers
      seen = {
          "value": np.ravel(model.get_weights()[0]).tolist(),
          "loss": history.history["loss"],
          "optimizers": [o.name for o in optimizers],
      }
      atexit.register(lambda: write(arguments[1], dict(seen, closed=session._closed)))

    def write(path, seen):
      with open(path, "w") as file:
        json.dump(seen, file)

    if __name__ == "__main__":
      tf.app.run()
""")


def run(text, folder, launcher=()):
    """What a script writes into the file that it is given."""
    folder.mkdir()
    (folder / "script.py").write_text(text)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "PYTHONWARNINGS": "ignore",
    }
    job = subprocess.run(
        [sys.executable, *launcher, "script.py", "seen.json"],
        cwd=str(folder),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=200,
    )
    assert job.returncode == 0, job.stdout[-5000:]
    return json.loads((folder / "seen.json").read_text())


def npu_run(text, folder):
    return run(text, folder, ["-m", "npu_migrate.launch.cli"])


@pytest.fixture(scope="module")
def estimators(tmp_path_factory):
    return run(ESTIMATORS, tmp_path_factory.mktemp("original") / "run")


@pytest.mark.parametrize("style", ["helpers", "classes"])
def test_estimators_train_as_before_and_on_the_npu(estimators, style, tmp_path):
    migrated = npu_run(migrate(ESTIMATORS, estimator=style).text, tmp_path / "run")
    for name, before in estimators.items():
        assert "NpuOptimizer" not in before["optimizers"]
        after = migrated[name]
        assert after["value"] == pytest.approx(before["value"], abs=1e-6)
        assert after["step"] == before["step"] == 3
        if style == "helpers" or name in ("canned", "tpu"):
            assert after["optimizers"] == ["NpuOptimizer"]


def test_keras_trains_as_before_and_closes_its_session(tmp_path):
    before = run(KERAS, tmp_path / "original")
    after = npu_run(migrate(KERAS).text, tmp_path / "migrated")
    assert after["value"] == pytest.approx(before["value"], abs=1e-6)
    assert after["loss"] == pytest.approx(before["loss"], abs=1e-6)
    assert (before["optimizers"], before["closed"]) == ([], False)
    assert (after["optimizers"], after["closed"]) == (["NpuOptimizer"], True)
