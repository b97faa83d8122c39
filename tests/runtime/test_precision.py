"""`set_precision_mode` says how the NPU computes, wherever a configuration keeps it."""

import pytest
import tensorflow as tf

from npu_migrate.runtime import set_precision_mode

SWITCH = "TF_ENABLE_AUTO_MIXED_PRECISION"


def parameters(config):
    """The parameters of the one `NpuOptimizer` of a session's configuration."""
    (optimizer,) = config.graph_options.rewrite_options.custom_optimizers
    assert optimizer.name == "NpuOptimizer"
    return {name: value.s for name, value in optimizer.parameter_map.items()}


def test_a_session_gets_the_mode_once():
    config = tf.ConfigProto()
    assert set_precision_mode(config, "mixed_float16") is config
    set_precision_mode(config, "mixed_float16")
    assert parameters(config) == {"precision_mode_v2": b"mixed_float16"}


def test_the_two_parameters_exclude_each_other():
    config = set_precision_mode(tf.ConfigProto(), "mixed_float16")
    assert parameters(set_precision_mode(config, "force_fp16")) == {"precision_mode": b"force_fp16"}


def test_an_estimator_without_a_session_configuration_gets_one():
    config = set_precision_mode(tf.estimator.RunConfig(), "mixed_float16")
    assert parameters(config.session_config) == {"precision_mode_v2": b"mixed_float16"}


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="mixed_float17.*mixed_float16"):
        set_precision_mode(tf.ConfigProto(), "mixed_float17")


@pytest.mark.parametrize("value, is_on", [("1", True), ("0", False)])
def test_without_a_mode_it_follows_the_environment(monkeypatch, value, is_on):
    monkeypatch.setenv(SWITCH, value)
    config = set_precision_mode(tf.ConfigProto())
    assert bool(config.graph_options.rewrite_options.custom_optimizers) is is_on


def test_without_a_mode_it_follows_the_configuration(monkeypatch):
    monkeypatch.delenv(SWITCH, raising=False)
    config = tf.ConfigProto()
    assert set_precision_mode(config) == tf.ConfigProto()
    config.graph_options.rewrite_options.auto_mixed_precision = 1
    assert parameters(set_precision_mode(config)) == {"precision_mode_v2": b"mixed_float16"}
