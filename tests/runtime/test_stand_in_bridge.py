"""The stand-in for the vendor's packages."""

import importlib
import inspect
import os
import subprocess
import sys

import pytest

tf = pytest.importorskip("tensorflow.compat.v1", reason="needs TensorFlow 1.15")

import fake_vendor  # noqa: E402
import numpy as np  # noqa: E402
from npu_run import environment  # noqa: E402

from npu_migrate.runtime import install_bridge  # noqa: E402


@pytest.fixture
def bridge():
    """`npu_bridge.npu_init`, served by the stand-in."""
    assert install_bridge() is True
    return importlib.import_module("npu_bridge.npu_init")


def evaluate(*fetches):
    with tf.Session() as session:
        return session.run(list(fetches))


class TestInstalling:
    def test_without_it_nothing_is_served(self):
        program = "import npu_migrate.runtime, npu_bridge"
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment(), stderr=subprocess.PIPE
        )
        assert b"No module named 'npu_bridge'" in done.stderr

    def test_again_is_harmless(self, bridge):
        before = list(sys.meta_path)
        assert install_bridge() is True
        assert sys.meta_path == before

    def test_the_overflow_mode_is_set(self):
        install_bridge(overflow_mode="inf_nan")
        assert os.environ.pop("NPU_MIGRATE_OVERFLOW_MODE") == "inf_nan"
        with pytest.raises(ValueError, match="ieee"):
            install_bridge(overflow_mode="ieee")

    def test_the_vendors_package_is_never_shadowed(self, saturating_npu):
        assert install_bridge() is False
        module = importlib.import_module("npu_bridge.helper.helper")
        assert "packages" not in module.__file__

    def test_not_even_when_it_is_found_after_installing(self, tmp_path, monkeypatch):
        install_bridge()
        with fake_vendor.on_path(tmp_path, monkeypatch):
            assert importlib.import_module("npu_bridge").__file__.startswith(str(tmp_path))


PATHS = {
    "npu_bridge.estimator.npu.npu_loss_scale_manager": (
        "FixedLossScaleManager",
        "ExponentialUpdateLossScaleManager",
    ),
    "npu_bridge.estimator.npu.npu_loss_scale_optimizer": ("NPULossScaleOptimizer",),
    "npu_bridge.estimator.npu.npu_optimizer": (
        "NPUDistributedOptimizer",
        "NPUOptimizer",
        "KerasDistributeOptimizer",
        "npu_distributed_optimizer_wrapper",
        "npu_allreduce",
    ),
    "npu_bridge.estimator.npu.npu_hook": (
        "NPUBroadcastGlobalVariablesHook",
        "NPUCheckpointSaverHook",
    ),
    "npu_bridge.estimator.npu.npu_callbacks": ("NPUBroadcastGlobalVariablesCallback",),
    "npu_bridge.estimator.npu.npu_strategy": ("NPUStrategy",),
    "npu_bridge.estimator.npu.npu_config": ("NPURunConfig",),
    "npu_bridge.estimator.npu.npu_estimator": ("NPUEstimator", "NPUEstimatorSpec"),
    "npu_bridge.estimator.npu.keras_to_npu": ("model_to_npu_estimator",),
    "npu_bridge.estimator.npu.util": ("get_ranksize",),
    "npu_bridge.estimator.npu": ("npu_convert_dropout",),
    "npu_bridge.estimator.npu_ops": ("dropout", "initialize_system", "shutdown_system"),
    "npu_bridge.estimator.npu_unary_ops": ("npu_unary_ops",),
    "npu_bridge.hccl.hccl_ops": (
        "allreduce",
        "allgather",
        "broadcast",
        "reduce",
        "reduce_scatter",
    ),
    "npu_bridge.helper.helper": ("get_gen_ops",),
    "npu_bridge.npu_init": (
        "NPULossScaleOptimizer",
        "NPUDistributedOptimizer",
        "NPUOptimizer",
        "FixedLossScaleManager",
        "ExponentialUpdateLossScaleManager",
        "NPURunConfig",
        "NPUEstimator",
        "NPUEstimatorSpec",
        "NPUBroadcastGlobalVariablesHook",
        "npu_config_proto",
        "npu_graph_options",
        "npu_optimizer_options",
        "npu_run_config_init",
        "npu_hooks_append",
        "npu_callbacks_append",
        "set_keras_session_npu_config",
        "npu_clear_session",
        "init_resource",
        "shutdown_resource",
        "close_session",
        "get_npu_rank_id",
        "get_npu_local_rank_id",
        "get_npu_rank_size",
        "get_npu_local_rank_size",
        "npu_ops",
        "npu_unary_ops",
        "hccl_ops",
        "util",
        "npu_strategy",
        "keras_to_npu",
        "tf",
        "RewriterConfig",
        "create_group",
        "get_rank_size",
        "get_rank_id",
    ),
    "hccl.manage.api": (
        "create_group",
        "destroy_group",
        "get_rank_size",
        "get_local_rank_size",
        "get_rank_id",
        "get_local_rank_id",
    ),
}


