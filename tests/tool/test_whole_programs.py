"""A program of several files is migrated as a whole or not at all."""

import os

from npu_migrate import engine

LAMB = b"""\
import tensorflow as tf
class Lamb(tf.train.Optimizer):
    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        return tf.group(*[v.assign_sub(g) for g, v in grads_and_vars])
"""
TRAIN = b"""\
import tensorflow as tf
from lamb import Lamb
def train(loss, step):
    manager = tf.contrib.mixed_precision.FixedLossScaleManager(8)
    opt = tf.contrib.mixed_precision.LossScaleOptimizer(Lamb(False, 'own'), manager)
    return tf.group(opt.minimize(loss, global_step=step), step.assign(step + 1))
"""
OTHER = b"import tensorflow as tf\nmanager = tf.contrib.mixed_precision.FixedLossScaleManager(8)\n"


def test_what_can_not_be_written_holds_its_program_back(folder, run, monkeypatch):
    def migrate_and_lose(*arguments, migrate=engine.migrate):
        results = migrate(*arguments)
        os.unlink("train.py")
        return results

    files = {"lamb.py": LAMB, "train.py": TRAIN, "other.py": OTHER}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    monkeypatch.setattr(engine, "migrate", migrate_and_lose)
    outcome = run(".")
    assert outcome.status == 2
    assert "train.py: error: cannot be written" in outcome.err
    assert "not done: train.py, which belongs to it, could not be changed" in outcome.out
    assert (folder / "lamb.py").read_bytes() == LAMB
    assert b"npu_bridge" in (folder / "other.py").read_bytes()
