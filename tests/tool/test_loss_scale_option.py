"""``--loss-scale`` on the command line."""

import pytest

from npu_migrate.cli import main

SCRIPT = """\
import tensorflow as tf

opt = tf.train.AdamOptimizer(0.1)
train_op = opt.minimize(tf.get_variable("w", []))
"""


@pytest.mark.parametrize("scale", ["0.5", "0", "-8", "nan", "inf", "fast", "128x"])
def test_what_is_no_loss_scale_is_wrong_usage(tmp_path, capsys, scale):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    assert main([f"--loss-scale={scale}", str(script)]) == 2
    assert "loss" in capsys.readouterr().err
    assert script.read_text() == SCRIPT


@pytest.mark.parametrize(
    "scale, manager",
    [
        ("dynamic", "ExponentialUpdateLossScaleManager(init_loss_scale=2**32, "),
        ("128", "FixedLossScaleManager(loss_scale=128)"),
        ("1.5", "FixedLossScaleManager(loss_scale=1.5)"),
        ("1e3", "FixedLossScaleManager(loss_scale=1000)"),
    ],
)
def test_it_is_added_once(tmp_path, capsys, scale, manager):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    arguments = ["--loss-scale", scale, str(script)]
    assert main(["--check", *arguments]) == 1
    assert main(arguments) == 0
    text = script.read_text()
    assert manager in text
    assert main(arguments) == 0
    assert main(["--check", *arguments]) == 0
    assert script.read_text() == text
