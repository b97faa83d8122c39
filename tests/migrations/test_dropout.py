"""Dropout becomes the NPU's where that family is selected."""

import pytest
from support import migrate, with_tf

from npu_migrate.plan import Status

NPU5 = {"select": ("NPU5",)}


def replaced(line, **options):
    """What becomes of one line of a function; that it is found once and done."""
    outcome = migrate(with_tf(f"def f(x, p, rate, o):\n    return {line}\n"), **(options or NPU5))
    (finding,) = outcome.findings
    assert finding.status is Status.MIGRATED, finding
    return outcome.text.splitlines()[-1].partition("return ")[2]


CALLS = {
    "tf.nn.dropout(x, p)": "npu_ops.dropout(x, p)",
    "tf.nn.dropout(x, keep_prob=0.9)": "npu_ops.dropout(x, keep_prob=0.9)",
    "tf.nn.dropout(x, p, None, 7)": "npu_ops.dropout(x, p, None, 7)",
    "tf.nn.dropout(x, p, [1], seed=3)": "npu_ops.dropout(x, p, [1], seed=3)",
    "tf.nn.dropout(x, keep_prob=p, rate=None)": "npu_ops.dropout(x, keep_prob=p)",
    "tf.nn.dropout(x, rate=0.1)": "npu_ops.dropout(x, keep_prob=0.9)",
    "tf.nn.dropout(x, rate=0.9)": "npu_ops.dropout(x, keep_prob=0.1)",
    "tf.nn.dropout(x, rate=0.0)": "npu_ops.dropout(x, keep_prob=1.0)",
    "tf.nn.dropout(x, rate=0)": "npu_ops.dropout(x, keep_prob=1.0)",
    "tf.nn.dropout(x, rate=1e-3)": "npu_ops.dropout(x, keep_prob=0.999)",
    "tf.nn.dropout(x, rate=rate)": "npu_ops.dropout(x, keep_prob=1 - rate)",
    "tf.nn.dropout(x, rate=rate + p)": "npu_ops.dropout(x, keep_prob=1 - (rate + p))",
    "tf.nn.dropout(x, rate=rate * p)": "npu_ops.dropout(x, keep_prob=1 - rate * p)",
    "tf.nn.dropout(x, rate=p if o else 0)": "npu_ops.dropout(x, keep_prob=1 - (p if o else 0))",
    "tf.nn.dropout(x, rate=1 - p)": "npu_ops.dropout(x, keep_prob=p)",
    "tf.nn.dropout(x, rate=1.0 - (p + 1))": "npu_ops.dropout(x, keep_prob=(p + 1))",
    "tf.nn.dropout(x, keep_prob=None, rate=rate)": "npu_ops.dropout(x, keep_prob=1 - rate)",
    "tf.nn.dropout(x=x, rate=rate, seed=1)": "npu_ops.dropout(x=x, keep_prob=1 - rate, seed=1)",
    "tf.compat.v1.nn.dropout(x, 0.5)": "npu_ops.dropout(x, 0.5)",
    "tf.compat.v2.nn.dropout(x, 0.2)": "npu_ops.dropout(x, 0.8)",
    "tf.compat.v2.nn.dropout(x, rate)": "npu_ops.dropout(x, 1 - rate)",
    "tf.compat.v2.nn.dropout(x, rate=p, seed=3)": "npu_ops.dropout(x, keep_prob=1 - p, seed=3)",
}


@pytest.mark.parametrize("before, after", CALLS.items(), ids=list(CALLS))
def test_what_is_kept_is_told_from_what_goes(before, after):
    assert replaced(before) == after


def test_dropout_of_dropout():
    line = "tf.nn.dropout(tf.nn.dropout(x, p), rate=tf.nn.dropout(x, p))"
    outcome = migrate(with_tf(f"def f(x, p):\n    return {line}\n"), **NPU5)
    assert len(outcome.findings) == 3
    inner = "npu_ops.dropout(x, p)"
    assert f"npu_ops.dropout({inner}, keep_prob=1 - {inner})" in outcome.text


