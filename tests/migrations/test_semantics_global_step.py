"""The global step: it moves in the optimizer, once for each step that is applied."""

from textwrap import dedent, indent

import pytest
from step_forms import CLASSES, MOVING_CLASS, OUTSIDE, training
from support import OWN_CLASS, body, code_of, left_as_marked, migrate, untouched, with_own, with_tf


def steps_of(outcome):
    """What ``train`` does with its gradients."""
    return body(outcome.text, "train").partition("gvs = opt.compute_gradients(loss)\n")[2]


def steps_of_train(outcome):
    """As :func:`steps_of`, of the file ``train.py`` of a run."""
    return body(outcome.texts["train.py"], "train").partition("compute_gradients(loss)\n")[2]


def same(found, expected):
    wrapped = ["def f():\n" + indent(dedent(text).strip("\n"), "  ") for text in (found, expected)]
    assert code_of(wrapped[0]) == code_of(wrapped[1]), found


# In the training function


@pytest.mark.parametrize("removed", ["comment", "delete"])
@pytest.mark.parametrize("form", sorted(OUTSIDE))
def test_step_that_moves_outside(form, removed):
    given, expected = OUTSIDE[form]
    outcome = left_as_marked(training(given), removed=removed)
    same(steps_of(outcome), expected)
    same(body(outcome.text, "Own"), MOVING_CLASS)
    if removed == "delete":
        assert "#" not in outcome.text


@pytest.mark.parametrize("form", sorted(OUTSIDE))
def test_class_that_moves_the_step_already_is_left(form):
    given, expected = OUTSIDE[form]
    outcome = left_as_marked(training(given, MOVING_CLASS))
    same(body(outcome.text, "Own"), MOVING_CLASS)
    same(steps_of(outcome), expected)
    assert outcome.of("NPU302") == []


@pytest.mark.parametrize("form", sorted(OUTSIDE))
def test_script_without_loss_scaling_keeps_its_step_logic(form):
    given, _ = OUTSIDE[form]
    text = training(given)
    scaling = [line for line in text.splitlines(True) if "mixed_precision" in line]
    plain = text.replace(scaling[0], "").replace(scaling[1], '  opt = Own(False, "own")\n')
    assert untouched(plain).findings == ()


def test_finding_says_what_users_will_notice():
    outcome = migrate(training(OUTSIDE["bert"][0]))
    message = outcome.messages("NPU301")
    assert "max_steps" in message and "learning rate" in message


def test_removed_lines_are_commented_out_as_they_were():
    given = """
        op = opt.apply_gradients(gvs, global_step=gs)

        # The optimizer does not move the step.
        if flag:  # clipped
          # by norm
          new = tf.cond(n, lambda: gs + 1,
                        lambda: gs)

        else:
          new = gs + 1
        op = tf.group(op, [gs.assign(new)])
        return op
        """
    outcome = left_as_marked(training(given))
    expected = """
        op = opt.apply_gradients(gvs, global_step=gs)

        # The optimizer does not move the step.
        # if flag:  # clipped
        #   # by norm
        #   new = tf.cond(n, lambda: gs + 1,
        #                 lambda: gs)
        #
        # else:
        #   new = gs + 1
        # op = tf.group(op, [gs.assign(new)])
        return op
        """
    assert outcome.text.endswith(indent(dedent(expected).strip("\n") + "\n", "  "))


