"""What may not differ from rank to rank, and who may be asked for the rank (NPU705 to NPU708)."""

from support import left_as_marked, migrate, untouched, with_tf

ADAPTER = "import tensorflow as tf\nfrom npu_migrate.runtime import ops_adapter as hvd\n"


def with_ranks(text):
    return with_tf("from npu_migrate.runtime import ops_adapter as hvd\n" + _dedent(text))


def _dedent(text):
    from textwrap import dedent

    return dedent(text)


# HCCL is asked for the rank -------------------------------------------------------------------


def test_hccl_asked_before_it_is_initialised():
    outcome = migrate("""
        import os
        from npu_bridge.npu_init import init_resource, get_npu_rank_id
        import hccl.manage.api as hccl

        def main():
            rank, size = hccl.get_rank_id(), hccl.get_rank_size()
            local = get_npu_rank_id()
            session, shutdown = init_resource()
            return rank, size, local

        main()
    """)
    assert "rank, size = ops_adapter.rank(), ops_adapter.size()\n" in outcome.text
    assert "local = ops_adapter.rank()\n" in outcome.text
    assert "hccl" not in outcome.text
    assert [f.code for f in outcome.findings] == ["NPU705"] * 3


def test_hccl_in_a_program_that_never_initialises_it():
    outcome = migrate("""
        from hccl.manage.api import get_rank_id, get_local_rank_id

        def main():
            return get_rank_id(), get_local_rank_id('group')

        if __name__ == '__main__':
            main()
    """)
    assert "return ops_adapter.rank(), get_local_rank_id('group')\n" in outcome.text
    assert outcome.left == [(5, "NPU705")]


def test_hccl_asked_in_time():
    untouched("""\
        from npu_bridge.npu_init import *
        from npu_bridge.npu_init import init_resource
        from hccl.manage.api import get_rank_id

        def main():
            session, shutdown = init_resource()
            return get_rank_id()

        if __name__ == '__main__':
            main()
    """)
    untouched("""\
        from hccl.manage.api import get_rank_id

        def shard(dataset):
            return dataset.shard(8, get_rank_id())
    """)
    untouched("""\
        from hccl.manage.api import get_rank_id
        from npu_bridge.estimator.npu.npu_estimator import NPUEstimator

        def model_fn(features):
            return get_rank_id()

        if __name__ == '__main__':
            NPUEstimator(model_fn)
    """)


# Ops that only some ranks build ---------------------------------------------------------------


def test_ops_that_only_some_ranks_build():
    left_as_marked(
        with_ranks("""
        import os

        is_chief = hvd.rank() == 0
        verbose = is_chief and os.path.exists('v')

        def is_first():
            return hvd.local_rank() == 0

        class Model(object):
            def __init__(self):
                self.rank = int(os.environ['RANK_ID'])

            def build(self, x):
                if self.rank == 0:
                    with tf.name_scope('first'):
                        x = tf.Print(x, [x]) #! NPU706
                return x

        def build(loss, x):
            if hvd.rank() == 0:
                tf.summary.scalar('loss', loss) #! NPU706
            if not is_chief:
                pass
            else:
                for name in ('a', 'b'):
                    tf.summary.histogram(name, x) #! NPU706
            if is_first():
                x = tf.nn.relu(x) #! NPU706
            if hvd.rank() % 2 == 1:
                y = tf.nn.relu(x) #! NPU706
            else:
                y = tf.nn.elu(x)
            y = tf.identity(y) if verbose else y #! NPU706
            return y

        def log(loss):
            if hvd.rank() != 0:
                return
            tf.summary.scalar('loss', loss) #! NPU706
        """)
    )


def test_python_that_only_some_ranks_run():
    untouched(
        with_ranks("""
        import os

        def train(sess, saver, loss, hooks, flags):
            if hvd.rank() == 0:
                tf.gfile.MakeDirs('out')
                tf.logging.info('start')
                writer = tf.summary.FileWriter('out')
                saver = tf.train.Saver()
                hooks.append(tf.train.CheckpointSaverHook('out', save_steps=10, saver=saver))
                print(sess.run(loss))
                saver.save(sess, 'out/model')
                summary = tf.Summary(value=[tf.Summary.Value(tag='loss', simple_value=1.0)])
                writer.add_summary(summary)
            seed = 1 + hvd.rank()
            tf.set_random_seed(seed)
            scale = tf.constant(1.0 if hvd.rank() == 0 else 0.0)
            if hvd.rank() == 0:
                x = tf.constant(1.0)
            else:
                x = tf.constant(0.0)
            if hvd.size() > 1:
                loss = tf.identity(loss)
            config = make_config(hvd.rank())
            if config.summaries:
                tf.summary.scalar('loss', loss)
            if flags.rank == 0:
                tf.summary.scalar('loss', loss)
            return scale, x

        def evaluate(path):
            from npu_bridge.npu_init import npu_config_proto

            if hvd.rank() == 0:
                with tf.Graph().as_default():
                    x = tf.placeholder(tf.float32)
                    with tf.Session(config=npu_config_proto()) as sess:
                        sess.run(tf.nn.relu(x))

        def later():
            if hvd.rank() == 0:
                def count(x):
                    return tf.size(x)
                return count
        """)
    )


