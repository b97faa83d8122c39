"""Horovod's API with one process, and over the vendor's package."""

import inspect

import pytest

tf = pytest.importorskip("tensorflow.compat.v1", reason="needs TensorFlow 1.15")

import fake_vendor  # noqa: E402
import numpy as np  # noqa: E402

from npu_migrate.runtime import NPULossScaleOptimizer, ops_adapter  # noqa: E402
from npu_migrate.runtime import ops_adapter as hvd  # noqa: E402
from npu_migrate.runtime.engines import current_engine  # noqa: E402
from npu_migrate.runtime.engines.hccl import HcclEngine  # noqa: E402
from npu_migrate.runtime.managers import FixedLossScaleManager  # noqa: E402


def evaluate(fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


class TestAsAModule:
    def test_it_is_imported_in_all_ways(self):
        import npu_migrate.runtime.ops_adapter as by_path
        from npu_migrate.runtime.ops_adapter import Compression

        assert by_path is ops_adapter is hvd
        assert Compression is hvd.Compression

    def test_it_has_what_horovod_exports(self):
        horovod = pytest.importorskip("horovod.tensorflow", reason="compares with Horovod itself")
        for name in hvd.__all__:
            assert hasattr(horovod, name), name

    @pytest.mark.parametrize("name", ["allreduce", "allgather", "broadcast", "alltoall"])
    def test_arguments_have_horovods_names_and_order(self, name):
        horovod = pytest.importorskip("horovod.tensorflow", reason="compares with Horovod itself")
        ours = list(inspect.signature(getattr(hvd, name)).parameters)
        theirs = list(inspect.signature(getattr(horovod, name)).parameters)
        assert ours == theirs[: len(ours)]

    def test_what_the_npu_cannot_do_is_missing(self):
        for name in ("allgather_object", "broadcast_object", "start_timeline", "elastic"):
            assert not hasattr(hvd, name)


class TestRanks:
    def test_alone(self):
        assert (hvd.size(), hvd.rank(), hvd.local_size(), hvd.local_rank()) == (1, 0, 1, 0)
        assert (hvd.cross_size(), hvd.cross_rank(), hvd.is_homogeneous()) == (1, 0, True)

    def test_from_the_environment_without_init(self, monkeypatch):
        monkeypatch.setenv("RANK_SIZE", "8")
        monkeypatch.setenv("RANK_ID", "5")
        assert (hvd.size(), hvd.rank()) == (8, 5)

    def test_init_and_shutdown(self):
        hvd.init()
        hvd.init()
        assert hvd.is_initialized()
        hvd.shutdown()
        assert not hvd.is_initialized()
        with pytest.raises(ValueError, match="comm and process_sets"):
            hvd.init(comm=[0, 1])

    def test_as_tensors(self):
        ops = [hvd.size_op(), hvd.rank_op(), hvd.local_size_op(), hvd.local_rank_op()]
        assert evaluate(ops) == [1, 0, 1, 0]

    def test_how_it_was_built(self):
        assert not hvd.mpi_enabled() and not hvd.mpi_built() and hvd.mpi_threads_supported()
        assert not hvd.gloo_enabled() and not hvd.gloo_built()
        assert hvd.nccl_built() == 0
        assert not (hvd.cuda_built() or hvd.rocm_built() or hvd.ddl_built() or hvd.ccl_built())

    def test_several_processes_that_nothing_connects(self, monkeypatch):
        monkeypatch.setenv("RANK_SIZE", "2")
        monkeypatch.setenv("RANK_ID", "0")
        with pytest.raises(RuntimeError, match="RANK_SIZE.*npu-run -np 2"):
            hvd.allreduce(tf.constant(1.0))


class TestCollectivesOfOneProcess:
    def test_reductions(self):
        x = tf.constant([2.0, 4.0])
        for op in (None, hvd.Average, hvd.Sum, hvd.Min, hvd.Max, hvd.Product):
            assert evaluate(hvd.allreduce(x, op=op)).tolist() == [2.0, 4.0]
        scaled = hvd.allreduce(x, op=hvd.Sum, prescale_factor=3.0, postscale_factor=0.5)
        assert evaluate(scaled).tolist() == [3.0, 6.0]
        assert evaluate(hvd.grouped_allreduce([x, 2 * x]))[1].tolist() == [4.0, 8.0]
        assert hvd.allreduce(x, name="mean").op.name == "mean"

    def test_compression_rounds_as_float16(self):
        x = tf.constant([1.0 + 2.0**-12, 1e6])
        reduced = hvd.allreduce(x, compression=hvd.Compression.fp16)
        assert reduced.dtype == tf.float32
        assert evaluate(reduced).tolist() == [1.0, np.inf]
        numbers = hvd.allreduce(tf.constant([70000]), compression=hvd.Compression.fp16)
        assert evaluate(numbers).tolist() == [70000]

    def test_sparse(self):
        slices = tf.IndexedSlices(tf.constant([[2.0]]), tf.constant([1]), tf.constant([3, 1]))
        reduced = hvd.allreduce(slices, postscale_factor=2.0)
        assert isinstance(reduced, tf.IndexedSlices)
        assert evaluate(tf.convert_to_tensor(reduced)).tolist() == [[0.0], [4.0], [0.0]]
        with pytest.raises(ValueError, match="averaged or summed"):
            hvd.allreduce(slices, op=hvd.Max)

    def test_exchanges(self):
        x = tf.constant([1.0, 2.0])
        received, counts = hvd.alltoall(x, splits=[2])
        fetches = [hvd.allgather(x), hvd.broadcast(x, 0), hvd.alltoall(x), received]
        assert [value.tolist() for value in evaluate(fetches)] == [[1.0, 2.0]] * 4
        assert evaluate(counts).tolist() == [2]

    def test_what_has_no_counterpart_is_refused(self):
        x = tf.constant(1.0)
        with pytest.raises(ValueError, match="Adasum"):
            hvd.allreduce(x, op=hvd.Adasum)
        with pytest.raises(ValueError, match="not both"):
            hvd.allreduce(x, average=True, op=hvd.Sum)
        with pytest.raises(ValueError, match="process_set"):
            hvd.allgather(x, process_set=object())
        with pytest.raises(ValueError, match="only rank 0"):
            hvd.broadcast(x, 1)

    def test_broadcast_hook(self):
        variable = tf.get_variable("variable", initializer=3.0)
        hook = hvd.BroadcastGlobalVariablesHook(0)
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            assert session.run(variable) == 3.0


class TestDistributedOptimizer:
    def test_it_trains_inside_loss_scaling(self):
        weight = tf.get_variable("weight", initializer=1.0)
        optimizer = hvd.DistributedOptimizer(
            tf.train.GradientDescentOptimizer(0.5), compression=hvd.Compression.fp16
        )
        train = NPULossScaleOptimizer(optimizer, FixedLossScaleManager(8)).minimize(weight * 1.0)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            assert session.run(weight) == 0.5

    @pytest.mark.parametrize(
        "arguments, message",
        [
            ({"backward_passes_per_step": 4}, "backward_passes_per_step"),
            ({"op": 2}, "op=Average"),
            ({"num_groups": 2}, "num_groups"),
            ({"gradient_predivide_factor": 2.0}, "gradient_predivide_factor"),
        ],
    )
    def test_what_has_no_counterpart_is_refused(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.5), **arguments)

    def test_arguments_at_their_defaults_are_accepted(self):
        hvd.DistributedOptimizer(
            tf.train.GradientDescentOptimizer(0.5), num_groups=0, gradient_predivide_factor=1.0
        )

    def test_a_keras_optimizer(self):
        optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1))
        assert isinstance(optimizer, tf.keras.optimizers.Optimizer)