LEFT_TO_A_PERSON = {
    "beside another result": """
        op = opt.apply_gradients(gvs)
        return op, gs.assign_add(1)  #! NPU310
        """,
    "run beside the update": """
        op = opt.apply_gradients(gvs)
        increment = gs.assign_add(1)  #! NPU310
        sess.run([op, increment])
        """,
    "run after the update": """
        op = opt.apply_gradients(gvs)
        increment = gs.assign_add(1)  #! NPU310
        sess.run(op)
        sess.run(increment)
        """,
    "value that something reads": """
        op = opt.apply_gradients(gvs)
        new = gs.assign_add(1)  #! NPU310
        tf.summary.scalar('step', new)
        return tf.group(op, new)
        """,
    "by more than one": """
        op = opt.apply_gradients(gvs)
        return tf.group(op, gs.assign_add(2))  #! NPU310
        """,
    "by what cannot be seen": """
        op = opt.apply_gradients(gvs)
        return tf.group(op, gs.assign_add(n))  #! NPU310
        """,
    "assigned more than one": """
        op = opt.apply_gradients(gvs)
        return tf.group(op, gs.assign(gs + n))  #! NPU310
        """,
    "micro-batches": """
        update = tf.cond(  #! NPU306
            tf.equal(gs % n, n - 1), lambda: opt.apply_gradients(gvs), tf.no_op)
        return tf.group(update, gs.assign_add(1))
        """,
    "micro-batches by a name": """
        last = tf.equal(tf.mod(gs, n), n - 1)
        update = tf.cond(last, lambda: opt.apply_gradients(gvs), tf.no_op)  #! NPU306
        with tf.control_dependencies([update]):
          return tf.assign_add(gs, 1)
        """,
    "made outside of tf.cond": """
        op = opt.apply_gradients(gvs, global_step=gs)
        update = tf.cond(flag, lambda: op, lambda: tf.no_op())  #! NPU307
        return tf.group(update, gs.assign_add(1))
        """,
}


@pytest.mark.parametrize("form", sorted(LEFT_TO_A_PERSON))
def test_step_logic_that_a_person_must_change(form):
    given = LEFT_TO_A_PERSON[form]
    outcome = left_as_marked(training(given))
    same(steps_of(outcome), given)
    same(body(outcome.text, "Own"), OWN_CLASS)
    assert "NPULossScaleOptimizer" in outcome.text


def test_step_of_the_model():
    outcome = left_as_marked(
        with_own("""
        class Model(object):
          def __init__(self):
            self.global_step = tf.Variable(0, trainable=False, name='global_step')

          def build(self, loss):
            self.opt = tf.contrib.mixed_precision.LossScaleOptimizer(
                Own(False, "own"), tf.contrib.mixed_precision.FixedLossScaleManager(8))
            self.train_op = self.opt.apply_gradients(self.opt.compute_gradients(loss))
            self.train_op = tf.group(self.train_op, self.global_step.assign_add(1))
        """)
    )
    build = body(outcome.text, "build")
    assert "apply_gradients(self.opt.compute_gradients(loss), global_step=self.global_s" in build
    assert "assign" not in build
    same(body(outcome.text, "Own"), MOVING_CLASS)


@pytest.mark.parametrize("name", ["global_step", "gs"])
def test_step_that_is_a_variable_of_that_name(name):
    outcome = left_as_marked(
        with_own(f"""
        def build(loss):
          {name} = tf.Variable(0, trainable=False, name='global_step')
          opt = tf.contrib.mixed_precision.LossScaleOptimizer(
              Own(False, "own"), tf.contrib.mixed_precision.FixedLossScaleManager(8))
          op = opt.minimize(loss)
          return tf.group(op, {name}.assign_add(1))
        """)
    )
    build = body(outcome.text, "build")
    assert f"opt.minimize(loss, global_step={name})" in build and "assign" not in build


def test_variable_that_is_no_step_keeps_counting():
    outcome = left_as_marked(
        with_own("""
        def build(loss):
          seen = tf.Variable(0, trainable=False, name='seen')
          opt = tf.contrib.mixed_precision.LossScaleOptimizer(
              Own(False, "own"), tf.contrib.mixed_precision.FixedLossScaleManager(8))
          op = opt.minimize(loss)
          return tf.group(op, seen.assign_add(1))
        """)
    )
    assert "return tf.group(op, seen.assign_add(1))" in outcome.text
    same(body(outcome.text, "Own"), OWN_CLASS)


