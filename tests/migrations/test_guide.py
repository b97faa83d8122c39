"""The vendor's porting guide for TensorFlow 1.15, section by section.

What the guide has a person do by hand, the tool does at least as well; and what a person has done
by hand in the guide's style is left as it is, without a finding.
"""

from pathlib import Path

import pytest

from tests.migrations.support import code_of, left_as_marked, migrate, untouched, with_tf


def lines_of(outcome, *words):
    """The lines that begin with one of the words, without their indentation."""
    lines = [line.strip() for line in outcome.text.splitlines()]
    return [line for line in lines if line.startswith(words)]


# Before and after ---------------------------------------------------------------------------------


def test_quick_start():
    outcome = migrate(
        with_tf("""
            total = tf.add(tf.ones([4]), tf.zeros([4]))
            with tf.Session() as sess:
                print(sess.run(total))
        """)
    )
    assert outcome.left == []
    assert lines_of(outcome, "with") == ["with tf.Session(config=npu_config_proto()) as sess:"]
    assert "from npu_bridge.npu_init import npu_config_proto\n" in outcome.text


ESTIMATOR = """
    def model_fn(features, labels, mode):
        with tf.device("/gpu:0"):
            hidden = tf.nn.dropout(tf.layers.dense(features, 8), keep_prob=0.5)
        loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 1) - labels))
        train_op = tf.train.AdamOptimizer().minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode=mode, loss=loss, train_op=train_op)


    def train_input_fn():
        return tf.data.Dataset.from_tensor_slices((xs, ys)).batch(batch_size)


    config = tf.estimator.RunConfig(
        model_dir=FLAGS.model_dir,
        save_checkpoints_steps=FLAGS.save_checkpoints_steps,
        session_config=tf.ConfigProto(log_device_placement=False),
    )
    classifier = tf.estimator.Estimator(model_fn=model_fn, config=config, model_dir="out")
    classifier.train(input_fn=train_input_fn, max_steps=100)
"""


def test_porting_with_estimator():
    outcome = migrate(with_tf(ESTIMATOR))
    assert outcome.left == []
    assert lines_of(outcome, "classifier = ") == [
        "classifier = tf.estimator.Estimator(model_fn=model_fn, "
        'config=npu_run_config_init(run_config=config), model_dir="out")'
    ]
    assert lines_of(outcome, "with tf.device") == ["with tf.device(None):"]


def test_porting_with_estimator_by_the_classes_of_the_guide():
    outcome = migrate(with_tf(ESTIMATOR), estimator="classes")
    assert outcome.left == []
    assert lines_of(outcome, "config = ") == ["config = NPURunConfig("]
    assert lines_of(outcome, "classifier = ") == [
        'classifier = NPUEstimator(model_fn=model_fn, config=config, model_dir="out")'
    ]


def test_porting_with_estimator_for_speed():
    outcome = migrate(with_tf(ESTIMATOR), select=("NPU5",))
    assert outcome.left == []
    assert "npu_ops.dropout(tf.layers.dense(features, 8), keep_prob=0.5)" in outcome.text
    assert ".batch(batch_size, drop_remainder=True)" in outcome.text


def test_porting_with_sess_run():
    outcome = migrate(
        with_tf("""
            dataset = tf.data.Dataset.range(100).batch(8)
            iterator = tf.data.Iterator.from_structure(dataset.output_types, dataset.output_shapes)
            start = iterator.make_initializer(dataset)
            loss = tf.reduce_mean(tf.Variable(1.0) * tf.cast(iterator.get_next(), tf.float32))
            train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
            config = tf.ConfigProto(allow_soft_placement=True)
            config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
            sess = tf.Session(config=config)
            sess.run(tf.global_variables_initializer())
            sess.run(start)
            sess.run(train_op)
        """)
    )
    assert outcome.left == []
    assert lines_of(outcome, "sess = ") == [
        "sess = tf.Session(config=npu_config_proto(config_proto=config))"
    ]
    assert not lines_of(outcome, "config.graph_options")


def test_porting_with_keras():
    outcome = migrate(
        with_tf("""
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            model.compile(optimizer="sgd", loss="mse")
            model.fit(xs, ys, batch_size=8)
        """)
    )
    assert outcome.left == []
    assert lines_of(outcome, "keras_session", "model.", "close")[:1] == [
        "keras_session = set_keras_session_npu_config()"
    ]
    assert outcome.text.endswith("close_session(keras_session)\n")


def test_porting_with_keras_and_a_session():
    outcome = migrate(
        with_tf("""
            from tensorflow.python.keras import backend as K

            K.set_session(tf.Session(config=tf.ConfigProto()))
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            model.compile(optimizer="sgd", loss="mse")
            model.fit(xs, ys, batch_size=8)
        """)
    )
    assert outcome.left == []
    assert lines_of(outcome, "K.set_session") == [
        "K.set_session(tf.Session(config=npu_config_proto(config_proto=tf.ConfigProto())))"
    ]
    assert "set_keras_session" not in outcome.text


