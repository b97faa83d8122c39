"""Overflow detection is exact, whatever the gradients are."""

import json
import subprocess
import sys

import pytest
from npu_run import environment

tf = pytest.importorskip("tensorflow.compat.v1", reason="needs TensorFlow 1.15")

import numpy as np  # noqa: E402
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from toy_training import ToyTraining  # noqa: E402

from npu_migrate.runtime import (  # noqa: E402
    ExponentialUpdateLossScaleManager,
    GradientFiniteness,
    NpuFloatStatus,
    NPULossScaleOptimizer,
)
from npu_migrate.runtime.overflow import SimulatedSaturation, choose_overflow_source  # noqa: E402
from npu_migrate.runtime.overflow.float_register import FloatRegister  # noqa: E402

DTYPES = (tf.float16, tf.bfloat16, tf.float32)
SPECIAL = ("max", "-max", "smallest", 0.0, 1.0, -1.0, "inf", "-inf", "nan")


class Check:
    """The verdict on a dense and a sparse gradient of one dtype, in one session."""

    def __init__(self, dtype):
        self.dtype = dtype.as_numpy_dtype
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.dense = tf.placeholder(dtype, [None])
            self.values = tf.placeholder(dtype, [None])
            sparse = tf.IndexedSlices(self.values, tf.range(tf.size(self.values)))
            status = GradientFiniteness().status([self.dense, None, sparse])
            self.finite = tf.reduce_all(tf.equal(status, 0))
            self.session = tf.Session()

    def __call__(self, dense, values):
        feed = {self.dense: dense, self.values: values}
        return bool(self.session.run(self.finite, feed))

    def array(self, numbers):
        limits = {
            "max": self.largest,
            "-max": -self.largest,
            "smallest": 1e-40,
            "inf": np.inf,
            "-inf": -np.inf,
            "nan": np.nan,
        }
        return np.array([limits.get(n, n) for n in numbers], np.float32).astype(self.dtype)

    @property
    def largest(self):
        return {"float16": 65504.0, "bfloat16": 3.3895314e38}.get(
            np.dtype(self.dtype).name, 3.4028235e38
        )


@pytest.fixture(params=DTYPES, ids=lambda dtype: dtype.name, scope="module")
def check(request):
    return Check(request.param)


numbers = st.lists(st.sampled_from(SPECIAL), max_size=40)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(dense=numbers, sparse=numbers)
def test_the_verdict_is_that_of_looking_at_each_element(check, dense, sparse):
    dense, sparse = check.array(dense), check.array(sparse)
    truth = all(np.isfinite(a.astype(np.float32)).all() for a in (dense, sparse))
    assert check(dense, sparse) == truth


def test_finite_gradients_whose_sum_overflows_are_finite(check):
    assert check(check.array(["max"] * 1000), check.array(["max"] * 1000))
    assert check(check.array(["max"] * 1000), check.array([]))


def test_one_bad_element_among_many_is_found(check):
    for bad in ("inf", "-inf", "nan"):
        array = check.array(["max", "-max"] * 50000)
        array[77777] = check.array([bad])[0]
        assert not check(array, check.array([1.0]))
        assert not check(check.array([1.0]), array)


def test_infinities_of_both_signs_do_not_cancel(check):
    assert not check(check.array(["inf", "-inf"]), check.array([0.0]))
    assert not check(check.array(["inf"]), check.array(["-inf"]))


def test_nothing_to_check_is_finite():
    status = GradientFiniteness().status([None, None])
    with tf.Session() as session:
        assert session.run(status).tolist() == [0]


def test_the_common_case_reads_each_float32_gradient_once():
    """One sum a gradient runs; the exact look at each element only where a sum is not finite."""
    gradients = [tf.placeholder(tf.float32, [None]) for _ in range(3)]
    status = GradientFiniteness().status(gradients)

    def operations_run(value):
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.SOFTWARE_TRACE)
        with tf.Session() as session:
            feed = {gradient: np.full(10, value, np.float32) for gradient in gradients}
            session.run(status, feed, options=options, run_metadata=metadata)
        labels = [n.timeline_label for d in metadata.step_stats.dev_stats for n in d.node_stats]
        kinds = [label.split(" = ")[1].split("(")[0] for label in labels if " = " in label]
        return kinds.count("Sum"), kinds.count("IsFinite")

    assert operations_run(1.0) == (3, 1)
    assert operations_run(np.inf)[1] > 1