def test_step_logic_on_the_condition_that_chose_the_optimizer():
    outcome = left_as_marked(
        with_own("""
        def build(loss, decay, rate):
          step = tf.train.get_or_create_global_step()
          if decay == 0:
            opt = tf.train.AdamOptimizer(rate)
          elif decay > 0:
            opt = Own(False, "own")
          else:
            raise ValueError("decay")
          m = tf.contrib.mixed_precision.FixedLossScaleManager(8)
          opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, m)
          gradients, variables = zip(*opt.compute_gradients(loss))
          op = opt.apply_gradients(zip(gradients, variables), global_step=step)
          # Adam moves the step itself.
          if decay > 0:
            new = step + 1
            op = tf.group(op, [step.assign(new)])
          return op, rate
        """)
    )
    end = body(outcome.text, "build").splitlines()[-2:]
    assert end == [
        "  op = opt.apply_gradients(list(zip(gradients, variables)), global_step=step)",
        "  return op, rate",
    ]
    same(body(outcome.text, "Own"), MOVING_CLASS)


def test_value_that_a_loop_fetched_is_named_in_the_finding():
    outcome = migrate(
        training("""
        op = opt.apply_gradients(gvs)
        with tf.control_dependencies([op]):
          op = tf.assign_add(gs, 1)
        while True:
          if sess.run(op) > n:
            break
        """)
    )
    assert "no longer returns the step" in outcome.messages()


# The name that hooks fetch


HOOK = """
import tensorflow as tf


class Report(tf.train.SessionRunHook):
  def before_run(self, run_context):
    return tf.estimator.SessionRunArgs(fetches=['step_update:0', 'loss:0'])
"""


@pytest.mark.parametrize(
    "reader",
    [
        HOOK,
        "def report(sess):\n  return sess.run('step_update:0')\n",
        "def report(graph):\n  return graph.get_tensor_by_name('step_update:0')\n",
    ],
)
def test_name_that_another_file_fetches_stays_fetchable(reader):
    given, _ = OUTSIDE["bert with if and else"]
    outcome = migrate({"train.py": training(given), "hooks.py": reader})
    expected = """
        op = opt.apply_gradients(gvs, global_step=gs)
        with tf.control_dependencies([op]):
          step_update = tf.identity(gs.read_value(), name='step_update')
        op = tf.group(op, step_update)
        return op
        """
    assert outcome.left == [] and outcome.texts["hooks.py"] == reader
    steps = steps_of_train(outcome)
    same(steps, expected)


def test_name_stays_fetchable_outside_of_every_cond():
    outcome = migrate(
        {
            "train.py": training("""
                def update():
                  return opt.apply_gradients(gvs, global_step=gs)

                update_op = tf.cond(flag, update, lambda: tf.no_op())
                new = tf.cond(flag, lambda: gs + 1, lambda: gs)
                new = tf.identity(new, name='step_update')
                op = tf.group(update_op, [gs.assign(new)])
                return op
                """),
            "hooks.py": HOOK,
        }
    )
    steps = steps_of_train(outcome)
    lines = [line for line in steps.splitlines() if line.startswith("  ")]
    assert "  with tf.control_dependencies([op]):" in lines or (
        "  with tf.control_dependencies([update_op]):" in lines
    )
    assert "    step_update = tf.identity(gs.read_value(), name='step_update')" in lines
    assert lines.index("    step_update = tf.identity(gs.read_value(), name='step_update')") > (
        lines.index("  update_op = tf.cond(flag, update, lambda: tf.no_op())")
    )
    assert "  return op" in lines and "assign" not in steps


def test_name_that_the_function_returns_too_is_made_once():
    outcome = migrate(
        {
            "train.py": training("""
                op = opt.apply_gradients(gvs, global_step=gs)
                new = tf.identity(gs + 1, name='step_update')
                op = tf.group(op, [gs.assign(new)])
                return op, new
                """),
            "hooks.py": HOOK,
        }
    )
    text = outcome.texts["train.py"].replace('"', "'")
    made = [n for n in text.splitlines() if "name='step_update'" in n and "#" not in n]
    assert len(made) == 1
    moves = body(outcome.texts["train.py"], "Own").count("assign_add(global_step, 1)")
    assert moves + steps_of_train(outcome).count("gs.assign(") == 1


