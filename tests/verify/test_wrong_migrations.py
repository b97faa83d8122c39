"""Badly migrated scripts whose numbers are those of the original are refused by reading them."""

from textwrap import dedent

import pytest
from recordings import experiment

from npu_migrate.verify.judgement import judge
from npu_migrate.verify.migration import read_migration
from npu_migrate.verify.verdict import Answer

IMPORTS = """\
import os
import tensorflow as tf
from npu_bridge.estimator.npu.npu_loss_scale_manager import ExponentialUpdateLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_manager import FixedLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer
"""
ORIGINAL = """\
import tensorflow as tf


def build(loss, gs, lr=0.1):
    m = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(8, 100)
    opt = tf.contrib.mixed_precision.LossScaleOptimizer(tf.train.AdamOptimizer(lr), m)
    return opt.minimize(loss, global_step=gs)
"""
WRONG = {
    "step moved once per variable": (
        "NPU309",
        """
        class Decay(tf.train.Optimizer):
            def apply_gradients(self, grads_and_vars, global_step=None, name=None):
                ops = []
                for g, v in grads_and_vars:
                    ops.append(v.assign(v - 0.1 * g))
                    ops.append(global_step.assign(global_step + 1))
                return tf.group(*ops, name=name)

        def build(loss, gs):
            return Decay(False, "decay").minimize(loss, global_step=gs)
        """,
    ),
    "wrapped twice": (
        "NPU128",
        """
        def build(loss, gs, lr=0.1):
            m = ExponentialUpdateLossScaleManager(8, 100)
            opt = NPULossScaleOptimizer(tf.train.AdamOptimizer(lr), m)
            opt = NPULossScaleOptimizer(opt, m)
            return opt.minimize(loss, global_step=gs)
        """,
    ),
    "operation wrapped under a flag": (
        "NPU129",
        """
        def build(loss, gs, scale, lr=0.1):
            if scale:
                opt = tf.train.AdamOptimizer(lr).minimize(loss)
                return NPULossScaleOptimizer(opt, FixedLossScaleManager(8))
            return tf.train.AdamOptimizer(lr).minimize(loss)
        """,
    ),
    "manager only under a flag": (
        "NPU130",
        """
        def build(loss, gs, precision, lr=0.1):
            if precision == "mixed":
                m = ExponentialUpdateLossScaleManager(8, 100)
            opt = NPULossScaleOptimizer(tf.train.AdamOptimizer(lr), m)
            return opt.minimize(loss, global_step=gs)
        """,
    ),
    "gradients go round the scaler": (
        "NPU116",
        """
        def build(loss, gs, tvars, lr=0.1):
            opt = NPULossScaleOptimizer(
                tf.train.AdamOptimizer(lr), ExponentialUpdateLossScaleManager(8, 100))
            grads, _ = tf.clip_by_global_norm(tf.gradients(loss, tvars), 1.0)
            return opt.apply_gradients(list(zip(grads, tvars)), global_step=gs)
        """,
    ),
    "one manager for two": (
        "NPU120",
        """
        def build(d_loss, g_loss):
            m = ExponentialUpdateLossScaleManager(8, 100)
            d = NPULossScaleOptimizer(tf.train.AdamOptimizer(), m).minimize(d_loss)
            g = NPULossScaleOptimizer(tf.train.AdamOptimizer(), m).minimize(g_loss)
            return tf.group(d, g)
        """,
    ),
    "one register for two": (
        "NPU119",
        """
        def build(d_loss, g_loss):
            m = ExponentialUpdateLossScaleManager(8, 100)
            d = NPULossScaleOptimizer(tf.train.AdamOptimizer(), m).minimize(d_loss)
            m2 = FixedLossScaleManager(8)
            g = NPULossScaleOptimizer(tf.train.AdamOptimizer(), m2).minimize(g_loss)
            return tf.group(d, g)
        """,
    ),
    "ranks judge apart": (
        "NPU209",
        """
        def build(loss, gs, cards, lr=0.1):
            opt = tf.train.AdamOptimizer(lr)
            if cards == 8:
                opt = NPUDistributedOptimizer(opt)
            opt = NPULossScaleOptimizer(opt, ExponentialUpdateLossScaleManager(8, 100))
            return opt.minimize(loss, global_step=gs)
        """,
    ),
    "rank size without a default": (
        "NPU211",
        """
        def build(loss, gs, lr=0.1):
            opt = tf.train.AdamOptimizer(lr)
            if int(os.getenv("RANK_SIZE")) > 1:
                opt = NPUDistributedOptimizer(opt)
                opt = NPULossScaleOptimizer(opt, FixedLossScaleManager(8), is_distributed=True)
            return opt.minimize(loss, global_step=gs)
        """,
    ),
    "finite check": (
        "NPU123",
        """
        def build(loss, lr, tvars):
            gs = tf.train.get_or_create_global_step()
            opt = NPULossScaleOptimizer(tf.train.AdamOptimizer(lr), FixedLossScaleManager(8))
            grads = [g for g, _ in opt.compute_gradients(loss, tvars)]
            finite = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g in grads])
            clipped, _ = tf.clip_by_global_norm(
                grads, 1.0, use_norm=tf.cond(
                    finite, lambda: tf.global_norm(grads), lambda: tf.constant(1.0)))
            train = opt.apply_gradients(list(zip(clipped, tvars)))
            nxt = tf.cond(finite, lambda: gs + 1, lambda: gs)
            return tf.group(train, [gs.assign(nxt)])
        """,
    ),
}


def verdict(tmp_path, migrated, original=ORIGINAL):
    paths = tmp_path / "original" / "train.py", tmp_path / "migrated" / "train.py"
    for path, text in zip(paths, (original, migrated)):
        path.parent.mkdir()
        path.write_text(text)
    return judge(experiment(), read_migration(*map(str, paths)))


@pytest.mark.parametrize("name", WRONG)
def test_refused_for_the_right_reason(tmp_path, name):
    code, text = WRONG[name]
    found = verdict(tmp_path, IMPORTS + dedent(text))
    assert found.answer is Answer.WRONG and found.answer.exit_code == 1
    assert code in {finding.code for finding in found.wrong}
    assert "the migrated script is wrong" in found.paragraph


def test_work_of_npu_migrate_is_not_refused(tmp_path):
    from npu_migrate import cli

    (tmp_path / "a.py").write_text(ORIGINAL)
    cli.main(["-q", str(tmp_path / "a.py")])
    found = verdict(tmp_path, (tmp_path / "a.py").read_text())
    assert found.answer is Answer.SAME and found.cautions == ()


def test_what_is_left_to_migrate_is_told(tmp_path):
    found = verdict(tmp_path, ORIGINAL)
    assert "npu-migrate still finds 3 things to do" in found.cautions[0]


def test_what_the_original_does_as_well_is_its_own(tmp_path):
    _, text = WRONG["gradients go round the scaler"]
    contrib = "mp = tf.contrib.mixed_precision\n"
    original = (
        dedent(text)
        .replace("NPULossScaleOptimizer", "mp.LossScaleOptimizer")
        .replace("Exp", "mp.Exp")
    )
    found = verdict(
        tmp_path, IMPORTS + dedent(text), "import tensorflow as tf\n" + contrib + original
    )
    assert found.wrong == ()
