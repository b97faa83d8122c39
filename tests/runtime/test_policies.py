"""Managers against plain Python models of their policies, on random overflows."""

import pytest

tf = pytest.importorskip("tensorflow.compat.v1", reason="needs TensorFlow 1.15")

import numpy as np  # noqa: E402
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from npu_migrate.runtime import (  # noqa: E402
    DynamicLossScaleManager,
    ExponentialUpdateLossScaleManager,
    FixedLossScaleManager,
    StaticLossScaleManager,
)

few = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
patterns = st.lists(st.booleans(), min_size=30, max_size=80)
steps = st.integers(1, 6)
powers_of_two = st.integers(0, 40).map(lambda exponent: 2.0**exponent)


def scales_of(manager, overflows):
    """The scale after each step."""
    finite = tf.placeholder(tf.bool, [])
    update = manager.update_loss_scale(finite)
    seen = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for overflow in overflows:
            session.run(update, {finite: not overflow})
            seen.append(float(session.run(manager.get_loss_scale())))
    return seen


def exponential_model(overflows, scale, every, tolerate, up, down):
    good = bad = 0
    scale, up, down = np.float32(scale), np.float32(up), np.float32(down)
    for overflow in overflows:
        good, bad = (0, bad + 1) if overflow else (good + 1, bad)
        if overflow and bad >= tolerate:
            scale, good, bad = max(np.float32(1.0), scale * down), 0, 0
        if not overflow and good >= every:
            scale, good, bad = scale * up if scale < 3.4e38 / up else scale, 0, 0
        yield float(scale)


def experimental_model(overflows, scale, period, multiplier):
    """`tf.train.experimental.DynamicLossScale`: divides at every overflow."""
    good = 0
    for overflow in overflows:
        good = 0 if overflow else good + 1
        if overflow:
            scale = max(1.0, scale / multiplier)
        elif good == period:
            scale, good = scale * multiplier, 0
        yield scale


def tolerant_model(overflows, scale, factor, window, tolerance):
    """As `DynamicLossScaler.update_scale` counts."""
    last_overflow = last_change = -1
    count = 0
    for step, overflow in enumerate(overflows):
        if overflow:
            last_overflow, count = step, count + 1
            if count / (step - last_change) >= tolerance:
                scale, last_change, count = scale / factor, step, 0
        elif (step - last_overflow) % window == 0:
            scale, last_change = scale * factor, step
        yield scale


@few
@given(patterns, powers_of_two, steps, steps, st.sampled_from([2, 4, 1.5]), st.floats(0.1, 0.9))
def test_exponential(overflows, scale, every, tolerate, up, down):
    tf.reset_default_graph()
    manager = ExponentialUpdateLossScaleManager(scale, every, tolerate, up, down)
    expected = list(exponential_model(overflows, scale, every, tolerate, up, down))
    np.testing.assert_allclose(scales_of(manager, overflows), expected, rtol=1e-5)


@few
@given(patterns, powers_of_two, steps, st.sampled_from([2.0, 4.0]))
def test_what_dynamic_loss_scale_becomes(overflows, scale, period, multiplier):
    tf.reset_default_graph()
    manager = ExponentialUpdateLossScaleManager(scale, period, 1, multiplier, 1 / multiplier)
    expected = list(experimental_model(overflows, scale, period, multiplier))
    if max(expected) < 2.0**100:
        assert scales_of(manager, overflows) == expected


@few
@given(patterns, powers_of_two, st.sampled_from([2.0, 4.0]), steps, st.floats(0.0, 1.0))
def test_tolerant(overflows, scale, factor, window, tolerance):
    tf.reset_default_graph()
    manager = DynamicLossScaleManager(scale, factor, window, tolerance)
    expected = list(tolerant_model(overflows, scale, factor, window, tolerance))
    within = [min(max(value, 2.0**-126), 2.0**127) for value in expected]
    if within == expected:
        assert scales_of(manager, overflows) == expected


@pytest.mark.parametrize("manager", [FixedLossScaleManager, StaticLossScaleManager])
def test_fixed(manager):
    assert scales_of(manager(128.0), [False, True, True]) == [128.0] * 3


def test_the_scale_stays_a_number():
    assert max(scales_of(ExponentialUpdateLossScaleManager(2.0**120, 1), [False] * 30)) == 2.0**127
    assert max(scales_of(DynamicLossScaleManager(2.0**120, 2.0, 1), [False] * 30)) == 2.0**127
    assert min(scales_of(DynamicLossScaleManager(1.0, 16.0), [True] * 60)) == 2.0**-126
    assert min(scales_of(ExponentialUpdateLossScaleManager(8.0, 1, 1), [True] * 60)) == 1.0