class TestOverHccl:
    @pytest.fixture
    def calls(self, tmp_path, monkeypatch):
        """What reaches the vendor's operations; each hands its input back."""
        import importlib

        from npu_migrate.runtime.engines import choice

        with fake_vendor.on_path(tmp_path, monkeypatch):
            monkeypatch.setenv("RANK_SIZE", "2")
            monkeypatch.setenv("RANK_ID", "1")
            choice._only.cache_clear()
            yield importlib.import_module("npu_bridge.hccl.hccl_ops").calls
        choice._only.cache_clear()

    def test_the_engine(self, calls):
        assert isinstance(current_engine(), HcclEngine)
        hvd.init()
        assert hvd.is_initialized()
        hvd.shutdown()
        assert not hvd.is_initialized()

    def test_an_average_is_a_sum_divided(self, calls):
        assert evaluate(hvd.allreduce(tf.constant([4.0]))).tolist() == [2.0]
        assert calls == [("allreduce", "sum", 1, "hccl_world_group")]

    def test_sparse_by_gathering(self, calls):
        slices = tf.IndexedSlices(tf.constant([[4.0]]), tf.constant([1]))
        assert evaluate(hvd.allreduce(slices).values).tolist() == [[2.0]]
        assert calls == [("allgather", 2, 0, "hccl_world_group")] * 2

    def test_broadcast_takes_and_gives_a_list_there(self, calls):
        assert evaluate(hvd.broadcast(tf.constant([4.0]), 1)).tolist() == [4.0]
        assert calls == [("broadcast", 1, 2, "hccl_world_group")]

    def test_alltoall_is_in_equal_parts(self, calls):
        exchanged = hvd.alltoall(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
        assert evaluate(exchanged).tolist() == [[1.0, 2.0], [3.0, 4.0]]
        assert [call[0] for call in calls] == ["all_to_all_v"]
        counts, offsets = evaluate(list(calls[0][1:]))
        assert (counts.tolist(), offsets.tolist()) == ([2, 2], [0, 2])
        with pytest.raises(ValueError, match="takes no splits"):
            hvd.alltoall(tf.constant([1.0, 2.0]), splits=[1, 1])

    def test_the_status_travels_by_itself(self, calls):
        """Not fused with gradients: `fusion=0`."""
        from npu_migrate.runtime.overflow.ranks import is_clear_on_all_ranks

        assert evaluate(is_clear_on_all_ranks(tf.constant([0, 0])))
        assert not evaluate(is_clear_on_all_ranks(tf.constant([0, 1])))
        assert calls == [("allreduce", "sum", 0, "hccl_world_group")] * 2