@pytest.mark.parametrize("reader", ["tf.summary.scalar('next', new)", "sess.run([op, new])"])
def test_next_step_that_something_else_reads_is_reported(reader):
    outcome = left_as_marked(
        training(f"""
        op = opt.apply_gradients(gvs, global_step=gs)
        new = gs + 1
        op = tf.group(op, [gs.assign(new)])
        {reader}  #! NPU315
        return op
        """)
    )
    assert outcome.messages("NPU315").startswith("new ")


def test_towers_of_one_run_move_the_step_once():
    text = training("""
        ops = []
        for tower in loss:
          ops.append(opt.minimize(tower, global_step=gs))
        ops.append(gs.assign_add(1))
        return tf.group(*ops)
        """)
    outcome = migrate(text)
    moves = "assign_add(global_step, 1)" in body(outcome.text, "Own")
    assert not moves or "minimize(tower, global_step=gs)" not in outcome.text
    assert [code[:4] for _, code in outcome.left] == ["NPU3"]


# In the class


def class_becomes(given, expected, use="opt.minimize(loss, global_step=gs)"):
    text = with_tf(
        dedent(given)
        + f"""

def train(loss, flag):
  gs = tf.train.get_or_create_global_step()
  opt = Own(False, "own")
  opt = tf.contrib.mixed_precision.LossScaleOptimizer(
      opt, tf.contrib.mixed_precision.FixedLossScaleManager(8))
  op = {use}
  return tf.group(op, gs.assign_add(1))
"""
    )
    outcome = left_as_marked(text)
    same(body(outcome.text, "Own"), expected)
    assert "return op" in body(outcome.text, "train")
    return outcome


@pytest.mark.parametrize("form", sorted(CLASSES))
def test_class_that_leaves_the_step(form):
    class_becomes(*CLASSES[form])


def test_update_of_another_kind_comes_before_the_step():
    given = """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            ops = [v.assign_sub(g) for g, v in grads_and_vars]
            with tf.control_dependencies(ops):
              return tf.no_op(name=name)
        """
    outcome = migrate(training(OUTSIDE["assign_add"][0], dedent(given)))
    moved = body(outcome.text, "Own")
    assert "assign_add(global_step, 1)" in moved and "if global_step is not None:" in moved
    assert moved.index("v.assign_sub") < moved.index("assign_add(global_step, 1)")


def test_list_that_is_returned_becomes_an_operation():
    given = """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            return [v.assign_sub(g) for g, v in grads_and_vars]
        """
    outcome = migrate(training(OUTSIDE["assign_add"][0], dedent(given)))
    expected = """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            update_op = tf.group(*[v.assign_sub(g) for g, v in grads_and_vars])
            if global_step is not None:
              with tf.control_dependencies([update_op]):
                update_op = tf.group(tf.assign_add(global_step, 1))
            return update_op
        """
    same(body(outcome.text, "Own"), expected)


def test_class_that_takes_no_step_is_reported_and_the_rest_is_done():
    given = """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, *args, **kwargs):
            ops = [v.assign_sub(g) for g, v in grads_and_vars]
            return tf.group(*ops)
        """
    outcome = migrate(training(OUTSIDE["assign_add"][0], dedent(given)))
    assert [code[:4] for _, code in outcome.left] == ["NPU3"]
    assert "Own" in outcome.messages() and "NPULossScaleOptimizer(" in outcome.text
    same(steps_of(outcome), OUTSIDE["assign_add"][0])


def test_reading_class_is_named():
    given, _ = CLASSES["step that is required and used"]
    outcome = migrate(training(OUTSIDE["assign_add"][0], dedent(given)))
    (finding,) = outcome.of("NPU303")
    assert "Own" in finding.message and finding.line == 5


