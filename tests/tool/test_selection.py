"""Rules that are not chosen: a script is never migrated by half."""

from typing import Dict, Tuple

import pytest

from npu_migrate.engine import migrate
from npu_migrate.options import Options
from npu_migrate.plan import Status
from npu_migrate.results import FileResult
from npu_migrate.rules import load
from npu_migrate.sources import stdin

SCALED = b"""\
import tensorflow as tf

mixed = tf.contrib.mixed_precision
manager = mixed.FixedLossScaleManager(128)
optimizer = mixed.LossScaleOptimizer(tf.train.GradientDescentOptimizer(0.1), manager)
train = optimizer.minimize(loss)
"""
STEP = b"""\
import tensorflow as tf


class LAMBOptimizer(tf.train.Optimizer):
    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        return tf.group(*[v.assign_sub(g) for g, v in grads_and_vars])


manager = tf.contrib.mixed_precision.FixedLossScaleManager(128)
optimizer = LAMBOptimizer(False, "lamb")
optimizer = tf.contrib.mixed_precision.LossScaleOptimizer(optimizer, manager)
train_op = optimizer.apply_gradients(grads, global_step=step)
new_step = step + 1
train_op = tf.group(train_op, [step.assign(new_step)])
"""
DEVICES = b"""\
import horovod.tensorflow as hvd
import tensorflow as tf

config = tf.ConfigProto()
config.gpu_options.visible_device_list = str(hvd.local_rank())
optimizer = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1))
"""
REPLACED = b"""\
import tensorflow as tf

mixed = tf.contrib.mixed_precision
manager = mixed.FixedLossScaleManager(128)
loss = tf.nn.dropout(loss, 0.9)
"""
SCRIPTS: Dict[str, bytes] = {"scaled": SCALED, "step": STEP, "devices": DEVICES}


def run(code: bytes, **options: object) -> FileResult:
    (result,) = migrate([stdin(code)], load(), Options(**options))  # type: ignore[arg-type]
    return result


@pytest.mark.parametrize("script", ["scaled", "step"])
@pytest.mark.parametrize("select", ["NPU101", "NPU103", "NPU2", "NPU302", "NPU301"])
def test_changes_that_belong_together_are_done_all_or_none(script: str, select: str) -> None:
    code = SCRIPTS[script]
    assert run(code, select=(select,)).after == code


@pytest.mark.parametrize("script", list(SCRIPTS))
def test_all_families_are_the_whole_migration(script: str) -> None:
    everything = run(SCRIPTS[script])
    assert everything.after != everything.before
    chosen = run(SCRIPTS[script], select=("NPU1", "NPU2", "NPU3", "NPU6"))
    assert chosen.after == everything.after


@pytest.mark.parametrize("ignore", ["NPU103", "NPU1"])
def test_ignoring_a_part_holds_the_rest_back_and_says_so(ignore: str) -> None:
    result = run(SCALED, ignore=(ignore,))
    assert result.after == SCALED
    assert not any(finding.code.startswith(ignore) for finding in result.findings)
    assert not any(finding.status is Status.MIGRATED for finding in result.findings)


def test_what_is_held_back_says_what_to_select() -> None:
    (finding,) = run(SCALED, select=("NPU103",)).findings
    assert finding.status is Status.MANUAL
    assert finding.remedy == "select NPU1"


def test_a_change_that_stands_alone_is_done_alone() -> None:
    line = b"config.gpu_options.visible_device_list = str(hvd.local_rank())\n"
    assert run(DEVICES, select=("NPU601",)).after == DEVICES.replace(line, b"")


def test_without_the_device_rule_its_line_keeps_its_rank() -> None:
    after = run(DEVICES, ignore=("NPU601",)).after
    assert b"visible_device_list = str(" in after
    assert b"from npu_migrate.runtime import ops_adapter as hvd\n" in after


def test_ignoring_what_changes_nothing_holds_nothing_back() -> None:
    assert run(SCALED, ignore=("NPU2", "NPU3", "NPU9")).after == run(SCALED).after


@pytest.mark.parametrize("select", [(), ("ALL",), ("NPU",), ("NPU1",)])
def test_replacements_are_off_unless_their_family_is_named(select: Tuple[str, ...]) -> None:
    assert {f.code for f in run(REPLACED, select=select).findings} == {"NPU101"}


def test_a_selected_family_is_all_there_is() -> None:
    assert {f.code for f in run(REPLACED, select=("NPU5",)).findings} == {"NPU501"}
    assert run(REPLACED, select=("NPU501",)).after == run(REPLACED, select=("NPU5",)).after


def test_a_family_beside_the_default_rules() -> None:
    result = run(REPLACED, extend_select=("NPU5",))
    assert {f.code for f in result.findings} == {"NPU101", "NPU501"}
    assert b"npu_ops.dropout(loss, 0.9)" in result.after
    assert run(SCALED, extend_select=("NPU5",)).after == run(SCALED).after


def test_what_is_not_selected_leaves_no_import() -> None:
    code = REPLACED + b"with tf.Session() as session:\n    session.run(loss)\n"
    assert b"npu_init" in run(code, extend_select=("NPU5",)).after
    assert b"npu_init" not in run(code, select=("NPU5",)).after
