"""Faults put into the migrated BERT sample, one at a time."""

import shutil
from typing import Dict, NamedTuple

STEP = """    with tf.control_dependencies([train_op]):
      step_update = tf.identity(global_step.read_value(), name='step_update')
    train_op = tf.group(train_op, step_update)
"""
MOVE = """    if global_step is not None:
      with tf.control_dependencies(assignments):
        assignments.append(tf.assign_add(global_step, 1))
"""
SCALER = (
    "    optimizer = NPULossScaleOptimizer(optimizer, loss_scaler, "
    "is_distributed=ops_adapter.size() > 1)\n"
)


class Mutation(NamedTuple):
    """A fault: the file, the text that goes, and what takes its place."""

    file: str
    before: str
    after: str


MUTATIONS: Dict[str, Mutation] = {
    "scale falls by a fifth": Mutation(
        "optimization.py", "decr_every_n_nan_or_inf=1, decr_ratio=0.5", "decr_every_n_nan_or_inf=1"
    ),
    "step moved outside as well": Mutation(
        "optimization.py",
        STEP,
        STEP.replace("global_step.read_value()", "global_step.assign_add(1)"),
    ),
    "step not moved": Mutation("optimization.py", MOVE, ""),
    "ranks judge apart": Mutation(
        "optimization.py", "loss_scaler, is_distributed=ops_adapter.size() > 1", "loss_scaler"
    ),
    "wrapped twice": Mutation("optimization.py", SCALER, SCALER * 2),
    "other initial scale": Mutation(
        "optimization.py",
        "        init_loss_scale=FLAGS.init_loss_scale,\n        incr_every_n_steps="
        "FLAGS.loss_scale_window,\n        incr_ratio",
        "        init_loss_scale=FLAGS.init_loss_scale * 2,\n        incr_every_n_steps="
        "FLAGS.loss_scale_window,\n        incr_ratio",
    ),
    "keep_prob for rate": Mutation(
        "modeling.py", "tf.nn.dropout(x, rate=rate,", "tf.nn.dropout(x, keep_prob=rate,"
    ),
}


def mutate(migrated, folder, name):
    """A copy of the migrated sample, with a fault."""
    shutil.copytree(str(migrated), str(folder))
    mutation = MUTATIONS[name]
    file = folder / mutation.file
    text = file.read_text()
    assert mutation.before in text
    file.write_text(text.replace(mutation.before, mutation.after))
    return folder