def test_a_bad_element_is_found_among_small_gradients_of_many_shapes_and_types():
    shapes = ([], [3], [2, 5], [4096], [5000], [2, 3, 4])
    types = (np.float32, np.float16, np.float64)
    arrays = [np.ones(shape, kind) for kind in types for shape in shapes]
    gradients = [tf.constant(array) for array in arrays]
    status = GradientFiniteness().status(gradients)
    with tf.Session() as session:
        assert session.run(status).tolist() == [0]
        for gradient, array in zip(gradients, arrays):
            for bad in (np.inf, -np.inf, np.nan):
                spoilt = array.copy()
                spoilt[(-1,) * spoilt.ndim] = bad
                assert session.run(status, {gradient: spoilt}).tolist() == [1]


class TestChoice:
    def test_off_the_npu(self, monkeypatch):
        assert isinstance(choose_overflow_source(), SimulatedSaturation)
        monkeypatch.setenv("NPU_MIGRATE_OVERFLOW_MODE", "inf_nan")
        assert type(choose_overflow_source()) is GradientFiniteness

    def test_unknown_mode_is_named(self, monkeypatch):
        monkeypatch.setenv("NPU_MIGRATE_OVERFLOW_MODE", "ieee")
        with pytest.raises(ValueError, match="NPU_MIGRATE_OVERFLOW_MODE.*ieee.*saturation or inf"):
            choose_overflow_source()

    def test_on_the_npu(self, saturating_npu):
        assert isinstance(choose_overflow_source(), NpuFloatStatus)

    def test_on_an_npu_with_inf_and_nan(self, saturating_npu):
        from npu_bridge.estimator.npu import npu_plugin

        npu_plugin.inf_nan = True
        assert type(choose_overflow_source()) is GradientFiniteness

    def test_on_an_npu_from_before_inf_and_nan(self, saturating_npu):
        from npu_bridge.estimator.npu import npu_plugin

        del npu_plugin.is_inf_nan_enabled
        assert isinstance(choose_overflow_source(), NpuFloatStatus)


class TestRegisterOfTheNpu:
    def training(self, library):
        manager = ExponentialUpdateLossScaleManager(8.0, 100, 1, 2, 0.5)
        return ToyTraining(
            lambda opt: NPULossScaleOptimizer(opt, manager),
            manager,
            disturb=library.saturate_float16,
            overflow=1e6,
        )

    def test_an_overflow_that_the_gradient_hides_is_seen_and_cleared(self, saturating_npu):
        training = self.training(saturating_npu)
        gradient = training.grads_and_vars[0][0]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(gradient, {training.fed: 1e6}) == 65504
            training.step(session, overflows=True)
            assert training.state(session) == (4.0, 0.0, 1.0)
            training.step(session)
            assert training.state(session) == (4.0, 1.0, 0.875)

    def test_an_overflow_of_an_earlier_run_counts_at_the_next_step(self, saturating_npu):
        training = self.training(saturating_npu)
        elsewhere = saturating_npu.saturate_float16(training.fed)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(elsewhere, {training.fed: 1e6})
            training.step(session)
            training.step(session)
            assert training.state(session) == (4.0, 1.0, 0.875)


