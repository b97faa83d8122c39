"""What the rewritten forms do, and the claims that the checks rest on, with TensorFlow 1.15."""

from textwrap import dedent

import pytest

tf = pytest.importorskip("tensorflow", reason="needs TensorFlow 1.15, and so Python 3.7")
if not tf.__version__.startswith("1.15."):
    pytest.skip("needs TensorFlow 1.15", allow_module_level=True)
np = pytest.importorskip("numpy")

from support import migrate, with_tf  # noqa: E402

from npu_migrate.migrations.known_failures.division_guards import vanishes  # noqa: E402
from npu_migrate.migrations.known_failures.pipeline_variables import KERAS_ZEROS  # noqa: E402

STARTS = [
    """
    sess.run([tf.global_variables_initializer(), iterator.initializer], feed_dict={size: 5})
    """,
    """
    sess.run(tf.group(iterator.initializer, tf.global_variables_initializer()), {size: 5})
    """,
    """
    init = tf.group(tf.global_variables_initializer(), iterator.initializer)
    sess.run(init, feed_dict={size: 5})
    """,
    """
    init = [tf.global_variables_initializer(), iterator.initializer]
    sess.run(init, feed_dict={size: 5})
    """,
]


def script(start):
    return with_tf(
        """
        tf.set_random_seed(7)
        size = tf.placeholder(tf.int64, [])
        iterator = tf.compat.v1.data.make_initializable_iterator(tf.data.Dataset.range(size))
        w = tf.get_variable('w', [3], initializer=tf.random_normal_initializer(seed=3))
        element = iterator.get_next()
        sess = tf.Session()
        """
        + dedent(start)
        + "result = sess.run([w, element])\n"
    ).replace("\n        ", "\n")


def run(text):
    with tf.Graph().as_default():
        names = {}
        exec(compile(text, "script", "exec"), names)
        with names["sess"] as sess:
            return [*names["result"], sess.run(names["element"])]


@pytest.mark.parametrize("start", STARTS)
def test_two_runs_initialise_what_one_did(start):
    original = script(start)
    outcome = migrate(original, select=("NPU701",))
    assert [f.code for f in outcome.findings] == ["NPU701"]
    migrated = outcome.text
    assert migrated.count("sess.run(") == original.count("sess.run(") + 1
    before, after = run(original), run(migrated)
    assert np.count_nonzero(before[0]) == 3
    for left, right in zip(before, after):
        np.testing.assert_array_equal(left, right)


def test_a_run_config_takes_zero_for_none():
    assert tf.estimator.RunConfig(save_checkpoints_steps=0).save_checkpoints_steps == 0


def test_the_functions_of_keras_that_make_variables():
    with tf.Graph().as_default():
        arguments = {"variable": 1.0, "eye": 3}
        for name in {full.rpartition(".")[2] for full in KERAS_ZEROS}:
            made = getattr(tf.keras.backend, name)(arguments.get(name, (3,)))
            assert isinstance(made, tf.Variable), name


@pytest.mark.parametrize("value", [1e-4, 1e-7, 6e-8, 3e-8, 2.9e-8, 1e-8, 1e-12])
def test_what_float16_has_no_number_for(value):
    assert vanishes(value) == (np.float16(value) == 0)
