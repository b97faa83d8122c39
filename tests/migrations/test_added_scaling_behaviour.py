"""What ``--loss-scale`` adds trains as before, and skips what overflows."""

import pytest

pytest.importorskip("tensorflow", reason="needs TensorFlow 1.15, and so Python 3.7")

from support import migrate, with_own, with_tf  # noqa: E402
from test_behaviour import (  # noqa: E402
    INF,
    RESOURCE,
    load,
    seen_of,
    steps_of,
    tf,
    trained,
    weights_of,
)

pytestmark = pytest.mark.usefixtures("bridge")

OF_TENSORFLOW = with_tf("""
    def build(loss):
        step = tf.train.get_or_create_global_step()
        return tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss, global_step=step)
    """)
OF_ITS_OWN = with_own("""
    def build(loss):
        step = tf.train.get_or_create_global_step()
        opt = Own(False, "own")
        tvars = tf.trainable_variables()
        grads = tf.gradients(loss, tvars)
        grads, _ = tf.clip_by_global_norm(grads, 1.0)
        train_op = opt.apply_gradients(zip(grads, tvars), global_step=step)
        return tf.group(train_op, [step.assign(step + 1)])
    """)
IN_CONTROL_DEPENDENCIES = with_tf("""
    def build(loss):
        step = tf.train.get_or_create_global_step()
        with tf.control_dependencies([loss]):
            return tf.train.AdamOptimizer(0.01).minimize(loss, global_step=step)
    """)


def built(text, scale):
    return load(migrate(text, loss_scale=scale).text).build


def loss_scale():
    return next(v for v in tf.global_variables() if v.op.name == "loss_scale")


@RESOURCE
@pytest.mark.parametrize("original", [OF_TENSORFLOW, OF_ITS_OWN, IN_CONTROL_DEPENDENCIES])
def test_same_weights_and_steps_as_without(original, resource):
    factors = [1.0, 2.0, 0.5, 1.0]
    before = trained(load(original).build, factors, resource)
    after = trained(built(original, "1024"), factors, resource)
    assert weights_of(after) == weights_of(before)
    assert steps_of(after) == [0, 1, 2, 3, 4]


@RESOURCE
@pytest.mark.parametrize("original", [OF_TENSORFLOW, OF_ITS_OWN, IN_CONTROL_DEPENDENCIES])
def test_what_overflows_is_skipped_and_halves_the_scale(original, resource):
    build = built(original, "dynamic")
    after = trained(build, [1.0, INF, INF, 1.0], resource, watch=loss_scale)
    assert steps_of(after) == [0, 1, 1, 1, 2]
    assert seen_of(after) == [2.0**32, 2.0**32, 2.0**32, 2.0**31, 2.0**31]
    weights = weights_of(after)
    assert weights[1] == weights[2] == weights[3] != weights[4]
