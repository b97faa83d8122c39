"""Distribution by other means than Horovod for TensorFlow: BytePS, parameter servers."""

import pytest
from support import left_as_marked, migrate, untouched, with_bridge, with_tf

# BytePS has Horovod's API


def test_byteps_becomes_the_adapter():
    outcome = left_as_marked(
        with_tf("""
        import byteps.tensorflow as bps

        bps.init()
        opt = bps.DistributedOptimizer(tf.train.AdamOptimizer(0.1 * bps.size()))
        start = bps.broadcast_global_variables(0)
        """)
    )
    assert "byteps" not in outcome.text
    assert "from npu_migrate.runtime import ops_adapter as bps" in outcome.text
    assert "NPUDistributedOptimizer(tf.train.AdamOptimizer(0.1 * bps.size()))" in outcome.text
    assert "BytePS" in outcome.messages("NPU202")


def test_byteps_spelt_out():
    outcome = left_as_marked("import byteps.tensorflow\n\nprint(byteps.tensorflow.rank())\n")
    assert "byteps" not in outcome.text and "print(ops_adapter.rank())" in outcome.text


def test_what_only_byteps_has():
    outcome = untouched("""
        import byteps.tensorflow as bps

        total = bps.push_pull(1.0)  #! NPU206
        """)
    assert "push_pull of BytePS" in outcome.messages()


@pytest.mark.parametrize("package", ["horovod", "byteps"])
def test_keras_of_the_library_is_left(package):
    left_as_marked(f"import {package}.keras as hvd  #! NPU212\n\nprint(hvd.size())\n")


@pytest.mark.parametrize(
    "importing",
    [
        "import horovod.torch as hvd",
        "import horovod.mxnet as hvd",
        "from horovod import torch as hvd",
        "from horovod.torch import DistributedOptimizer, hvd",
        "import byteps.torch as hvd",
    ],
)
def test_other_frameworks_do_not_concern_us(importing):
    untouched(f"""
        import torch
        {importing}

        hvd.init()

        def build(optimizer, hvd):
            return hvd.DistributedOptimizer(optimizer)
        """)


# Gradients that the script reduces itself


@pytest.mark.parametrize(
    "importing, reduced",
    [
        ("from npu_migrate.runtime import ops_adapter", "ops_adapter.allreduce(g)"),
        ("from npu_bridge.hccl import hccl_ops", "hccl_ops.allreduce(g, 'sum') / 8"),
    ],
)
def test_hand_migrated_script_whose_ranks_judge_apart(importing, reduced):
    given = f"""
        {importing}

        def train(opt, manager, loss):
            opt = NPULossScaleOptimizer(opt, manager)  #! NPU209
            pairs = [({reduced}, v) for g, v in opt.compute_gradients(loss)]
            return opt.apply_gradients(pairs)
        """
    untouched(with_bridge(given))


def test_a_reduced_loss_is_no_reduced_gradient():
    untouched(
        with_bridge("""
        from npu_migrate.runtime import ops_adapter

        def train(opt, manager, loss):
            shown = ops_adapter.allreduce(loss)
            opt = NPULossScaleOptimizer(opt, manager)
            return opt.minimize(loss), shown
        """)
    )


def test_what_is_reduced_by_hand_gets_no_second_average():
    outcome = left_as_marked(
        with_tf("""
        from npu_bridge.hccl import hccl_ops

        def train(opt, manager, loss):
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, manager)
            pairs = [(hccl_ops.allreduce(g, "sum") / 8, v) for g, v in opt.compute_gradients(loss)]
            return opt.apply_gradients(pairs)
        """)
    )
    assert "NPUDistributedOptimizer" not in outcome.text
    assert "is_distributed=ops_adapter.size() > 1" in outcome.text


# Parameter servers


def test_each_construct_of_a_parameter_server_is_reported_once():
    untouched(
        with_tf("""
        def main(hosts, job, index, build):
            cluster = tf.train.ClusterSpec(hosts)  #! NPU213
            server = tf.train.Server(cluster, job_name=job, task_index=index)  #! NPU220
            if job == "ps":
                server.join()
            with tf.device(tf.train.replica_device_setter(cluster=cluster)):  #! NPU214
                loss = build()
            opt = tf.train.AdamOptimizer(0.1)
            opt = tf.train.SyncReplicasOptimizer(opt, 4)  #! NPU215
            step = tf.train.get_or_create_global_step()
            hook = opt.make_session_run_hook(index == 0)
            with tf.train.MonitoredTrainingSession(server.target, hooks=[hook]) as session:
                session.run(opt.minimize(loss, step))
        """)
    )