class TestFloatRegister:
    def test_it_survives_the_run_until_it_is_cleared(self):
        register = FloatRegister("register")
        raise_it, is_raised, clear = register.raise_it(), register.is_raised(), register.clear()
        with tf.Session() as session:
            assert not session.run(is_raised)
            session.run(raise_it)
            assert session.run(is_raised)
            assert session.run(is_raised)
            session.run(clear)
            assert not session.run(is_raised)

    def test_a_clear_counts_from_the_end_of_its_run(self):
        """Read, clear, read in one run: both readers see the overflow."""
        register = FloatRegister("register")
        raise_it = register.raise_it()
        first = register.is_raised()
        with tf.control_dependencies([first]):
            cleared = register.clear()
        with tf.control_dependencies([cleared]):
            second = register.is_raised()
            cleared_again = register.clear()
        with tf.Session() as session:
            for _ in range(3):
                session.run(raise_it)
                assert session.run([first, second, cleared_again])[:2] == [True, True]
                assert session.run([first, second, cleared_again])[:2] == [False, False]

    def test_each_session_has_its_own(self):
        register = FloatRegister("register")
        raise_it, is_raised = register.raise_it(), register.is_raised()
        with tf.Session() as one, tf.Session() as other:
            one.run(raise_it)
            assert one.run(is_raised)
            assert not other.run(is_raised)

    def test_it_is_no_variable_of_the_graph(self):
        register = FloatRegister("register")
        register.raise_it(), register.is_raised(), register.clear()
        assert tf.global_variables() == tf.local_variables() == []


class TestSimulatedSaturation:
    @pytest.mark.parametrize("value, handed_on", [(np.inf, 1), (-np.inf, -1), (np.nan, 1)])
    def test_gradients_saturate_as_on_the_npu(self, value, handed_on):
        manager = ExponentialUpdateLossScaleManager(1024.0, 100)
        training = ToyTraining(lambda opt: NPULossScaleOptimizer(opt, manager), manager)
        gradient = training.grads_and_vars[0][0]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            seen = session.run(gradient, {training.fed: value})
        assert seen == handed_on * np.finfo(np.float32).max / 1024

    @pytest.mark.parametrize("dtype, largest", [(tf.float16, 65504), (tf.bfloat16, 3.3895314e38)])
    def test_sixteen_bit_gradients_saturate_too(self, dtype, largest):
        weight = tf.get_variable("weight", initializer=tf.cast([1.0, 1.0], dtype))
        fed = tf.placeholder(tf.float32, [2])
        manager = ExponentialUpdateLossScaleManager(1024.0, 100)
        optimizer = NPULossScaleOptimizer(tf.train.GradientDescentOptimizer(1.0), manager)
        pairs = optimizer.compute_gradients(tf.reduce_sum(weight * tf.cast(fed, dtype)))
        train = optimizer.apply_gradients(pairs)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            gradient = tf.cast(pairs[0][0], tf.float32)
            handed_on, _ = session.run([gradient, train], {fed: [np.inf, -np.inf]})
            np.testing.assert_allclose(handed_on, [largest / 1024, -largest / 1024], rtol=1e-2)
            assert session.run(tf.cast(weight, tf.float32)).tolist() == [1.0, 1.0]
            session.run(train, {fed: [0.5, 0.25]})
            assert session.run(tf.cast(weight, tf.float32)).tolist() == [0.5, 0.75]

    def test_a_finite_check_in_the_script_is_blind(self):
        """The step moves by the script's own check, the weight by the register: they part."""
        manager = ExponentialUpdateLossScaleManager(8.0, 100)
        training = ToyTraining(lambda opt: NPULossScaleOptimizer(opt, manager), manager)
        finite = tf.math.is_finite(training.grads_and_vars[0][0])
        naive_step = tf.get_variable("naive_step", initializer=0)
        moved = tf.assign_add(naive_step, tf.cast(finite, tf.int32))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run([training.train_op, moved], {training.fed: np.inf})
            assert session.run([naive_step, training.weight]) == [1, 1.0]

    def test_inf_that_arises_after_compute_gradients_is_found(self):
        weight = tf.get_variable("weight", initializer=1.0)
        fed = tf.placeholder(tf.float32, [])
        manager = ExponentialUpdateLossScaleManager(8.0, 100, 1, 2, 0.5)
        optimizer = NPULossScaleOptimizer(tf.train.GradientDescentOptimizer(1.0), manager)
        [(gradient, _)] = optimizer.compute_gradients(weight)
        train = optimizer.apply_gradients([(gradient * fed, weight)])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train, {fed: np.inf})
            assert session.run([weight, manager.get_loss_scale()]) == [1.0, 4.0]

    @pytest.mark.parametrize("mode", ["saturation", "inf_nan"])
    def test_a_micro_batch_that_overflowed_spoils_its_step(self, mode, monkeypatch):
        """Gradients are accumulated over runs of their own, then applied in another."""
        monkeypatch.setenv("NPU_MIGRATE_OVERFLOW_MODE", mode)
        weight = tf.get_variable("weight", initializer=1.0)
        total = tf.get_variable("total", initializer=0.0, trainable=False)
        fed = tf.placeholder(tf.float32, [])
        manager = ExponentialUpdateLossScaleManager(8.0, 100, 1, 2, 0.5)
        optimizer = NPULossScaleOptimizer(tf.train.GradientDescentOptimizer(0.125), manager)
        [(gradient, _)] = optimizer.compute_gradients(weight * fed)
        accumulate = tf.assign_add(total, gradient)
        train = optimizer.apply_gradients([(total.read_value(), weight)])
        reset = tf.assign(total, 0.0)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())

            def train_on(*micro_batches):
                for value in micro_batches:
                    session.run(accumulate, {fed: value})
                session.run(train)
                session.run(reset)
                return session.run([weight, manager.get_loss_scale()])

            assert train_on(1.0, 1.0) == [0.75, 8.0]
            assert train_on(1.0, np.inf) == [0.75, 4.0]
            assert train_on(1.0, 1.0) == [0.5, 4.0]


