"""Trees of training scripts that all have something to migrate."""

import pathlib
from typing import Dict

SCRIPT = """\
import tensorflow as tf

def train_{number}(loss):
    manager = tf.contrib.mixed_precision.FixedLossScaleManager({number})
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    optimizer = tf.contrib.mixed_precision.LossScaleOptimizer(optimizer, manager)
    return optimizer.minimize(loss)
"""


def write_scripts(folder: pathlib.Path, count: int) -> Dict[str, bytes]:
    """Writes scripts, each a program of its own; returns what they hold by name."""
    scripts = {f"train_{n}.py": SCRIPT.format(number=n).encode() for n in range(1, count + 1)}
    for name, data in scripts.items():
        (folder / name).write_bytes(data)
    return scripts


def contents(folder: pathlib.Path) -> Dict[str, bytes]:
    """What the files of a folder hold, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
