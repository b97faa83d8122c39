"""Puts the original BERT's reads of the global step in the order that it means.

`create_optimizer` assigns the step beside the update: nothing says whether the learning rate is
read before that, or LAMB's bias correction after it. Usually it is so; when it is not, LAMB divides
by `1 - beta ** 0` and its weights become NaN. Two kinds of control edges settle it.
"""

import tensorflow as tf


def ordered(create_optimizer):
    """Wraps the original's `create_optimizer`; nothing but the two orders changes."""

    def create_in_order(*args, **kwargs):
        train_op = create_optimizer(*args, **kwargs)
        step = tf.train.get_global_step()
        graph = tf.get_default_graph()
        (assignment,) = [
            op for op in step.op.outputs[0].consumers()
            if op.type == "Assign" and op is not step.initializer
        ]  # fmt: skip
        assignment._add_control_input(graph.get_operation_by_name("learning_rate"))
        for read in _bias_corrections(step):
            read._add_control_input(assignment)
        return train_op

    return create_in_order


def _bias_corrections(step):
    """The casts of the step inside of `tf.cond`, where the optimizers' `apply_gradients` stands."""
    pending = [step.op.outputs[0]]
    while pending:
        for op in pending.pop().consumers():
            if op.type == "Cast" and op._get_control_flow_context() is not None:
                yield op
            elif op.type in ("Identity", "Switch", "RefSwitch"):
                pending += op.outputs