@pytest.mark.parametrize("getter", ["get_or_create_global_step", "get_global_step"])
def test_class_that_reads_the_step_elsewhere(getter):
    given = f"""
        class Own(tf.train.Optimizer):
          def __init__(self, flag, name):
            super(Own, self).__init__(flag, name)
            self.steps = tf.cast(tf.train.{getter}(), tf.float32)

          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            ops = [v.assign_sub(g / (1 - 0.9 ** self.steps)) for g, v in grads_and_vars]
            return tf.group(*ops, name=name)
        """
    outcome = migrate(training(OUTSIDE["assign_add"][0], dedent(given)))
    assert outcome.of("NPU303") or outcome.left


def test_reading_class_of_a_step_that_moved_in_order_already():
    given = """
        class Own(tf.train.Optimizer):
          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            steps = tf.cast(global_step + 1, tf.float32)
            ops = [v.assign_sub(g / (1 - 0.9 ** steps)) for g, v in grads_and_vars]
            return tf.group(*ops, name=name)
        """
    outcome = migrate(training(OUTSIDE["control_dependencies"][0], dedent(given)))
    assert "tf.cast(global_step + 1, tf.float32)" in outcome.text


DELEGATING = {
    "wrapper": """
        class Own(tf.train.Optimizer):
          def __init__(self, flag, name):
            super(Own, self).__init__(flag, name)
            self._inner = Inner(flag, name)

          def apply_gradients(self, *args, **kwargs):
            return self._inner.apply_gradients(*args, **kwargs)
        """,
    "super with the step": """
        class Own(Inner):
          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            return super(Own, self).apply_gradients(list(grads_and_vars), global_step, name)
        """,
    "super with everything": """
        class Own(Inner):
          def apply_gradients(self, grads_and_vars, *args, **kwargs):
            return super(Own, self).apply_gradients(list(grads_and_vars), *args, **kwargs)
        """,
    "super of Python 3": """
        class Own(Inner):
          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)
        """,
    "nothing overridden": """
        class Own(Inner):
          pass
        """,
}


@pytest.mark.parametrize("form", sorted(DELEGATING))
def test_class_that_hands_the_step_on(form):
    inner = OWN_CLASS.replace("Own", "Inner")
    given = dedent(DELEGATING[form])
    outcome = left_as_marked(training(OUTSIDE["assign_add"][0], inner + "\n\n" + given))
    same(body(outcome.text, "Own"), given)
    same(body(outcome.text, "Inner"), MOVING_CLASS.replace("Own", "Inner"))
    same(steps_of(outcome), OUTSIDE["assign_add"][1])


@pytest.mark.parametrize("form", sorted(DELEGATING))
def test_class_that_hands_the_step_to_one_that_moves_it(form):
    given = dedent(DELEGATING[form]).replace("Inner(flag, name)", "tf.train.AdamOptimizer()")
    given = given.replace("(Inner)", "(tf.train.AdamOptimizer)")
    outcome = left_as_marked(training(OUTSIDE["assign_add"][0], given))
    same(body(outcome.text, "Own"), given)
    same(steps_of(outcome), OUTSIDE["assign_add"][1])
    assert "twice" in outcome.messages("NPU305")


def test_class_that_keeps_the_step_from_its_base():
    given = """
        class Own(tf.train.AdamOptimizer):
          def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            return super(Own, self).apply_gradients(grads_and_vars, name=name)
        """
    outcome = left_as_marked(training(OUTSIDE["assign_add"][0], dedent(given)))
    moved = body(outcome.text, "Own")
    assert moved.count("assign_add(global_step, 1)") + moved.count("global_step=global_step") == 1
    same(steps_of(outcome), OUTSIDE["assign_add"][1])


@pytest.mark.parametrize("hook", ["_apply_dense", "_resource_apply_dense"])
def test_class_that_overrides_only_the_hooks_of_a_variable(hook):
    given = f"""
        class Own(tf.train.Optimizer):
          def {hook}(self, grad, var):
            return var.assign_sub(0.1 * grad)
        """
    outcome = left_as_marked(training(OUTSIDE["assign_add"][0], dedent(given)))
    same(body(outcome.text, "Own"), given)
    same(steps_of(outcome), OUTSIDE["assign_add"][1])
    (finding,) = outcome.of("NPU305")
    assert "twice" in finding.message