CONTROL_FLOW = """
import sys
import numpy as np
import tensorflow.compat.v1 as tf
if sys.argv[1] == "v2":
    tf.enable_control_flow_v2()
    tf.enable_resource_variables()
from npu_migrate.runtime import ExponentialUpdateLossScaleManager, NPULossScaleOptimizer

weight = tf.get_variable("weight", initializer=1.0)
total = tf.get_variable("total", initializer=0.0, trainable=False)
fed, is_last = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])
step = tf.train.get_or_create_global_step()
manager = ExponentialUpdateLossScaleManager(8.0, 100, 1, 2, 0.5)
optimizer = NPULossScaleOptimizer(tf.train.MomentumOptimizer(0.125, 0.0), manager)
pairs = optimizer.compute_gradients(weight * fed)

def apply_total():
    with tf.control_dependencies([optimizer.apply_gradients([(total.read_value(), weight)], step)]):
        return tf.group(tf.assign(total, 0.0))

with tf.control_dependencies([tf.assign_add(total, pairs[0][0])]):
    accumulated = tf.cond(is_last, apply_total, tf.no_op)
direct = tf.cond(is_last, lambda: optimizer.apply_gradients(pairs, step), tf.no_op)
seen = []
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for train in (accumulated, direct):
        for value, last in [(1, False), (1, True), (np.inf, False), (1, True), (np.inf, True)]:
            session.run(train, {fed: value, is_last: last})
            seen.append(session.run([weight, step, manager.get_loss_scale()]))
print([[float(number) for number in row] for row in seen])
"""


@pytest.mark.parametrize("mode", ["saturation", "inf_nan"])
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_gradients_may_be_applied_under_a_condition(version, mode):
    """With both kinds of control flow of TensorFlow 1.15; a whole process chooses one."""
    done = subprocess.run(
        [sys.executable, "-c", CONTROL_FLOW, version],
        env=environment(NPU_MIGRATE_OVERFLOW_MODE=mode),
        stdout=subprocess.PIPE,
        check=True,
    )
    accumulated = [[1, 0, 8], [0.75, 1, 8], [0.75, 1, 8], [0.75, 1, 4], [0.75, 1, 2]]
    # Gradients that are not applied are not asked whether they overflowed: the third step. On an
    # NPU that saturates they are, when the next ones are applied.
    if mode == "inf_nan":
        direct = [[0.75, 1, 2], [0.625, 2, 2], [0.625, 2, 2], [0.5, 3, 2], [0.5, 3, 1]]
    else:
        direct = [[0.75, 1, 2], [0.625, 2, 2], [0.625, 2, 2], [0.625, 2, 1], [0.625, 2, 1]]
    assert json.loads(done.stdout) == accumulated + direct