def test_a_server_of_the_users_own_is_none():
    outcome = migrate("""
        from http.server import HTTPServer as Server

        class ClusterSpec(object):
            pass

        Server(ClusterSpec())
        """)
    assert outcome.findings == ()


# Strategies of tf.distribute

LOOP = """
def train(step, batches):
    strategy = {}
    with strategy.scope():
        return strategy.experimental_run_v2(step, args=(batches,))
"""


@pytest.mark.parametrize(
    "strategy",
    [
        "tf.distribute.MirroredStrategy()",
        "tf.distribute.MirroredStrategy(['/gpu:0', '/gpu:1'])",
        "tf.distribute.OneDeviceStrategy(device='/gpu:0')",
        "tf.distribute.experimental.MultiWorkerMirroredStrategy()",
        "tf.distribute.experimental.CentralStorageStrategy()",
        "tf.contrib.distribute.CollectiveAllReduceStrategy(num_gpus_per_worker=8)",
        "tf.contrib.distribute.MirroredStrategy(num_gpus=2, cross_device_ops=step())",
    ],
)
def test_loop_of_its_own_under_a_strategy(strategy):
    outcome = left_as_marked(with_tf(LOOP.format(strategy)))
    assert "    strategy = NPUStrategy()\n" in outcome.text
    assert "NPUDistributedOptimizer" in outcome.messages("NPU216")


def test_strategy_under_another_name_of_the_module():
    outcome = left_as_marked(
        "from tensorflow.contrib.distribute import MirroredStrategy as Mirrored\n"
        + LOOP.format("Mirrored(num_gpus=2)")
    )
    assert "NPUStrategy()" in outcome.text and "Mirrored" not in outcome.text


def test_number_of_replicas_is_named():
    outcome = left_as_marked(
        with_tf("""
        def train(step, data):
            strategy = tf.distribute.MirroredStrategy()
            batches = data.batch(64 * strategy.num_replicas_in_sync)
            return strategy.experimental_run_v2(step, args=(batches,))
        """)
    )
    assert "num_replicas_in_sync (line 5)" in outcome.messages("NPU216")


def test_iterators_that_deal_out_otherwise_are_named():
    outcome = left_as_marked(
        with_tf("""
        def train(step, data, session):
            strategy = tf.distribute.MirroredStrategy()
            one = strategy.make_dataset_iterator(data)
            two = strategy.experimental_distribute_dataset(data).make_initializable_iterator()
            session.run(two.initialize())
            return strategy.experimental_run(step, one)
        """)
    )
    said = outcome.messages("NPU216")
    assert "make_dataset_iterator (line 5)" in said
    assert "initializer in place of initialize()" in said


def test_keras_under_a_strategy_is_left():
    untouched(
        with_tf("""
        def train(make, data):
            strategy = tf.distribute.MirroredStrategy()  #! NPU217
            with strategy.scope():
                model = make()
                model.compile(loss="mse", optimizer=tf.train.AdamOptimizer(0.1))
        """)
    )


def test_strategy_that_is_used_elsewhere_is_left():
    untouched(
        with_tf("""
        def strategy(gpus):
            if gpus == 1:
                return tf.distribute.OneDeviceStrategy("/gpu:0")  #! NPU218
            if gpus == 0:
                return tf.distribute.experimental.ParameterServerStrategy()  #! NPU219
            return tf.distribute.MirroredStrategy()  #! NPU218
        """)
    )


def test_hand_migrated_strategy_passes():
    text = "from npu_bridge.estimator.npu import npu_strategy\n"
    outcome = untouched(text + LOOP.format("npu_strategy.NPUStrategy()"))
    assert outcome.findings == ()


def test_a_session_on_a_server_is_left():
    outcome = migrate(with_tf("sess = tf.Session('grpc://worker:2222')\n"))
    assert outcome.left == [(2, "NPU220")]
    assert "npu_config_proto" in migrate(with_tf("sess = tf.Session('')\n")).text