def test_built_in_optimizer_needs_nothing():
    outcome = left_as_marked(
        with_tf("""
        def build(loss):
          step = tf.train.get_or_create_global_step()
          opt = tf.train.MomentumOptimizer(0.1, 0.9)
          opt = tf.contrib.mixed_precision.LossScaleOptimizer(
              opt, tf.contrib.mixed_precision.FixedLossScaleManager(8))
          return opt.minimize(loss, global_step=step)
        """)
    )
    assert not [f for f in outcome.findings if f.code.startswith("NPU3")]


def test_step_moved_by_the_lines_of_the_guide_is_left():
    given = OWN_CLASS.replace(
        "  return",
        "  new_global_step = global_step + 1\n"
        "    new_global_step = tf.identity(new_global_step, name='step_update')\n"
        "    ops.extend([global_step.assign(new_global_step)])\n"
        "    return",
    )
    outcome = left_as_marked(training("return opt.minimize(loss, global_step=gs)", given))
    same(body(outcome.text, "Own"), given)


# Several modules


MODULES = {
    "pkg/__init__.py": "",
    "pkg/optim/__init__.py": "from .own import Own\n",
    "pkg/optim/own.py": with_tf(OWN_CLASS),
    "pkg/scale.py": """
        from tensorflow.contrib.mixed_precision import FixedLossScaleManager, LossScaleOptimizer

        def wrap(opt):
          return LossScaleOptimizer(opt, FixedLossScaleManager(8))
        """,
    "pkg/train.py": """
        import tensorflow as tf
        from . import optim
        from .scale import wrap

        def train(loss):
          gs = tf.train.get_or_create_global_step()
          opt = wrap(optim.Own(False, "own"))
          op = opt.minimize(loss, global_step=gs)
          return tf.group(op, gs.assign_add(1))
        """,
}


def test_class_scaling_and_step_in_different_modules():
    outcome = migrate(MODULES)
    assert outcome.left == []
    same(body(outcome.texts["pkg/optim/own.py"], "Own"), MOVING_CLASS)
    assert "assign" not in body(outcome.texts["pkg/train.py"], "train")


@pytest.mark.parametrize(
    "plain",
    [
        """
        import tensorflow as tf
        import pkg.optim

        def train(loss):
          gs = tf.train.get_or_create_global_step()
          op = pkg.optim.Own(False, "own").minimize(loss, global_step=gs)
          return tf.group(op, gs.assign_add(1))
        """,
        """
        import tensorflow as tf
        from pkg.optim.own import Own as Descent

        def train(loss):
          gs = tf.train.get_or_create_global_step()
          op = Descent(False, "own").minimize(loss, global_step=gs)
          return tf.group(op, gs.assign_add(1))
        """,
    ],
)
def test_script_without_loss_scaling_that_shares_the_class(plain):
    outcome = migrate(dict(MODULES, **{"plain.py": plain}))
    assert outcome.left == []
    train = body(outcome.texts["plain.py"], "train")
    assert "assign" not in train and "return op" in train


def test_script_without_loss_scaling_and_a_class_of_its_own():
    plain = training(OUTSIDE["assign_add"][0]).splitlines(True)
    plain = "".join(line for line in plain if "mixed_precision" not in line)
    plain = plain.replace("  gvs =", '  opt = Own(False, "other")\n  gvs =')
    outcome = migrate(dict(MODULES, **{"plain.py": plain}))
    assert outcome.texts["plain.py"] == plain


def test_classes_that_are_not_in_the_run_are_named():
    outcome = left_as_marked(
        with_tf("""
        from third_party.lamb import Lamb
        from third_party import adamw as aw

        def train(loss, kind):
          gs = tf.train.get_or_create_global_step()
          opt = Lamb(0.1) if kind else aw.AdamW(0.1)
          opt = tf.contrib.mixed_precision.LossScaleOptimizer(
              opt, tf.contrib.mixed_precision.FixedLossScaleManager(8))
          op = opt.minimize(loss, global_step=gs)
          return tf.group(op, gs.assign_add(1))  #! NPU308
        """)
    )
    message = outcome.messages("NPU308")
    assert "third_party.lamb.Lamb" in message and "third_party.adamw.AdamW" in message
    assert "return tf.group(op, gs.assign_add(1))" in outcome.text


