"""What a user of the loss-scaling optimizers sees."""

import pytest

tf = pytest.importorskip("tensorflow.compat.v1", reason="needs TensorFlow 1.15")

import numpy as np  # noqa: E402
from tensorflow.contrib import mixed_precision  # noqa: E402
from toy_training import ToyTraining  # noqa: E402

from npu_migrate.runtime import (  # noqa: E402
    ExponentialUpdateLossScaleManager,
    FixedLossScaleManager,
    MixedPrecisionTrainer,
    NPUDistributedOptimizer,
    NPULossScaleOptimizer,
    NPUOptimizer,
)


def dynamic(init_loss_scale=8.0, **changes):
    parameters = {"incr_every_n_steps": 100, "decr_every_n_nan_or_inf": 1, "decr_ratio": 0.5}
    return ExponentialUpdateLossScaleManager(init_loss_scale, **{**parameters, **changes})


def wrappers(manager):
    return {
        "pair": lambda opt: NPULossScaleOptimizer(NPUDistributedOptimizer(opt), manager),
        "one": lambda opt: NPUOptimizer(opt, manager, is_loss_scale=True),
    }


@pytest.fixture(params=["pair", "one"])
def wrap(request):
    return lambda opt, manager: wrappers(manager)[request.param](opt)


def run(*fetches, feed=None, times=1):
    """Runs in a new session with new variables, and gives the values of the last run."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(times):
            values = session.run(list(fetches), feed)
        return values


class TestSignatures:
    def test_classes_are_contrib_ones(self):
        manager = FixedLossScaleManager(8)
        optimizer = NPULossScaleOptimizer(tf.train.GradientDescentOptimizer(1.0), manager)
        assert isinstance(optimizer, mixed_precision.LossScaleOptimizer)
        assert isinstance(manager, mixed_precision.FixedLossScaleManager)
        assert isinstance(dynamic(), mixed_precision.ExponentialUpdateLossScaleManager)
        assert manager.get_enable_overflow_check() is True

    def test_a_scale_below_one_is_refused(self):
        with pytest.raises(ValueError, match="at least 1"):
            FixedLossScaleManager(0.5)

    def test_npu_optimizer_scales_only_with_a_manager(self):
        with pytest.raises(ValueError, match="loss_scale_manager"):
            NPUOptimizer(tf.train.GradientDescentOptimizer(1.0), is_loss_scale=True)

    def test_npu_optimizer_without_loss_scaling_applies_everything(self):
        weight = tf.get_variable("weight", initializer=1.0)
        train = NPUOptimizer(tf.train.GradientDescentOptimizer(1.0)).minimize(weight * np.inf)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            assert session.run(weight) == -np.inf


class TestOneProcess:
    def test_distribution_is_refused(self, monkeypatch):
        optimizer = tf.train.GradientDescentOptimizer(1.0)
        for size in (None, "1"):
            if size:
                monkeypatch.setenv("RANK_SIZE", size)
            with pytest.raises(ValueError, match="RANK_SIZE.*ops_adapter.size"):
                NPULossScaleOptimizer(optimizer, dynamic(), is_distributed=True)
            with pytest.raises(ValueError, match="RANK_SIZE.*ops_adapter.size"):
                NPUOptimizer(optimizer, dynamic(), is_distributed=True, is_loss_scale=True)

    def test_the_distributed_optimizer_passes_everything_through(self):
        weight = tf.get_variable("weight", initializer=1.0)
        inner = tf.train.MomentumOptimizer(0.5, 0.9)
        pairs = NPUDistributedOptimizer(inner).compute_gradients(weight * 2.0)
        assert [var for _, var in pairs] == [weight]
        assert not any("Allreduce" in op.name for op in tf.get_default_graph().get_operations())


class TestGradients:
    def test_none_is_carried(self, wrap):
        used = tf.get_variable("used", initializer=1.0)
        unused = tf.get_variable("unused", initializer=1.0)
        optimizer = wrap(tf.train.GradientDescentOptimizer(0.5), dynamic())
        pairs = optimizer.compute_gradients(used * 1.0, [used, unused])
        assert pairs[1] == (None, unused)
        train = optimizer.apply_gradients(pairs)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            assert session.run([used, unused]) == [0.5, 1.0]

    @pytest.mark.parametrize("iterate", [iter, lambda pairs: zip(*zip(*pairs))])
    def test_an_iterator_is_not_used_up(self, wrap, iterate):
        """An optimizer of the script's own, as BERT's, walks the pairs itself."""

        class Walking(tf.train.GradientDescentOptimizer):
            def apply_gradients(self, grads_and_vars, global_step=None, name=None):
                updates = [tf.assign_sub(var, gradient) for gradient, var in grads_and_vars]
                return tf.group(*updates, name=name)

        weight = tf.get_variable("weight", initializer=1.0)
        optimizer = wrap(Walking(1.0), dynamic())
        train = optimizer.apply_gradients(iterate(optimizer.compute_gradients(weight * 0.25)))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            assert session.run(weight) == 0.75

    def test_sparse_gradients_become_dense(self, wrap):
        """Momentum then also moves rows that were not in the batch, as on the NPU."""
        assert self.first_row_after_three_steps(
            lambda optimizer: wrap(optimizer, FixedLossScaleManager(8)).minimize
        ) == pytest.approx(0.729)

    def test_the_trainer_keeps_them_sparse(self):
        def minimize_with(optimizer):
            trainer = MixedPrecisionTrainer(optimizer)
            return lambda loss: trainer.step(trainer.backward(loss), batch_size=1)

        assert self.first_row_after_three_steps(minimize_with) == pytest.approx(0.9)

    @staticmethod
    def first_row_after_three_steps(minimize_with):
        table = tf.get_variable("table", [3, 2], initializer=tf.ones_initializer())
        rows = tf.placeholder(tf.int32, [1])
        loss = tf.reduce_sum(tf.nn.embedding_lookup(table, rows))
        train = minimize_with(tf.train.MomentumOptimizer(0.1, 0.9))(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for row in (0, 1, 1):
                session.run(train, {rows: [row]})
            return session.run(table)[0, 0]

    def test_small_gradients_survive_float16_by_the_scale(self):
        weight = tf.get_variable("weight", initializer=1.0)
        half = tf.cast(weight, tf.float16) * np.float16(1e-4) * np.float16(1e-4)
        loss = tf.cast(half, tf.float32)
        optimizer = NPULossScaleOptimizer(
            tf.train.GradientDescentOptimizer(1.0), FixedLossScaleManager(2.0**15)
        )
        [(scaled, _)] = optimizer.compute_gradients(loss)
        [plain] = tf.gradients(loss, [weight])
        scaled, plain = run(scaled, plain)
        assert scaled == pytest.approx(1e-8, rel=1e-2)
        assert plain == 0.0


class TestInnerOptimizer:
    def test_slots_and_variables_are_reached_through_any_nesting(self):
        weight = tf.get_variable("weight", initializer=1.0)
        inner = tf.train.MomentumOptimizer(0.5, 0.9)
        nested = NPUOptimizer(
            NPULossScaleOptimizer(NPUDistributedOptimizer(inner), dynamic()), is_loss_scale=False
        )
        nested.minimize(weight * 1.0)
        assert nested.get_slot_names() == ["momentum"]
        assert nested.get_slot(weight, "momentum") is inner.get_slot(weight, "momentum")
        assert nested.variables() == inner.variables() != []

    def test_unknown_attributes_fall_through(self):
        inner = tf.train.GradientDescentOptimizer(0.5)
        inner.of_the_script = "seen"
        optimizer = NPULossScaleOptimizer(inner, dynamic())
        assert optimizer.of_the_script == "seen"
        with pytest.raises(AttributeError):
            optimizer.missing  # noqa: B018

    def test_the_name_and_the_step_are_passed_on(self):
        seen = {}

        class Recording(tf.train.GradientDescentOptimizer):
            def apply_gradients(self, grads_and_vars, global_step=None, name=None):
                seen.update(global_step=global_step, name=name)
                return super().apply_gradients(grads_and_vars, global_step, name)

        step = tf.train.get_or_create_global_step()
        optimizer = NPULossScaleOptimizer(Recording(1.0), dynamic())
        pairs = optimizer.compute_gradients(tf.get_variable("weight", initializer=1.0) * 1.0)
        optimizer.apply_gradients(pairs, step, "update")
        assert seen == {"global_step": step, "name": "update"}


class TestManagers:
    def test_a_manager_of_the_users_own_is_accepted(self, wrap):
        class Plain(mixed_precision.LossScaleManager):
            """Knows no operation to update itself."""

            def get_loss_scale(self):
                return tf.constant(4.0)

            def update_loss_scale(self, finite_grads):
                return None

        weight = tf.get_variable("weight", initializer=1.0)
        train = wrap(tf.train.GradientDescentOptimizer(0.5), Plain()).minimize(weight * 1.0)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            assert session.run(weight) == 0.5

    def test_two_optimizers_share_nothing(self):
        """One overflows, the other trains on, in one and the same run."""
        managers, trains, weights = [], [], []
        fed = [tf.placeholder(tf.float32, []) for _ in range(2)]
        for index in range(2):
            weight = tf.get_variable(f"weight{index}", initializer=1.0)
            manager = dynamic()
            optimizer = NPULossScaleOptimizer(tf.train.GradientDescentOptimizer(0.5), manager)
            managers.append(manager)
            weights.append(weight)
            trains.append(optimizer.minimize(weight * fed[index], var_list=[weight]))
        scales = [manager.get_loss_scale() for manager in managers]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(20):
                session.run(trains, {fed[0]: np.inf, fed[1]: 0.0})
            assert session.run(scales) == [1.0, 8.0]
            session.run(trains, {fed[0]: 1.0, fed[1]: np.inf})
            assert session.run(scales + weights) == [1.0, 4.0, 0.5, 1.0]


class TestSkippedSteps:
    def training(self):
        manager = dynamic(2.0**15)
        return ToyTraining(lambda opt: NPULossScaleOptimizer(opt, manager), manager)

    def test_the_scale_stops_at_one_and_a_warning_says_why(self, capfd):
        training = self.training()
        scales, steps, weights = training.trace("1" * 100)
        assert (scales[-1], steps[-1], weights[-1]) == (1.0, 0, 1.0)
        warning = capfd.readouterr().err
        assert "skipped 100 steps in a row; the loss scale is 1." in warning
        assert "enable_overflow_check=False" in warning

    def test_a_good_step_ends_the_row(self, capfd):
        self.training().trace("1" * 99 + "0" + "1" * 99)
        assert "in a row" not in capfd.readouterr().err


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
def test_the_step_counts_exactly_the_steps_applied(use_resource):
    """Thirty variables, so that an update which raced with another would show."""
    fed = tf.placeholder(tf.float32, [])
    with tf.variable_scope("", use_resource=use_resource):
        weights = [tf.get_variable(f"weight{i}", initializer=1.0) for i in range(30)]
        step = tf.train.get_or_create_global_step()
        manager = dynamic(2.0**10)
    optimizer = NPULossScaleOptimizer(tf.train.MomentumOptimizer(0.125, 0.0), manager)
    train = optimizer.minimize(tf.add_n(weights) * fed, step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number in range(50):
            session.run(train, {fed: np.nan if number % 5 == 4 else 1.0})
            applied = number + 1 - (number + 1) // 5
            values = session.run([step.read_value(), *weights])
            assert values == [applied] + [1.0 - 0.125 * applied] * 30