@pytest.mark.parametrize("module", sorted(PATHS))
def test_every_name_can_be_imported_from_its_path(bridge, module):
    for name in PATHS[module]:
        scope = {}
        exec(f"from {module} import {name}", scope)
        assert scope[name] is not None


def test_import_star_brings_everything(bridge):
    scope = {}
    exec("from npu_bridge.npu_init import *", scope)
    assert set(PATHS["npu_bridge.npu_init"]) <= set(scope)


SIGNATURES = {
    "FixedLossScaleManager": "(loss_scale, enable_overflow_check=True)",
    "ExponentialUpdateLossScaleManager": "(init_loss_scale, incr_every_n_steps, "
    "decr_every_n_nan_or_inf=2, incr_ratio=2, decr_ratio=0.8)",
    "NPULossScaleOptimizer": "(opt, loss_scale_manager, is_distributed=False)",
    "NPUDistributedOptimizer": "(optimizer, is_weight_update_sharding=False, name=None)",
    "NPUOptimizer": "(opt, loss_scale_manager=None, is_distributed=False, is_loss_scale=False, "
    "is_tailing_optimization=False, name=None)",
    "KerasDistributeOptimizer": "(optimizer, name='NpuKerasOptimizer', **kwargs)",
    "npu_distributed_optimizer_wrapper": "(optimizer)",
    "npu_allreduce": "(values, reduction='mean', fusion=1, fusion_id=-1, group='hccl_world_group')",
    "NPUBroadcastGlobalVariablesHook": "(root_rank=None, index=None)",
    "NPUBroadcastGlobalVariablesCallback": "(root_rank)",
    "npu_config_proto": "(config_proto=None)",
    "npu_run_config_init": "(run_config=None)",
    "npu_hooks_append": "(hooks_list=())",
    "npu_callbacks_append": "(callbacks_list=())",
    "set_keras_session_npu_config": "(config=None)",
    "init_resource": "(config=None)",
    "shutdown_resource": "(sess, npu_shutdown)",
    "close_session": "(sess)",
}


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_signatures_are_the_vendors(bridge, name):
    parameters = inspect.signature(getattr(bridge, name)).parameters.values()
    plain = [parameter.replace(annotation=parameter.empty) for parameter in parameters]
    assert str(inspect.Signature(plain)) == SIGNATURES[name]


class TestConfiguration:
    def test_a_session_starts_with_it(self, bridge):
        with tf.Session(config=bridge.npu_config_proto()) as session:
            assert session.run(tf.constant(2.0) * 3.0) == 6.0

    def test_what_is_set_stays_and_nothing_is_added_twice(self, bridge):
        config = tf.ConfigProto(intra_op_parallelism_threads=1)
        config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
        assert bridge.npu_config_proto(bridge.npu_config_proto(config_proto=config)) is config
        [optimizer] = config.graph_options.rewrite_options.custom_optimizers
        assert optimizer.name == "NpuOptimizer"
        assert config.intra_op_parallelism_threads == 1
        assert config.allow_soft_placement
        assert config.graph_options.optimizer_options.global_jit_level == tf.OptimizerOptions.OFF
        assert config.graph_options.rewrite_options.remapping == bridge.RewriterConfig.OFF
        optimizer.parameter_map["precision_mode_v2"].s = b"mixed_float16"
        with tf.Session(config=config) as session:
            assert session.run(tf.constant(1.0)) == 1.0

    def test_run_config(self, bridge, tmp_path):
        config = tf.estimator.RunConfig(model_dir=str(tmp_path))
        assert bridge.npu_run_config_init(run_config=config) is config
        assert config.session_config.allow_soft_placement
        assert bridge.npu_run_config_init().session_config.allow_soft_placement

    def test_options(self, bridge):
        graph = bridge.npu_graph_options(tf.GraphOptions(place_pruned_graph=True))
        assert graph.place_pruned_graph
        assert graph.optimizer_options.global_jit_level == tf.OptimizerOptions.OFF
        assert bridge.npu_optimizer_options().global_jit_level == tf.OptimizerOptions.OFF

    def test_keras_session(self, bridge):
        session = bridge.set_keras_session_npu_config()
        assert tf.keras.backend.get_session() is session
        bridge.npu_clear_session()
        assert tf.keras.backend.get_session() is not session
        bridge.close_session(session)
        with pytest.raises(RuntimeError, match="closed"):
            session.run(tf.constant(1.0))

    def test_npu_run_config(self, bridge):
        config = bridge.NPURunConfig(precision_mode_v2="mixed_float16", iterations_per_loop=10)
        assert isinstance(config, tf.estimator.RunConfig)
        assert (config.save_checkpoints_steps, config.precision_mode_v2) == (100, "mixed_float16")
        with pytest.raises(TypeError, match="no option precision_mod"):
            bridge.NPURunConfig(precision_mod="typo")
        with pytest.raises(ValueError, match="iterations_per_loop=1"):
            bridge.NPURunConfig(mix_compile_mode=True, iterations_per_loop=2)
        with pytest.raises(ValueError, match="positive"):
            bridge.NPURunConfig(iterations_per_loop=0)