def test_optimizer_from_a_factory():
    outcome = left_as_marked(
        with_own("""
        def make(kind):
          if kind == 'own':
            return Own(False, 'own')
          return tf.train.AdamOptimizer()

        def build(loss, kind):
          gs = tf.train.get_or_create_global_step()
          opt = make(kind)
          opt = tf.contrib.mixed_precision.LossScaleOptimizer(
              opt, tf.contrib.mixed_precision.FixedLossScaleManager(8))
          op = opt.minimize(loss, global_step=gs)
          if kind == 'own':
            op = tf.group(op, gs.assign_add(1))
          return op
        """)
    )
    same(body(outcome.text, "Own"), MOVING_CLASS)
    assert "assign" not in body(outcome.text, "build")


def test_loss_scaling_under_a_flag_moves_the_step_on_both_paths():
    outcome = left_as_marked(
        with_own("""
        def build(loss, fp16):
          gs = tf.train.get_or_create_global_step()
          opt = Own(False, 'own')
          if fp16:
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(
                opt, tf.contrib.mixed_precision.FixedLossScaleManager(8))
          op = opt.minimize(loss, global_step=gs)
          return tf.group(op, gs.assign_add(1))
        """)
    )
    same(body(outcome.text, "Own"), MOVING_CLASS)
    assert body(outcome.text, "build").endswith("  return op\n")


def test_helper_that_serves_scaled_and_plain_optimizers():
    outcome = left_as_marked(
        with_own("""
        def step(opt, loss):
          gs = tf.train.get_or_create_global_step()
          op = opt.apply_gradients(opt.compute_gradients(loss))
          return tf.group(op, gs.assign_add(1))

        def plain(loss):
          return step(Own(False, 'own'), loss)

        def scaled(loss):
          m = tf.contrib.mixed_precision.FixedLossScaleManager(8)
          return step(tf.contrib.mixed_precision.LossScaleOptimizer(Own(False, 'own'), m), loss)
        """)
    )
    helper = body(outcome.text, "step")
    assert "apply_gradients(opt.compute_gradients(loss), global_step=gs)" in helper
    assert helper.endswith("  return op\n")
    same(body(outcome.text, "Own"), MOVING_CLASS)


def test_step_that_hides_a_parameter_is_still_bound():
    given = OUTSIDE["inside of a lambda of tf.cond"][0]
    text = training(given).replace("flag, n):", "flag, n, gs=None):")
    outcome = left_as_marked(text)
    assert "  gs = tf.train.get_or_create_global_step()" in outcome.text.splitlines()


