"""Ways in which scripts move the global step, each with what must become of it."""

from textwrap import dedent, indent

from support import OWN_CLASS, with_tf

MOVING_CLASS = OWN_CLASS.replace(
    "  return",
    "  if global_step is not None:\n"
    "      with tf.control_dependencies(ops):\n"
    "        ops.append(tf.assign_add(global_step, 1))\n"
    "    return",
)

TRAIN = """

def train(loss, sess, flag, n):
  gs = tf.train.get_or_create_global_step()
  scaler = tf.contrib.mixed_precision.FixedLossScaleManager(8)
  opt = tf.contrib.mixed_precision.LossScaleOptimizer(Own(False, "own"), scaler)
  gvs = opt.compute_gradients(loss)
"""


def training(steps, optimizer=OWN_CLASS):
    return with_tf(optimizer + TRAIN + indent(dedent(steps).strip("\n") + "\n", "  "))


OUTSIDE = {
    "bert": (
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        new = tf.identity(gs + 1, name='step_update')
        op = tf.group(op, [gs.assign(new)])
        return op
        """,
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        return op
        """,
    ),
    "bert with if and else": (
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        if flag:
          new = tf.cond(n, lambda: gs + 1, lambda: gs)
        else:
          new = gs + 1
        new = tf.identity(new, name='step_update')
        op = tf.group(op, [gs.assign(new)])
        return op
        """,
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        return op
        """,
    ),
    "if that holds something else": (
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        if flag:
          new = gs + 1
          tf.logging.info("clipped")
        else:
          new = gs + 1
        op = tf.group(op, [gs.assign(new)])
        return op
        """,
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        if flag:
          tf.logging.info("clipped")
        else:
          pass
        return op
        """,
    ),
    "step of compat.v1": (
        """
        gs = tf.compat.v1.train.get_global_step()
        op = opt.apply_gradients(gvs)
        return tf.group(op, tf.compat.v1.assign_add(gs, 1))
        """,
        """
        gs = tf.compat.v1.train.get_global_step()
        op = opt.apply_gradients(gvs, global_step=gs)
        return op
        """,
    ),
    "tf.group with others and a name": (
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        return tf.group(op, flag, [gs.assign(gs + 1)], name='train')
        """,
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        return tf.group(op, flag, name='train')
        """,
    ),
    "tf.group of another op": (
        """
        update_op = tf.cond(flag, lambda: opt.apply_gradients(gvs, global_step=gs), tf.no_op)
        op = tf.group(update_op, [gs.assign(tf.cond(flag, lambda: gs + 1, lambda: gs))])
        return op
        """,
        """
        update_op = tf.cond(flag, lambda: opt.apply_gradients(gvs, global_step=gs), tf.no_op)
        op = update_op
        return op
        """,
    ),
    "assign_add": (
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        return tf.group(op, gs.assign_add(1))
        """,
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        return op
        """,
    ),
    "tf.assign": (
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        increment = tf.assign(gs, gs + 1)
        return tf.group(op, increment)
        """,
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        return op
        """,
    ),
    "state_ops": (
        """
        from tensorflow.python.ops import state_ops
        op = opt.apply_gradients(gvs, global_step=gs)
        return tf.group(op, state_ops.assign_add(gs, 1))
        """,
        """
        from tensorflow.python.ops import state_ops
        op = opt.apply_gradients(gvs, global_step=gs)
        return op
        """,
    ),
    "control_dependencies": (
        """
        op = opt.apply_gradients(gvs)
        with tf.control_dependencies([op]):
          op = tf.assign_add(gs, 1)
        return op
        """,
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        return op
        """,
    ),
    "returned from control_dependencies": (
        """
        op = opt.apply_gradients(gvs)
        with tf.control_dependencies([op]):
          return tf.assign_add(gs, 1)
        """,
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        return op
        """,
    ),
    "beside the update in control_dependencies": (
        """
        op = opt.apply_gradients(gvs)
        with tf.control_dependencies([op, gs.assign_add(1)]):
          return tf.no_op(name='train')
        """,
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        with tf.control_dependencies([op]):
          return tf.no_op(name='train')
        """,
    ),
    "list": (
        """
        ops = [opt.apply_gradients(gvs), tf.assign_add(gs, 1)]
        return tf.group(*ops)
        """,
        """
        ops = [opt.apply_gradients(gvs, global_step=gs)]
        return tf.group(*ops)
        """,
    ),
    "appended to a list": (
        """
        ops = [opt.apply_gradients(gvs)]
        ops.append(gs.assign(gs + 1))
        return tf.group(*ops)
        """,
        """
        ops = [opt.apply_gradients(gvs, global_step=gs)]
        return tf.group(*ops)
        """,
    ),
    "inside of tf.cond": (
        """
        def update():
          op = opt.apply_gradients(gvs)
          with tf.control_dependencies([op]):
            return tf.group(gs.assign_add(1))
        return tf.cond(flag, update, lambda: tf.no_op())
        """,
        """
        def update():
          op = opt.apply_gradients(gvs, global_step=gs)
          return op
        return tf.cond(flag, update, lambda: tf.no_op())
        """,
    ),
    "inside of a lambda of tf.cond": (
        """
        return tf.cond(
            flag,
            lambda: tf.group(opt.apply_gradients(gvs, global_step=gs), gs.assign_add(1)),
            lambda: tf.no_op())
        """,
        """
        return tf.cond(
            flag,
            lambda: opt.apply_gradients(gvs, global_step=gs),
            lambda: tf.no_op())
        """,
    ),
    "in an EstimatorSpec": (
        """
        op = opt.minimize(loss, gs)
        return tf.estimator.EstimatorSpec(n, loss=loss, train_op=tf.group(op, [gs.assign(gs + 1)]))
        """,
        """
        op = opt.minimize(loss, gs)
        return tf.estimator.EstimatorSpec(n, loss=loss, train_op=op)
        """,
    ),
    "minimize without the step": (
        """
        op = opt.minimize(loss)
        return tf.group(op, gs.assign_add(1))
        """,
        """
        op = opt.minimize(loss, global_step=gs)
        return op
        """,
    ),
    "None for the step": (
        """
        op = opt.apply_gradients(gvs, global_step=None)
        return tf.group(op, gs.assign_add(1))
        """,
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        return op
        """,
    ),
    "step by position": (
        """
        op = opt.apply_gradients(gvs, gs)
        return tf.group(op, gs.assign_add(1))
        """,
        """
        op = opt.apply_gradients(gvs, gs)
        return op
        """,
    ),
    "two groups of parameters": (
        """
        a = opt.apply_gradients(gvs[:2], global_step=gs)
        b = opt.apply_gradients(gvs[2:], global_step=gs)
        return tf.group(a, b, gs.assign_add(1))
        """,
        """
        a = opt.apply_gradients(gvs[:2])
        b = opt.apply_gradients(gvs[2:], global_step=gs)
        return tf.group(a, b)
        """,
    ),
    "two groups of parameters without the step": (
        """
        a = opt.apply_gradients(gvs[:2])
        b = opt.apply_gradients(gvs[2:])
        return tf.group(a, b, gs.assign_add(1))
        """,
        """
        a = opt.apply_gradients(gvs[:2])
        b = opt.apply_gradients(gvs[2:], global_step=gs)
        return tf.group(a, b)
        """,
    ),
    "reset beside it": (
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        reset = gs.assign(0)
        op = tf.group(op, gs.assign_add(1))
        return op, reset
        """,
        """
        op = opt.apply_gradients(gvs, global_step=gs)
        reset = gs.assign(0)
        return op, reset
        """,
    ),
}

CLASSES = {
    "list": (OWN_CLASS, MOVING_CLASS),
    "loop over variables": (
        """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            assignments = []
            for (grad, param) in grads_and_vars:
              if grad is None or param is None:
                continue
              assignments.extend([param.assign(param - grad)])
            return tf.group(*assignments, name=name)
        """,
        """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            assignments = []
            for (grad, param) in grads_and_vars:
              if grad is None or param is None:
                continue
              assignments.extend([param.assign(param - grad)])
            if global_step is not None:
              with tf.control_dependencies(assignments):
                assignments.append(tf.assign_add(global_step, 1))
            return tf.group(*assignments, name=name)
        """,
    ),
    "step that is required and used": (
        """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step, name=None):
            steps = tf.cast(global_step, tf.float32)
            ops = [v.assign_sub(g / (1 - 0.9 ** steps)) for g, v in grads_and_vars]
            return tf.group(*ops, name=name)
        """,
        """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step, name=None):
            steps = tf.cast(global_step + 1, tf.float32)
            ops = [v.assign_sub(g / (1 - 0.9 ** steps)) for g, v in grads_and_vars]
            with tf.control_dependencies(ops):
              ops.append(tf.assign_add(global_step, 1))
            return tf.group(*ops, name=name)
        """,
    ),
    "step that is required and unused": (
        """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step, name=None):
            ops = [v.assign_sub(g) for g, v in grads_and_vars]
            return tf.group(*ops, name=name)
        """,
        """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step, name=None):
            ops = [v.assign_sub(g) for g, v in grads_and_vars]
            if global_step is not None:
              with tf.control_dependencies(ops):
                ops.append(tf.assign_add(global_step, 1))
            return tf.group(*ops, name=name)
        """,
    ),
    "every return that hands back the update": (
        """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            ops = [v.assign_sub(g) for g, v in grads_and_vars]
            if self.quiet:
              return tf.group(*ops)
            return tf.group(*ops, name=name)
        """,
        """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            ops = [v.assign_sub(g) for g, v in grads_and_vars]
            if self.quiet:
              if global_step is not None:
                with tf.control_dependencies(ops):
                  ops.append(tf.assign_add(global_step, 1))
              return tf.group(*ops)
            if global_step is not None:
              with tf.control_dependencies(ops):
                ops.append(tf.assign_add(global_step, 1))
            return tf.group(*ops, name=name)
        """,
    ),
    "group with a name of its own": (
        """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            update = tf.group(*[v.assign_sub(g) for g, v in grads_and_vars])
            return update
        """,
        """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            update = tf.group(*[v.assign_sub(g) for g, v in grads_and_vars])
            if global_step is not None:
              with tf.control_dependencies([update]):
                return tf.group(tf.assign_add(global_step, 1), name=name)
            return update
        """,
    ),
    "group that is returned at once": (
        """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            return tf.group(*[v.assign_sub(g) for g, v in grads_and_vars], name=name)
        """,
        """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            update_op = tf.group(*[v.assign_sub(g) for g, v in grads_and_vars], name=name)
            if global_step is not None:
              with tf.control_dependencies([update_op]):
                return tf.group(tf.assign_add(global_step, 1), name=name)
            return update_op
        """,
    ),
    "step under another name": (
        """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, gvs, step=None):
            ops = [v.assign_sub(g) for g, v in gvs]
            return tf.group(*ops)
        """,
        """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, gvs, step=None):
            ops = [v.assign_sub(g) for g, v in gvs]
            if step is not None:
              with tf.control_dependencies(ops):
                ops.append(tf.assign_add(step, 1))
            return tf.group(*ops)
        """,
    ),
}

HEAD_OF_MODULE = """\
gs = tf.train.get_or_create_global_step()
loss = tf.square(tf.get_variable("w", []))
scaler = tf.contrib.mixed_precision.FixedLossScaleManager(8)
opt = tf.contrib.mixed_precision.LossScaleOptimizer(Own(False, "own"), scaler)
gvs = opt.compute_gradients(loss)
"""

STEP_OF_MODULE = """\
finite = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g, _ in gvs])
train_op = opt.apply_gradients(gvs)
new_step = tf.cond(finite, lambda: gs + 1, lambda: gs)
new_step = tf.identity(new_step, name='step_update')
train_op = tf.group(train_op, [gs.assign(new_step)])
"""