class TestOperations:
    def test_dropout_drops_and_scales(self, bridge):
        [dropped] = evaluate(bridge.npu_ops.dropout(tf.ones([10000]), 0.8, seed=1))
        assert set(np.unique(dropped)) == {0.0, np.float32(1.25)}
        assert np.mean(dropped == 0) == pytest.approx(0.2, abs=0.02)

    def test_dropout_shares_the_fate_where_the_noise_has_one_row(self, bridge):
        [dropped] = evaluate(bridge.npu_ops.dropout(tf.ones([50, 4]), 0.5, noise_shape=[50, 1]))
        assert (dropped == dropped[:, :1]).all()

    def test_dropout_that_keeps_all_and_bad_arguments(self, bridge):
        x = tf.ones([3])
        assert bridge.npu_ops.dropout(x, 1.0) is x
        with pytest.raises(ValueError, match="keep_prob"):
            bridge.npu_ops.dropout(x, 0.0)
        with pytest.raises(ValueError, match="floating-point"):
            bridge.npu_ops.dropout(tf.constant([1]), 0.5)

    def test_dropout_has_a_gradient(self, bridge):
        x = tf.ones([1000])
        dropped = bridge.npu_ops.dropout(x, tf.constant(0.5), seed=1)
        output, gradient = evaluate(dropped, tf.gradients(dropped, [x])[0])
        assert output.tolist() == gradient.tolist()

    def test_gelu_is_berts(self, bridge):
        x = np.linspace(-4, 4, 81).astype(np.float32)
        expected = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
        [output] = evaluate(bridge.npu_unary_ops.gelu(x))
        np.testing.assert_allclose(output, expected, atol=1e-6)

    def test_collectives_of_one_process(self, bridge):
        x = tf.constant([1.0, 2.0])
        ops = bridge.hccl_ops
        outputs = [ops.allreduce(x, "max"), ops.allgather(x, 1), *ops.broadcast([x], 0)]
        outputs += [ops.reduce(x, "sum", 0), ops.reduce_scatter(x, "sum", 1)]
        assert [value.tolist() for value in evaluate(*outputs)] == [[1.0, 2.0]] * 5
        with pytest.raises(ValueError, match="mean.*sum, min, max, prod"):
            ops.allreduce(x, "mean")
        with pytest.raises(ValueError, match="rank_size is 2, but 1"):
            ops.allgather(x, 2)
        with pytest.raises(ValueError, match="only on the NPU"):
            ops.allreduce(x, "sum", group="half")

    def test_the_register_of_the_op_library(self, bridge):
        from npu_bridge.helper import helper

        library = helper.get_gen_ops()
        status = library.npu_get_float_status_v2()
        cleared = library.npu_clear_float_status_v2()
        raise_it = library.npu_raise_float_status()
        with tf.Session() as session:
            assert session.run(status).tolist() == [0] * 8
            session.run(raise_it)
            assert session.run(status).any()
            session.run(cleared)
            assert session.run(status).tolist() == [0] * 8