ACCUMULATION = {
    "run.py": """
        import tensorflow as tf
        import horovod.tensorflow as hvd
        from optimization import create

        def main(loss, several):
          return create(loss, 4, hvd if several else None, fp16=True)
        """,
    "hooks.py": "def report(session):\n  return session.run(['step_update:0', 'loss:0'])\n",
    "optimization.py": with_own("""
        def create(loss, n, hvd=None, fp16=False):
          gs = tf.train.get_or_create_global_step()
          opt = Own(False, 'own')
          if hvd is not None and n == 1:
            opt = hvd.DistributedOptimizer(opt, sparse_as_dense=True)
          if fp16:
            m = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(2 ** 32, 1000)
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, m)
          gvs = opt.compute_gradients(loss / n)
          grads, tvars = zip(*gvs)
          if n > 1:
            local = tf.get_variable('local', [], tf.int32, initializer=tf.zeros_initializer)
            good = tf.get_variable('good', [], tf.bool, initializer=tf.ones_initializer)
            reset = tf.equal(local % n, 0)
            local = tf.cond(reset, lambda: local.assign(1), lambda: local.assign_add(1))
            finite = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g in grads])
            good = tf.cond(reset, lambda: good.assign(tf.logical_and(True, finite)),
                           lambda: good.assign(tf.logical_and(good, finite)))
            clipped, _ = tf.clip_by_global_norm(grads, 1.0, use_norm=tf.cond(
                finite, lambda: tf.global_norm(grads), lambda: tf.constant(1.0)))
            sums = [tf.get_variable('sum%d' % i, shape=v.shape) for i, v in enumerate(tvars)]
            sums = tf.cond(reset, lambda: [s.assign(g) for s, g in zip(sums, clipped)],
                           lambda: [s.assign_add(g) for s, g in zip(sums, clipped)])

            def update():
              means = [hvd.allreduce(s) for s in sums] if hvd is not None else sums
              return opt.apply_gradients(list(zip(means, tvars)), global_step=gs)

            ready = tf.equal(local % n, 0)
            update_op = tf.cond(ready, update, lambda: tf.no_op())
            moved = tf.cond(
                tf.logical_and(ready, tf.cast(hvd.allreduce(tf.cast(good, tf.int32)), tf.bool)
                               if hvd is not None else good),
                lambda: gs + 1, lambda: gs)
            moved = tf.identity(moved, name='step_update')
            op = tf.group(update_op, [gs.assign(moved)])
          else:
            op = opt.apply_gradients(list(zip(grads, tvars)), global_step=gs)
            moved = tf.identity(gs + 1, name='step_update')
            op = tf.group(op, [gs.assign(moved)])
          return op
        """),
}


def test_accumulation_with_horovod_as_a_value():
    outcome = migrate(ACCUMULATION)
    expected = """
        def create(loss, n, hvd=None, fp16=False):
          gs = tf.train.get_or_create_global_step()
          opt = Own(False, 'own')
          if hvd is not None and n == 1:
            opt = NPUDistributedOptimizer(opt)
          if fp16:
            m = ExponentialUpdateLossScaleManager(2 ** 32, 1000)
            opt = NPULossScaleOptimizer(opt, m, is_distributed=ops_adapter.size() > 1)
          gvs = opt.compute_gradients(loss / n)
          grads, tvars = zip(*gvs)
          if n > 1:
            local = tf.get_variable('local', [], tf.int32, initializer=tf.zeros_initializer)
            reset = tf.equal(local % n, 0)
            local = tf.cond(reset, lambda: local.assign(1), lambda: local.assign_add(1))
            clipped, _ = tf.clip_by_global_norm(grads, 1.0, use_norm=tf.global_norm(grads))
            sums = [tf.get_variable('sum%d' % i, shape=v.shape) for i, v in enumerate(tvars)]
            sums = tf.cond(reset, lambda: [s.assign(g) for s, g in zip(sums, clipped)],
                           lambda: [s.assign_add(g) for s, g in zip(sums, clipped)])

            def update():
              means = [hvd.allreduce(s) for s in sums] if hvd is not None else sums
              return opt.apply_gradients(list(zip(means, tvars)), global_step=gs)

            ready = tf.equal(local % n, 0)
            update_op = tf.cond(ready, update, lambda: tf.no_op())
            op = update_op
            with tf.control_dependencies([op]):
              step_update = tf.identity(gs.read_value(), name='step_update')
            op = tf.group(op, step_update)
          else:
            op = opt.apply_gradients(list(zip(grads, tvars)), global_step=gs)
            with tf.control_dependencies([op]):
              step_update = tf.identity(gs.read_value(), name='step_update')
            op = tf.group(op, step_update)
          return op
        """
    assert outcome.left == []
    same(body(outcome.texts["optimization.py"], "create"), expected)
    same(body(outcome.texts["optimization.py"], "Own"), MOVING_CLASS)
    assert outcome.texts["hooks.py"] == ACCUMULATION["hooks.py"]
    assert "from npu_migrate.runtime import ops_adapter as hvd" in outcome.texts["run.py"]
