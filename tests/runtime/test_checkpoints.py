"""A run that is interrupted goes on from its checkpoint as if nothing had happened."""

import pytest

tf = pytest.importorskip("tensorflow.compat.v1", reason="needs TensorFlow 1.15")

from toy_training import ToyTraining  # noqa: E402

from npu_migrate.runtime import (  # noqa: E402
    DynamicLossScaleManager,
    ExponentialUpdateLossScaleManager,
    NPULossScaleOptimizer,
    NPUOptimizer,
)

PATTERN = "0010001100000100110000"
HALF = 9  # in the middle of counting good and bad steps


def exponential():
    return ExponentialUpdateLossScaleManager(64.0, 3, 2, 2, 0.5)


def tolerant():
    return DynamicLossScaleManager(64.0, 2.0, 3, 0.4)


def build(make_manager):
    tf.reset_default_graph()
    manager = make_manager()
    return ToyTraining(lambda opt: NPULossScaleOptimizer(opt, manager), manager)


@pytest.mark.parametrize("make_manager", [exponential, tolerant])
def test_scale_counters_and_step_go_on(make_manager, tmp_path):
    uninterrupted = list(zip(*build(make_manager).trace(PATTERN)))

    training = build(make_manager)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for character in PATTERN[:HALF]:
            training.step(session, character == "1")
        checkpoint = tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))

    training = build(make_manager)
    resumed = []
    with tf.Session() as session:
        tf.train.Saver().restore(session, checkpoint)
        for character in PATTERN[HALF:]:
            training.step(session, character == "1")
            resumed.append(training.state(session))
    assert resumed == uninterrupted[HALF:]


def names_saved(tmp_path):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        checkpoint = tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))
    return sorted(name for name, _ in tf.train.list_variables(checkpoint))


def test_names_are_stable_and_nothing_else_is_saved(tmp_path):
    """Those of contrib's manager, so that its checkpoints restore."""
    build(exponential)
    assert names_saved(tmp_path) == [
        "bad_steps",
        "global_step",
        "good_steps",
        "loss_scale",
        "weight",
    ]


def test_names_of_the_tolerant_manager(tmp_path):
    build(tolerant)
    assert names_saved(tmp_path) == [
        "dynamic_loss_scale/last_change",
        "dynamic_loss_scale/last_overflow",
        "dynamic_loss_scale/loss_scale",
        "dynamic_loss_scale/overflows",
        "dynamic_loss_scale/steps",
        "global_step",
        "weight",
    ]


def test_an_exported_graph_trains_on(tmp_path):
    """`import_meta_graph` in place of the script: nothing in the graph needs this process."""
    manager = exponential()
    training = ToyTraining(lambda opt: NPUOptimizer(opt, manager, is_loss_scale=True), manager)
    names = training.train_op.name, training.fed.name
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))
    tf.reset_default_graph()
    with tf.Session() as session:
        saver = tf.train.import_meta_graph(str(tmp_path / "model.ckpt.meta"))
        saver.restore(session, str(tmp_path / "model.ckpt"))
        for value in (1.0, float("inf"), float("inf"), 1.0):
            session.run(names[0], {names[1]: value})
        assert session.run(["loss_scale:0", "global_step:0", "weight:0"]) == [32.0, 2, 0.75]
