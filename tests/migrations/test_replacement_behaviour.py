"""What the NPU's replacements compute, beside the originals, on the stand-in for the NPU."""

import types

import pytest

tf = pytest.importorskip("tensorflow", reason="needs TensorFlow 1.15, and so Python 3.7")
if not tf.__version__.startswith("1.15."):
    pytest.skip("needs TensorFlow 1.15", allow_module_level=True)
np = pytest.importorskip("numpy")

from support import migrate  # noqa: E402
from test_gelu import FORMS, script  # noqa: E402

pytestmark = pytest.mark.usefixtures("bridge")


def load(text):
    module = types.ModuleType("script")
    exec(compile(text, "script", "exec"), module.__dict__)
    return module


def both(text):
    """The script before and after, each as a module."""
    after = migrate(text, select=("NPU5",)).text
    assert after != text
    return load(text), load(after)


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_gelu_computes_what_it_computed(form):
    original, migrated = both(script(form))
    x = np.linspace(-6, 6, 241, dtype=np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = tf.constant(x)
        outputs = [module.act(inputs) for module in (original, migrated)]
        slopes = [tf.gradients(output, inputs)[0] for output in outputs]
        (before, after), (slope_before, slope_after) = session.run([outputs, slopes])
    np.testing.assert_allclose(after, before, rtol=0, atol=2e-6)
    np.testing.assert_allclose(slope_after, slope_before, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "call, kept",
    [
        ("tf.nn.dropout(x, 0.75)", 0.75),
        ("tf.nn.dropout(x, rate=0.1)", 0.9),
        ("tf.nn.dropout(x, rate=rate)", 0.8),
        ("tf.compat.v2.nn.dropout(x, rate)", 0.8),
        ("tf.nn.dropout(x, rate=0)", 1.0),
    ],
)
def test_as_many_elements_are_kept_and_scaled_as_before(call, kept):
    text = f"import tensorflow as tf\n\ndef drop(x, rate):\n    return {call}\n"
    for module in both(text):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(1)
            result = session.run(module.drop(tf.ones([20000]), 0.2))
        assert set(np.unique(result)) <= {0.0, np.float32(1.0) / np.float32(kept)}
        assert abs(np.mean(result > 0) - kept) < 0.02


@pytest.mark.parametrize(
    "use",
    ["tf.layers.dropout(x, training=True)", "tf.contrib.layers.dropout(x)"],
)
def test_other_dropout_layers_are_keras_own(use, monkeypatch):
    """The vendor's import patches one method, which these use as well."""
    seen = []
    layer = tf.keras.layers.Dropout
    monkeypatch.setattr(layer, "call", lambda self, inputs, training: seen.append(inputs) or inputs)
    with tf.Graph().as_default():
        eval(use, {"tf": tf, "x": tf.ones([2, 2])})
    assert len(seen) == 1