class TestRanks:
    def test_only_after_init_resource(self, bridge, monkeypatch):
        bridge.util.global_dict_init()
        assert (bridge.get_npu_rank_id(), bridge.get_npu_rank_size()) == (0, 1)
        session, shutdown = bridge.init_resource()
        assert (bridge.get_npu_local_rank_id(), bridge.get_npu_local_rank_size()) == (0, 1)
        bridge.shutdown_resource(session, shutdown)
        bridge.close_session(session)

    def test_rank_size_is_a_string(self, bridge, monkeypatch):
        assert bridge.util.get_ranksize() == "1"
        monkeypatch.setenv("CM_WORKER_SIZE", "4")
        assert bridge.util.get_ranksize() == "4"
        monkeypatch.setenv("RANK_SIZE", "8")
        with pytest.raises(ValueError, match="RANK_SIZE and CM_WORKER_SIZE"):
            bridge.util.get_ranksize()

    def test_groups(self, bridge):
        bridge.create_group("all", 1, [0])
        with pytest.raises(ValueError, match="only on the NPU"):
            bridge.create_group("some", 2, [0, 1])

    def test_a_tuple_of_hooks_gives_a_new_list(self, bridge):
        hooks = [object()]
        assert bridge.npu_hooks_append(hooks) is hooks
        assert len(hooks) == 2
        [hook] = bridge.npu_hooks_append()
        assert isinstance(hook, bridge.NPUBroadcastGlobalVariablesHook)
        [callback] = bridge.npu_callbacks_append()
        assert isinstance(callback, bridge.NPUBroadcastGlobalVariablesCallback)

    def test_the_strategy_shards_a_dataset(self, bridge, monkeypatch):
        with pytest.raises(ValueError, match="/cpu:0"):
            bridge.npu_strategy.NPUStrategy("/gpu:0")
        strategy = bridge.npu_strategy.NPUStrategy()
        with strategy.scope():
            assert tf.get_variable("weight", initializer=1.0) is not None
        monkeypatch.setenv("RANK_SIZE", "2")
        monkeypatch.setenv("RANK_ID", "1")
        dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4))
        element = dataset.make_one_shot_iterator().get_next()
        with tf.Session() as session:
            assert [session.run(element) for _ in range(2)] == [1, 3]


def model_fn(features, labels, mode, params):
    from npu_bridge.npu_init import NPUEstimatorSpec

    weight = tf.get_variable("weight", initializer=0.0)
    output = weight * features
    if mode == tf.estimator.ModeKeys.PREDICT:
        return NPUEstimatorSpec(mode, predictions={"output": output})
    loss = tf.reduce_mean((output - labels) ** 2)
    optimizer = tf.train.GradientDescentOptimizer(params["rate"])
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return NPUEstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn():
    return tf.data.Dataset.from_tensors((np.float32([1.0]), np.float32([3.0]))).repeat(40)


class TestEstimator:
    def test_it_trains_evaluates_and_predicts(self, bridge, tmp_path):
        config = bridge.NPURunConfig(
            model_dir=str(tmp_path), save_checkpoints_steps=20, iterations_per_loop=5
        )
        estimator = bridge.NPUEstimator(model_fn, config=config, params={"rate": 0.1})
        estimator.train(input_fn, max_steps=40)
        assert estimator.get_variable_value("global_step") == 40
        assert estimator.get_variable_value("weight") == pytest.approx(3.0, abs=0.01)
        assert estimator.evaluate(input_fn, steps=1)["loss"] < 1e-3
        assert next(estimator.predict(input_fn))["output"] == pytest.approx(3.0, abs=0.01)

    def test_another_config_is_refused(self, bridge):
        with pytest.raises(ValueError, match="NPURunConfig"):
            bridge.NPUEstimator(model_fn, config=tf.estimator.RunConfig())

    def test_of_a_keras_model(self, bridge, tmp_path):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), name="dense")])
        model.compile(loss="mse", optimizer=tf.keras.optimizers.SGD(0.1))
        estimator = bridge.keras_to_npu.model_to_npu_estimator(
            keras_model=model, model_dir=str(tmp_path), config=bridge.NPURunConfig()
        )
        data = np.ones([4, 1], np.float32)
        estimator.train(
            lambda: tf.data.Dataset.from_tensors(({"dense_input": data}, 3 * data)).repeat(30)
        )
        kernel = estimator.get_variable_value("dense/kernel")
        bias = estimator.get_variable_value("dense/bias")
        assert kernel + bias == pytest.approx(3.0, abs=0.01)

    def test_hooks(self, bridge, tmp_path):
        step = tf.train.get_or_create_global_step()
        advance = tf.assign_add(step, 1)
        seen = []
        output = bridge.NPUOutputTensorHook({"step": advance}, None, seen.append, 2)
        saver = bridge.NPUCheckpointSaverHook(str(tmp_path), save_steps=1)
        with tf.train.MonitoredSession(hooks=[output, saver]) as session:
            for _ in range(3):
                session.run(advance)
        assert [[record["step"] for record in records] for records in seen] == [[1, 2], [3]]
        assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-3")