def test_porting_keras_as_an_estimator():
    script = with_tf("""
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer=tf.train.AdamOptimizer(), loss="mse")
        config = tf.estimator.RunConfig(model_dir="out", save_checkpoints_steps=10)
        estimator = tf.keras.estimator.model_to_estimator(keras_model=model, config=config)
        estimator.train(input_fn, max_steps=10)
    """)
    outcome = migrate(script, estimator="classes")
    assert outcome.left == []
    assert lines_of(outcome, "config = ", "estimator = ") == [
        'config = NPURunConfig(model_dir="out", save_checkpoints_steps=10)',
        "estimator = model_to_npu_estimator(keras_model=model, config=config)",
    ]


def test_porting_keras_with_horovod():
    outcome = migrate(
        with_tf("""
            import horovod.tensorflow.keras as hvd

            hvd.init()
            config = tf.ConfigProto()
            config.gpu_options.visible_device_list = str(hvd.local_rank())
            tf.keras.backend.set_session(tf.Session(config=config))
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            opt = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size()))
            model.compile(optimizer=opt, loss="mse")
            callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
            model.fit(xs, ys, batch_size=8, callbacks=callbacks)
        """)
    )
    assert outcome.left == []
    assert "horovod" not in outcome.text
    assert "visible_device_list" not in outcome.text
    assert "npu_config_proto(config_proto=config)" in outcome.text


def test_porting_with_horovod():
    outcome = migrate(
        with_tf("""
            import horovod.tensorflow as hvd

            hvd.init()
            config = tf.ConfigProto()
            config.gpu_options.visible_device_list = str(hvd.local_rank())
            opt = tf.train.AdagradOptimizer(0.01 * hvd.size())
            opt = hvd.DistributedOptimizer(opt)
            hooks = [hvd.BroadcastGlobalVariablesHook(0)]
            train_op = opt.minimize(tf.square(tf.Variable(1.0)))
            checkpoint_dir = "logs" if hvd.rank() == 0 else None
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=checkpoint_dir, config=config, hooks=hooks
            ) as sess:
                while not sess.should_stop():
                    sess.run(train_op)
        """)
    )
    assert outcome.left == []
    assert lines_of(outcome, "opt = ", "hooks = ", "checkpoint_dir=") == [
        "opt = tf.train.AdagradOptimizer(0.01 * hvd.size())",
        "opt = NPUDistributedOptimizer(opt)",
        "hooks = [NPUBroadcastGlobalVariablesHook(0, hvd.rank())]",
        "checkpoint_dir=checkpoint_dir, config=npu_config_proto(config_proto=config), hooks=hooks",
    ]
    assert "from npu_migrate.runtime import ops_adapter as hvd\n" in outcome.text
    assert "visible_device_list" not in outcome.text


@pytest.mark.parametrize(
    "use",
    [
        "hvd.size()",
        "hvd.local_size()",
        "hvd.rank()",
        "hvd.local_rank()",
        "hvd.allgather(value)",
        "hvd.broadcast(value, 0)",
        "hvd.alltoall(value)",
        "hvd.allreduce(value)",
        "hvd.shutdown()",
    ],
)
def test_each_of_horovods_operations_in_the_table(use):
    outcome = migrate(
        with_tf(
            f"import horovod.tensorflow as hvd\n\nhvd.init()\nvalue = tf.ones([2])\nr = {use}\n"
        )
    )
    assert outcome.left == []
    assert lines_of(outcome, "r = ", "from") == [
        "from npu_migrate.runtime import ops_adapter as hvd",
        f"r = {use}",
    ]


def test_gradients_that_are_reduced_by_hand():
    outcome = migrate(
        with_tf("""
            import horovod.tensorflow as hvd

            hvd.init()
            variables = [tf.Variable(1.0)]
            grads = [hvd.allreduce(g) for g in tf.gradients(tf.square(variables[0]), variables)]
            optimizer = tf.train.GradientDescentOptimizer(0.1)
            train_op = optimizer.apply_gradients(zip(grads, variables))
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                sess.run(hvd.broadcast_global_variables(0))
                sess.run(train_op)
        """)
    )
    assert outcome.left == []
    assert "NPUDistributedOptimizer" not in outcome.text, "they would be averaged twice"


def test_a_strategy_of_a_loop():
    outcome = migrate(
        with_tf("""
            strategy = tf.distribute.MirroredStrategy()
            with strategy.scope():
                optimizer = tf.train.GradientDescentOptimizer(0.1)
                train_op = optimizer.minimize(tf.square(tf.Variable(1.0)))
        """)
    )
    assert outcome.left == []
    assert lines_of(outcome, "strategy = ") == ["strategy = NPUStrategy()"]