UNCLEAR = [
    "tf.nn.dropout(x)",
    "tf.nn.dropout(x, p, rate=rate)",
    "tf.nn.dropout(x, *o)",
    "tf.nn.dropout(x, **o)",
    "tf.nn.dropout(x, None, None, None, None, 0.1)",
    "o(tf.nn.dropout, x)",
    "(tf.nn.dropout if p else o.dropout)(x, 0.5)",
]


@pytest.mark.parametrize("line", UNCLEAR)
def test_what_is_not_clear_is_left_and_said(line):
    text = with_tf(f"def f(x, p, rate, o):\n    return {line}\n")
    outcome = migrate(text, **NPU5)
    assert outcome.text == text
    (finding,) = outcome.findings
    assert (finding.code, finding.status) == ("NPU501", Status.MANUAL)
    assert "npu_ops.dropout" in finding.remedy


def test_other_names_of_it():
    outcome = migrate(
        {
            "layers.py": "import tensorflow as tf\ndrop = tf.nn.dropout\n",
            "model.py": """\
            from tensorflow.nn import dropout
            from tensorflow.python.ops.nn import dropout as d
            import layers

            def f(x):
                return dropout(x, 0.5) + d(x, rate=0.5) + layers.drop(x, 0.5)
            """,
        },
        **NPU5,
    )
    assert outcome.texts["layers.py"] == "import tensorflow as tf\ndrop = tf.nn.dropout\n"
    model = outcome.texts["model.py"]
    assert "npu_ops.dropout(x, 0.5) + npu_ops.dropout(x, keep_prob=0.5) + npu_ops" in model
    assert "import dropout" not in model
    assert model.count("import npu_ops") == 1


def test_a_users_own_dropout_stays():
    text = """\
    import tensorflow as tf

    def dropout(x, p):
        return x * p

    class Net(object):
        def dropout(self, x, p):
            return dropout(x, p)

    def f(x, net, nn):
        return net.dropout(x, 0.5) + dropout(x, 0.5) + nn.dropout(x, 0.5)
    """
    assert migrate(text, **NPU5).findings == ()


# Keras


PATCH = "from npu_bridge.estimator.npu import npu_convert_dropout\n"


@pytest.mark.parametrize(
    "use",
    [
        "tf.keras.layers.Dropout(0.5)",
        "tf.layers.dropout(x, 0.5, training=training)",
        "tf.layers.Dropout(0.5)",
        "tf.contrib.layers.dropout(x, 0.5)",
        "tf.contrib.slim.dropout(x, 0.5)",
    ],
)
def test_keras_dropout_is_patched_by_an_import(use):
    text = with_tf(f"\ndef f(x, training):\n    return {use}, {use}\n")
    outcome = migrate(text, **NPU5)
    assert outcome.text == text.replace("as tf\n", f"as tf\n{PATCH}")
    (finding,) = outcome.findings
    assert finding.code == "NPU502"


@pytest.mark.parametrize(
    "present",
    [
        PATCH,
        "import npu_bridge.estimator.npu.npu_convert_dropout\n",
        "from npu_bridge.estimator.npu.npu_convert_dropout import *\n",
        "from npu_bridge.npu_init import *\n",
    ],
)
def test_a_script_that_is_patched_already(present):
    text = with_tf(f"{present}\nlayer = tf.keras.layers.Dropout(0.5)\n")
    assert migrate(text, **NPU5).findings == ()


def test_off_unless_selected():
    text = with_tf("x = tf.nn.dropout(tf.layers.dropout(y, 0.1), 0.9)\n")
    for select in ((), ("ALL",), ("NPU",), ("NPU1",)):
        outcome = migrate(f"y = 1\n{text}", select=select)
        assert outcome.findings == ()
    assert len(migrate(f"y = 1\n{text}", extend_select=("NPU5",)).findings) == 2
    assert len(migrate(f"y = 1\n{text}", extend_select=("NPU5",), ignore=("NPU501",)).findings) == 1
