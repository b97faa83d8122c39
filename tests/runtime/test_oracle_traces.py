"""Loss scale, global step and weight as the real implementations had them, step for step.

The figures in `data/` were measured on TensorFlow 1.15.5, on the vendor's own Python with its op
library simulated, and on MXNet 1.9.1.
"""

import json
import pathlib

import pytest

tf = pytest.importorskip("tensorflow.compat.v1", reason="needs TensorFlow 1.15")

import numpy as np  # noqa: E402
from toy_training import ToyTraining  # noqa: E402

from npu_migrate.runtime import (  # noqa: E402
    DynamicLossScaleManager,
    ExponentialUpdateLossScaleManager,
    FixedLossScaleManager,
    NPULossScaleOptimizer,
    NPUOptimizer,
    grad_global_norm,
)

DATA = pathlib.Path(__file__).with_name("data")


def read(name):
    return json.loads((DATA / name).read_text())


def identify(trace):
    parameters = "-".join(str(value) for value in trace["params"].values())
    return f"{trace.get('kind', 'tolerant')}-{parameters}"


TRACES = read("loss_scale_traces.json")
NPU_TRACES = [trace for trace in TRACES if trace["kind"].startswith("npu_")]


def migrated_manager(trace):
    """The manager that a migration makes of the original's arguments."""
    parameters = trace["params"]
    if trace["kind"] == "experimental_dynamic":
        multiplier = parameters["multiplier"]
        return ExponentialUpdateLossScaleManager(
            init_loss_scale=parameters["initial_loss_scale"],
            incr_every_n_steps=parameters["increment_period"],
            decr_every_n_nan_or_inf=1,
            incr_ratio=multiplier,
            decr_ratio=1 / multiplier,
        )
    if trace["kind"] == "experimental_fixed":
        return FixedLossScaleManager(loss_scale=parameters["loss_scale_value"])
    if trace["kind"].endswith("fixed"):
        return FixedLossScaleManager(**parameters)
    return ExponentialUpdateLossScaleManager(**parameters)


def expected(trace):
    return [trace["loss_scale"], trace["global_step"], [float(w) for w in trace["weight"]]]


def is_unchecked(trace):
    return trace["params"].get("enable_overflow_check", True) is False


def is_skipping(trace):
    return trace["kind"] != "experimental_fixed" and not is_unchecked(trace)


@pytest.mark.parametrize("mode", ["saturation", "inf_nan"])
@pytest.mark.parametrize("trace", filter(is_skipping, TRACES), ids=identify)
def test_migrated_classes_reproduce_the_trace(trace, mode, monkeypatch):
    monkeypatch.setenv("NPU_MIGRATE_OVERFLOW_MODE", mode)
    manager = migrated_manager(trace)
    training = ToyTraining(lambda opt: NPULossScaleOptimizer(opt, manager), manager)
    assert training.trace(trace["overflow"]) == expected(trace)


@pytest.mark.parametrize("trace", NPU_TRACES, ids=identify)
def test_the_register_reproduces_the_trace(trace, saturating_npu):
    """The gradient saturates to 65504, so that only the register tells of the overflow."""
    manager = migrated_manager(trace)
    training = ToyTraining(
        lambda opt: NPULossScaleOptimizer(opt, manager),
        manager,
        disturb=lambda fed: tf.sign(saturating_npu.saturate_float16(fed)),
        overflow=1e6,
    )
    assert training.trace(trace["overflow"]) == expected(trace)


@pytest.mark.parametrize("trace", NPU_TRACES[:3], ids=identify)
def test_npu_optimizer_reproduces_the_trace(trace):
    manager = migrated_manager(trace)
    training = ToyTraining(lambda opt: NPUOptimizer(opt, manager, is_loss_scale=True), manager)
    assert training.trace(trace["overflow"]) == expected(trace)


def test_without_the_check_every_step_is_applied():
    """On a CPU the overflowing gradient itself is applied, saturated as on the NPU."""
    [trace] = filter(is_unchecked, TRACES)
    manager = migrated_manager(trace)
    training = ToyTraining(lambda opt: NPULossScaleOptimizer(opt, manager), manager)
    scales, steps, weights = training.trace(trace["overflow"])
    assert [scales, steps] == expected(trace)[:2]
    first = trace["overflow"].index("1")
    largest = np.finfo(np.float32).max
    assert weights[:first] == expected(trace)[2][:first]
    assert weights[first] == pytest.approx(-0.125 * largest / 128, rel=1e-6)


def test_experimental_fixed_scale_becomes_stricter():
    """The original applies overflows and its weights become -Inf; the migrated one skips them."""
    [trace] = [trace for trace in TRACES if trace["kind"] == "experimental_fixed"]
    manager = migrated_manager(trace)
    training = ToyTraining(lambda opt: NPULossScaleOptimizer(opt, manager), manager)
    scales, steps, weights = training.trace(trace["overflow"])
    applied = np.cumsum([character == "0" for character in trace["overflow"]])
    assert scales == trace["loss_scale"]
    assert steps == list(applied)
    assert weights == list(1.0 - 0.125 * applied)


@pytest.mark.parametrize("trace", read("tolerant_scaler_traces.json"), ids=identify)
def test_tolerant_scaler_reproduces_the_trace(trace):
    manager = DynamicLossScaleManager(**trace["params"])
    training = ToyTraining(lambda opt: NPULossScaleOptimizer(opt, manager), manager)
    scales, steps, _ = training.trace(trace["overflow"])
    assert scales == trace["loss_scale"]
    assert steps[-1] == trace["overflow"].count("0")


@pytest.mark.parametrize("case", read("grad_global_norms.json"), ids=lambda case: case["ratio"])
def test_grad_global_norm_agrees_with_the_original(case):
    grads = [tf.constant([float(value) for value in grad]) for grad in case["grads"]]
    with tf.Session() as session:
        norm = session.run(grad_global_norm(grads, case["max_norm"]))
    np.testing.assert_allclose(norm.total_norm, float(case["total_norm"]), rtol=1e-6)
    np.testing.assert_allclose(norm.ratio, float(case["ratio"]), rtol=1e-6)
    assert norm.is_finite == case["is_finite"]