def test_a_strategy_of_an_estimator():
    outcome = migrate(
        with_tf("""
            def main(flags):
                config = tf.estimator.RunConfig(
                    train_distribute=get_distribution_strategy(flags.num_gpus),
                    session_config=tf.ConfigProto(allow_soft_placement=True),
                    save_checkpoints_secs=60 * 60 * 24,
                )
                return tf.estimator.Estimator(model_fn=model_fn, config=config)
        """)
    )
    assert outcome.left == []
    assert "train_distribute" not in outcome.text
    said = outcome.messages("NPU424")
    for step in ("NPUDistributedOptimizer", "npu_hooks_append", "shard", "by steps"):
        assert step in said


def test_loss_scaling():
    outcome = migrate(
        with_tf("""
            def scaled(opt):
                if FLAGS.use_fp16 and (FLAGS.loss_scale not in [None, -1]):
                    opt_tmp = opt
                    if FLAGS.loss_scale == 0:
                        manager = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(
                            init_loss_scale=2**32, incr_every_n_steps=1000, decr_ratio=0.5)
                    elif FLAGS.loss_scale >= 1:
                        manager = tf.contrib.mixed_precision.FixedLossScaleManager(
                            loss_scale=FLAGS.loss_scale)
                    else:
                        raise ValueError(FLAGS.loss_scale)
                    opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt_tmp, manager)
                return opt
        """)
    )
    assert outcome.left == []
    assert lines_of(outcome, "manager = ") == [
        "manager = ExponentialUpdateLossScaleManager(",
        "manager = FixedLossScaleManager(",
    ]
    wrapped = outcome.text[
        outcome.text.index("        if ops_adapter") : outcome.text.index("    return")
    ]
    assert code_of(wrapped) == code_of("""
        if ops_adapter.size() > 1:
            opt_tmp = NPUDistributedOptimizer(opt_tmp)
            opt = NPULossScaleOptimizer(opt_tmp, manager, is_distributed=True)
        else:
            opt = NPULossScaleOptimizer(opt_tmp, manager)
    """)
    assert "from npu_migrate.runtime import ops_adapter\n" in outcome.text


STEP_OUTSIDE = """
    class Own(tf.train.Optimizer):
        def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            assignments = []
            for grad, param in grads_and_vars:
                assignments.append(param.assign(param - 0.1 * grad))
            return tf.group(*assignments, name=name)


    def create_optimizer(loss, manager):
        global_step = tf.train.get_or_create_global_step()
        optimizer = tf.contrib.mixed_precision.LossScaleOptimizer(Own(False, "Own"), manager)
        grads_and_vars = optimizer.compute_gradients(loss, tf.trainable_variables())
        grads, tvars = list(zip(*grads_and_vars))
        all_are_finite = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g in grads])
        (clipped, _) = tf.clip_by_global_norm(grads, clip_norm=1.0, use_norm=tf.cond(
            all_are_finite, lambda: tf.global_norm(grads), lambda: tf.constant(1.0)))
        train_op = optimizer.apply_gradients(list(zip(clipped, tvars)), global_step=global_step)
        new_global_step = tf.cond(all_are_finite, lambda: global_step + 1, lambda: global_step)
        new_global_step = tf.identity(new_global_step, name="step_update")
        train_op = tf.group(train_op, [global_step.assign(new_global_step)])
        return train_op
"""


def test_updating_the_global_step_and_the_finite_check():
    outcome = migrate(with_tf(STEP_OUTSIDE), removed="delete")
    assert outcome.left == []
    assert "is_finite" not in outcome.text
    assert "use_norm=tf.global_norm(grads)" in outcome.text
    assert "new_global_step" not in outcome.text
    own, train = outcome.text.split("def create_optimizer")
    assert "assignments.append(tf.assign_add(global_step, 1))" in own
    assert "global_step=global_step)" in train


def test_resnet50_scales_its_loss_by_hand_and_is_told_so():
    left_as_marked(
        with_tf("""
            def resnet_model_fn(features, labels, mode, loss_scale):
                loss = tf.losses.sparse_softmax_cross_entropy(labels, model(features))
                step = tf.train.get_or_create_global_step()
                optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
                if loss_scale != 1:
                    scaled = optimizer.compute_gradients(loss * loss_scale)  #! NPU117
                    unscaled = [(grad / loss_scale, var) for grad, var in scaled]
                    train_op = optimizer.apply_gradients(unscaled, step)
                else:
                    train_op = optimizer.minimize(loss, step)
                return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
        """)
    )


# Ported by hand -----------------------------------------------------------------------------------

BY_HAND = sorted((Path(__file__).parent / "cases" / "by_hand").glob("*.py"))


@pytest.mark.parametrize("script", BY_HAND, ids=[path.stem for path in BY_HAND])
def test_what_was_ported_by_hand_has_no_finding(script):
    assert untouched(script.read_text("utf-8")).findings == ()
