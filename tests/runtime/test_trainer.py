"""MixedPrecisionTrainer and grad_global_norm."""

import pytest

tf = pytest.importorskip("tensorflow.compat.v1", reason="needs TensorFlow 1.15")

import numpy as np  # noqa: E402

from npu_migrate.runtime import (  # noqa: E402
    DynamicLossScaleManager,
    MixedPrecisionTrainer,
    StaticLossScaleManager,
    grad_global_norm,
)


class Training:
    """Two weights, `[3, 4]` the gradient by default, under Gradient descent of rate 1."""

    def __init__(self, optimizer=None, max_norm=None, batch_size=1, **arguments):
        self.fed = tf.placeholder_with_default([3.0, 4.0], [2])
        self.weights = tf.get_variable("weights", initializer=[0.0, 0.0])
        self.step = tf.train.get_or_create_global_step()
        self.trainer = MixedPrecisionTrainer(
            optimizer or tf.train.GradientDescentOptimizer(1.0), **arguments
        )
        self.pairs = self.trainer.backward(tf.reduce_sum(self.weights * self.fed))
        self.train_op = self.trainer.step(self.pairs, batch_size, max_norm, self.step)

    def run(self, *fed):
        """Weights, step and scale after training on each of the gradients."""
        scale = self.trainer.loss_scale_manager.get_loss_scale()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for value in fed:
                session.run(self.train_op, {} if value is None else {self.fed: value})
            weights, step, scale = session.run([self.weights, self.step, scale])
        return weights.tolist(), step, scale


def test_managers_and_their_arguments():
    assert isinstance(Training().trainer.loss_scale_manager, DynamicLossScaleManager)
    static = MixedPrecisionTrainer(
        tf.train.GradientDescentOptimizer(1.0), False, {"init_scale": 128}
    )
    assert isinstance(static.loss_scale_manager, StaticLossScaleManager)
    with tf.Session() as session:
        assert session.run(static.loss_scale_manager.get_loss_scale()) == 128
    with pytest.raises(ValueError, match="above 0"):
        StaticLossScaleManager(0)


def test_gradients_are_those_of_the_scaled_loss():
    training = Training(loss_scaler_params={"init_scale": 8.0})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(training.pairs[0][0]).tolist() == [24.0, 32.0]


@pytest.mark.parametrize("batch_size", [1, 4, np.float32(4.0)])
def test_scale_and_batch_size_are_divided_out(batch_size):
    weights, step, _ = Training(batch_size=batch_size).run(None)
    assert weights == [-3.0 / batch_size, -4.0 / batch_size]
    assert step == 1


@pytest.mark.parametrize("max_norm, expected", [(1.0, [-0.6, -0.8]), (100.0, [-3.0, -4.0])])
def test_clipping_is_by_the_unscaled_norm(max_norm, expected):
    weights, _, _ = Training(max_norm=max_norm).run(None)
    np.testing.assert_allclose(weights, expected, rtol=1e-6)


def test_several_losses_are_summed():
    weight = tf.get_variable("weight", initializer=1.0)
    trainer = MixedPrecisionTrainer(tf.train.GradientDescentOptimizer(1.0))
    train = trainer.step(trainer.backward([weight * 0.5, weight * 0.25]), 1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(weight) == 0.25


def test_only_the_listed_variables_are_trained():
    first = tf.get_variable("first", initializer=1.0)
    second = tf.get_variable("second", initializer=1.0)
    trainer = MixedPrecisionTrainer(tf.train.GradientDescentOptimizer(1.0))
    assert [v for _, v in trainer.backward(first * second, [second])] == [second]


@pytest.mark.parametrize("max_norm", [None, 1.0])
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_an_overflow_is_skipped(max_norm, bad):
    training = Training(max_norm=max_norm, loss_scaler_params={"init_scale": 16.0})
    assert training.run([bad, 1.0]) == ([0.0, 0.0], 0, 8.0)


def test_rare_overflows_are_tolerated():
    """One in ten is less than the share of one in four."""
    training = Training(loss_scaler_params={"init_scale": 16.0, "tolerance": 0.25})
    _, step, scale = training.run(*[None] * 9, [np.inf, 0.0])
    assert (step, scale) == (9, 16.0)


@pytest.mark.parametrize("max_norm", [None, 1.0])
def test_an_optimizer_that_checks_itself_is_always_called(max_norm):
    class ChecksItself(tf.train.GradientDescentOptimizer):
        supports_nan_check = True

    training = Training(
        ChecksItself(1.0), max_norm=max_norm, loss_scaler_params={"init_scale": 16.0}
    )
    weights, step, scale = training.run([np.nan, 1.0])
    assert np.isnan(weights[0])
    assert (step, scale) == (1, 8.0)


def test_none_and_float16_gradients():
    half = tf.get_variable("half", initializer=tf.constant([1.0, 2.0], tf.float16))
    unused = tf.get_variable("unused", initializer=1.0)
    trainer = MixedPrecisionTrainer(tf.train.GradientDescentOptimizer(1.0))
    loss = tf.reduce_sum(half * tf.constant([0.5, 0.25], tf.float16))
    train = trainer.step(trainer.backward(loss, [half, unused]), 1, max_norm=1.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(half).tolist() == [0.5, 1.75]


class TestGlobalNorm:
    def test_sparse_half_and_none(self):
        sparse = tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([0, 2]))
        norm = grad_global_norm([None, sparse, tf.constant([12.0], tf.float16)], 6.5)
        with tf.Session() as session:
            total, ratio, is_finite = session.run(norm)
        assert (total, ratio, is_finite) == (13.0, 2.0, True)

    def test_float16_squares_do_not_overflow(self):
        norm = grad_global_norm([tf.constant([60000.0] * 4, tf.float16)], 1.0)
        with tf.Session() as session:
            total, _, is_finite = session.run(norm)
        assert is_finite
        assert total == pytest.approx(120000, rel=1e-3)

    def test_nothing_to_measure_is_refused(self):
        with pytest.raises(ValueError, match="at least one gradient"):
            grad_global_norm([None], 1.0)