# Hooks and checkpoints ------------------------------------------------------------------------


def test_hooks_taken_from_the_end():
    left_as_marked("""
        from npu_bridge.npu_init import npu_hooks_append
        from npu_bridge.estimator.npu.npu_hook import NPUBroadcastGlobalVariablesHook

        def one(estimator, timer):
            hooks = [timer]
            hooks.append(NPUBroadcastGlobalVariablesHook(0, 1))
            estimator.train(hooks=hooks)
            return hooks[-1].total_time #! NPU707

        def two(estimator, timer):
            hooks = npu_hooks_append(hooks_list=[timer])
            return hooks[-1].total_time #! NPU707

        class Trainer(object):
            def run(self, estimator):
                estimator.train(hooks=npu_hooks_append(self.hooks))
                return self.hooks[-1].total_time #! NPU707
    """)


def test_the_hook_of_horovod_taken_from_the_end():
    left_as_marked("""
        import horovod.tensorflow as hvd

        def train(estimator, timer):
            hooks = [timer]
            hooks.append(hvd.BroadcastGlobalVariablesHook(0))
            estimator.train(hooks=hooks)
            return hooks[-1].total_time #! NPU707
    """)


def test_hooks_in_order():
    untouched("""\
        from npu_bridge.npu_init import npu_hooks_append
        from npu_bridge.estimator.npu.npu_hook import NPUBroadcastGlobalVariablesHook

        def train(estimator, timer, rows):
            hooks = []
            hooks.append(NPUBroadcastGlobalVariablesHook(0, 1))
            hooks.append(timer)
            other = npu_hooks_append([])
            estimator.train(hooks=hooks)
            return hooks[-1].total_time, rows[-1].name, other[0].name

        def before(estimator, hooks):
            time = hooks[-1].total_time
            estimator.train(hooks=npu_hooks_append(hooks))
            return time
    """)


def test_checkpoint_steps():
    outcome = migrate(
        with_ranks("""
        def configs(flags, options):
            first = tf.estimator.RunConfig(
                save_checkpoints_steps=flags.steps if hvd.rank() == 0 else None)
            second = tf.estimator.RunConfig(
                save_checkpoints_steps=None if flags.horovod and hvd.rank() != 0 else 5)
            steps = 5 if hvd.rank() == 0 else None
            third = tf.estimator.RunConfig(save_checkpoints_steps=steps)
            others = 5 if hvd.rank() == 0 else None
            options['steps'] = others
            fourth = tf.estimator.RunConfig(save_checkpoints_steps=others)
            fifth = tf.estimator.RunConfig(save_checkpoints_steps=5 if flags.save else None)
            early = 5 if hvd.rank() == 0 else None
            early = early if flags.save else None
            seventh = tf.estimator.RunConfig(save_checkpoints_steps=early)
            sixth = tf.estimator.RunConfig(model_dir='x' if hvd.rank() == 0 else None)
        """)
    )
    assert "flags.steps if hvd.rank() == 0 else 0)" in outcome.text
    assert "0 if flags.horovod and hvd.rank() != 0 else 5)" in outcome.text
    assert "steps = 5 if hvd.rank() == 0 else 0\n" in outcome.text
    assert "others = 5 if hvd.rank() == 0 else None\n" in outcome.text
    assert "=5 if flags.save else None)" in outcome.text
    assert "early = 5 if hvd.rank() == 0 else 0\n" in outcome.text
    assert "early = early if flags.save else None\n" in outcome.text
    assert outcome.left == [(11, "NPU708")]


def test_what_is_bound_after_an_attribute_is_followed():
    outcome = migrate(
        with_ranks("""
        def run_config(flags):
            session = tf.ConfigProto()
            session.intra_op_parallelism_threads = 1
            steps = 5 if hvd.rank() == 0 else None
            return tf.estimator.RunConfig(session_config=session, save_checkpoints_steps=steps)
        """)
    )
    assert "steps = 5 if hvd.rank() == 0 else 0\n" in outcome.text
