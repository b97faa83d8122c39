"""A loop of a script's own under a strategy trains alike under ``NPUStrategy``."""

import pytest

pytest.importorskip("tensorflow", reason="needs TensorFlow 1.15, and so Python 3.7")

from support import migrate, with_tf  # noqa: E402
from test_behaviour import load  # noqa: E402

pytestmark = pytest.mark.usefixtures("bridge")

LOOP = with_tf("""
    def weights(examples, batch):
        graph = tf.Graph()
        strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
        with graph.as_default(), strategy.scope():
            data = tf.data.Dataset.from_tensor_slices(examples).batch(batch)
            iterator = strategy.experimental_distribute_dataset(data).make_initializable_iterator()
            variable = tf.get_variable("variable", initializer=tf.ones([2]))
            opt = tf.train.MomentumOptimizer(0.1, 0.9)

            def replica(inputs):
                loss = tf.reduce_sum(tf.square(inputs * variable)) / batch
                with tf.control_dependencies([opt.minimize(loss)]):
                    return tf.identity(loss)

            each = strategy.experimental_run_v2(replica, args=(iterator.get_next(),))
            total = strategy.reduce(tf.distribute.ReduceOp.SUM, each, axis=None)
            with tf.Session() as session:
                session.run(iterator.initializer)
                session.run(tf.global_variables_initializer())
                losses = [session.run(total) for _ in range(len(examples) // batch)]
                return losses, session.run(variable).tolist()
    """)


def test_one_process_trains_as_one_replica_did():
    examples = [[1.0, -2.0], [0.5, 1.0], [2.0, 0.0], [1.5, -1.0]]
    migrated = migrate(LOOP).text
    assert "NPUStrategy()" in migrated
    assert load(migrated).weights(examples, 2) == load(LOOP).weights(examples, 2)
