"""Original and migrated scripts, trained side by side on the stand-in for the NPU.

Same weights, the same loss scale, a step for each update that is applied, and neither on overflow;
with the variables that TensorFlow makes by default and with resource variables, which show races.
"""

import functools
import importlib
import json
import os
import pathlib
import subprocess
import sys
import types
from textwrap import dedent

import pytest

tf = pytest.importorskip("tensorflow", reason="needs TensorFlow 1.15, and so Python 3.7")
if not tf.__version__.startswith("1.15."):
    pytest.skip("needs TensorFlow 1.15", allow_module_level=True)
np = pytest.importorskip("numpy")

from step_forms import CLASSES, MOVING_CLASS, OUTSIDE, training  # noqa: E402
from support import migrate  # noqa: E402

pytestmark = pytest.mark.usefixtures("bridge")

CASES = pathlib.Path(__file__).parent / "cases"
ROOT = pathlib.Path(__file__).resolve().parents[2]
INF, NAN = float("inf"), float("nan")
RESOURCE = pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])


@pytest.fixture(autouse=True)
def precision():
    """The graph rewrite of an original holds for the process: off again after each test."""
    yield
    tf.train.experimental.disable_mixed_precision_graph_rewrite()


@pytest.fixture(params=["saturation", "inf_nan"])
def overflow_mode(request, monkeypatch):
    """Both ways in which NPUs overflow."""
    monkeypatch.setenv("NPU_MIGRATE_OVERFLOW_MODE", request.param)


def load(text, name="script", **given):
    """The script as a module, executed; ``given`` are names that it expects."""
    module = types.ModuleType(name)
    module.__dict__.update(given)
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def case(name, kind, **given):
    return load((CASES / f"{name}.{kind}.py").read_text(encoding="utf-8"), **given)


class Model:
    """Three variables, and a loss whose gradient is fed: twice the weights times ``factor``."""

    def __init__(self, resource):
        self.graph = tf.Graph()
        with self.graph.as_default():
            tf.get_variable_scope().set_use_resource(resource)
            tf.set_random_seed(1)
            self.factor = tf.placeholder(tf.float32, [])
            self.weights = [
                tf.get_variable(f"w{n}", initializer=[1.0 + n, 2.0, -3.0]) for n in range(3)
            ]
            self.loss = self.factor * tf.add_n([tf.reduce_sum(w * w) for w in self.weights])

    def train(self, build, factors, watch=lambda: tf.constant(0.0)):
        """Weights, step and what ``watch`` gives before training and after each factor."""
        with self.graph.as_default():
            op = build(self.loss)
            op = getattr(op, "train_op", op)
            op = op[0] if isinstance(op, tuple) else op
            step = tf.train.get_or_create_global_step()
            watched = watch()
            states = []
            one_thread = tf.ConfigProto(inter_op_parallelism_threads=1)
            with tf.Session(config=one_thread) as session:
                session.run(tf.global_variables_initializer())
                for factor in [None, *factors]:
                    if factor is not None:
                        session.run(op, {self.factor: factor})
                    weights, at, seen = session.run([self.weights, step, watched])
                    states.append((np.concatenate(weights).tolist(), int(at), float(seen)))
            return states


def trained(build, factors, resource=False, **watching):
    return Model(resource).train(build, factors, **watching)


def weights_of(states):
    return [state[0] for state in states]


def steps_of(states):
    return [state[1] for state in states]


def seen_of(states):
    return [state[2] for state in states]


def assert_same(left, right):
    np.testing.assert_allclose(weights_of(left), weights_of(right), rtol=1e-6)


def assert_skipped_on_overflow(build, resource, finite):
    """Overflows change neither weights nor step, wherever they come."""
    factors = [INF, 1.0, NAN, 1.0, -INF, 1.0]
    states = trained(build, factors, resource)
    assert steps_of(states) == [0, 0, 1, 1, 2, 2, 3]
    assert weights_of(states)[1::2] == weights_of(states)[:-1:2]
    assert_same(states[::2], finite)


# The cases


@pytest.mark.parametrize("scale", [0, 128], ids=["dynamic", "fixed"])
def test_guide(scale):
    flags = types.SimpleNamespace(use_fp16=True, bert_loss_scale=scale)

    def build(kind):
        def train(loss):
            opt = tf.train.MomentumOptimizer(0.01, 0.9)
            script = case("guide_loss_scaling", kind, FLAGS=flags, opt=opt)
            return script.opt.minimize(loss, tf.train.get_or_create_global_step())

        return train

    factors = [1.0, INF, 1.0, 1.0]
    before, after = trained(build("in"), factors), trained(build("out"), factors)
    assert_same(before, after)
    assert steps_of(before) == steps_of(after) == [0, 1, 1, 2, 3]


@RESOURCE
@pytest.mark.parametrize("clip", [False, True])
def test_global_step(clip, resource, overflow_mode):
    def build(kind):
        return lambda loss: case("global_step", kind).build_train_op(loss, 0.01, clip, 8.0)

    before = trained(build("in"), [1.0] * 3, resource)
    after = trained(build("out"), [1.0] * 3, resource)
    assert_same(before, after)
    assert steps_of(before) == steps_of(after) == [0, 1, 2, 3]
    assert_skipped_on_overflow(build("out"), resource, after)


@pytest.mark.parametrize("function", ["a", "b", "c", "d"])
def test_managers(function, overflow_mode):
    def observed(kind):
        made = []

        def build(loss):
            opt = getattr(case("import_forms", kind), function)(tf.train.AdamOptimizer(0.1))
            made.append(opt)
            return opt.minimize(loss, tf.train.get_or_create_global_step())

        def scale():
            opt = made[0]
            if hasattr(opt, "_loss_scale_manager"):
                return opt._loss_scale_manager.get_loss_scale() + 0.0
            return opt._loss_scale() + 0.0

        return trained(build, [1.0, INF, 1.0, INF, INF, 1.0], watch=scale)

    before, after = observed("in"), observed("out")
    assert_same(before, after)
    assert steps_of(before) == steps_of(after) == [0, 1, 1, 2, 2, 2, 3]
    assert seen_of(before) == seen_of(after)


@RESOURCE
def test_graph_rewrite(resource, overflow_mode):
    def observed(kind):
        made = []

        def build(loss):
            opt = tf.train.MomentumOptimizer(0.01, 0.9)
            opt, scale = case("graph_rewrite", kind).create(opt, True, 2.0**10)
            made.append(scale)
            return opt.minimize(loss, tf.train.get_or_create_global_step())

        return trained(build, [1.0, INF, INF, 1.0], resource, watch=lambda: made[0])

    before, after = observed("in"), observed("out")
    assert_same(before, after)
    assert steps_of(before) == steps_of(after) == [0, 1, 1, 1, 2]
    assert seen_of(before) == seen_of(after) == [1024.0, 1024.0, 512.0, 256.0, 256.0]


def test_fixed_scale_is_stricter_than_it_was():
    def build(kind):
        def train(loss):
            opt = case("graph_rewrite", kind).fixed(tf.train.GradientDescentOptimizer(0.01))
            return opt.minimize(loss, tf.train.get_or_create_global_step())

        return train

    before, after = trained(build("in"), [1.0, INF]), trained(build("out"), [1.0, INF, 1.0])
    assert_same(before[:2], after[:2])
    assert steps_of(before) == [0, 1, 2] and not np.isfinite(weights_of(before)[2]).any()
    assert steps_of(after) == [0, 1, 1, 2] and np.isfinite(weights_of(after)).all()


@RESOURCE
@pytest.mark.parametrize("kind_of_optimizer", ["lamb", "adam"])
def test_two_modules(kind_of_optimizer, resource, overflow_mode, monkeypatch):
    def build(kind):
        monkeypatch.setitem(sys.modules, "lamb", case("two_modules/lamb", kind))
        module = case("two_modules/optimization", kind)
        return lambda loss: module.create(loss, 0.01, kind_of_optimizer)

    original, migrated = build("in"), build("out")
    before = trained(original, [1.0] * 3, resource)
    again = trained(original, [1.0] * 3, resource)
    after = trained(migrated, [1.0] * 3, resource)
    assert steps_of(before) == steps_of(after) == [0, 1, 2, 3]
    if kind_of_optimizer == "adam":
        assert_same(before, after)
    else:  # the original reads the step before or after it moves, the result always after
        expected = [np.array(weights_of(after)[0])]
        for step in range(1, 4):
            expected.append(expected[-1] - 0.01 * 2 * expected[-1] / (1.0 + step))
        np.testing.assert_allclose(weights_of(after), expected, rtol=1e-5)
        if before == again and np.allclose(weights_of(before)[1], expected[1], rtol=1e-5):
            assert_same(before, after)
    assert_skipped_on_overflow(migrated, resource, after)


@pytest.mark.parametrize(
    "function, resource",
    [
        ("counted_twice", False),  # has no update for resource variables
        ("in_control_dependencies", False),
        ("in_control_dependencies", True),
        ("nothing_to_do", False),
        ("nothing_to_do", True),
        ("no_loss_scaling", False),
        ("no_loss_scaling", True),
    ],
)
def test_step_forms(function, resource):
    def build(kind):
        def train(loss):
            step = tf.train.get_or_create_global_step()
            module = case("step_forms", kind)
            if function != "in_control_dependencies":
                return getattr(module, function)(loss, step)
            model = types.SimpleNamespace(global_step=step)
            module.in_control_dependencies(model, loss)
            return model.train_op

        return train

    before = trained(build("in"), [0.1] * 3, resource)
    after = trained(build("out"), [0.1] * 3, resource)
    assert_same(before, after)
    assert steps_of(after) == [0, 1, 2, 3]
    if function != "counted_twice":
        assert steps_of(before) == [0, 1, 2, 3]
    if function != "no_loss_scaling":
        finite = trained(build("out"), [1.0] * 3, resource)
        assert_skipped_on_overflow(build("out"), resource, finite)


# Every form of the step


def arguments_for(form):
    """What a form takes for ``flag`` and ``n``: conditions of Python or of the graph."""
    if form == "in an EstimatorSpec":
        return None, "train"
    if form == "tf.group with others and a name":
        return tf.no_op(), None
    if "tf.cond" in form or form == "tf.group of another op":
        return tf.constant(True), None
    return True, tf.constant(True)


def trainer(text, form):
    script = load(text)
    return lambda loss: script.train(loss, None, *arguments_for(form))


@functools.lru_cache(maxsize=None)
def trained_as_it_was(text, form):
    return trained(trainer(text, form), [1.0] * 3)


def assert_migrates_to_the_same(text, resource, form=""):
    migrated = trainer(migrate(text).text, form)
    assert_skipped_on_overflow(migrated, resource, trained_as_it_was(text, form))


@RESOURCE
@pytest.mark.parametrize("form", sorted(OUTSIDE))
def test_step_moves_once_for_each_applied_step(form, resource):
    assert_migrates_to_the_same(training(OUTSIDE[form][0]), resource, form)


NOT_COMPARED = {
    "step that is required and used",  # the original divides by zero or not, as the race goes
    "step under another name",  # the optimizer of tf.contrib can't call it
}


@RESOURCE
@pytest.mark.parametrize("form", sorted(set(CLASSES) - NOT_COMPARED))
def test_class_moves_the_step_once(form, resource):
    given = dedent(CLASSES[form][0])
    if "self.quiet" in given:
        given = given.replace("self.quiet", "len(ops) < 3")
    assert_migrates_to_the_same(training(OUTSIDE["assign_add"][0], given), resource)


@RESOURCE
def test_class_that_ends_in_another_operation(resource):
    given = """
class Own(tf.train.Optimizer):
  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    ops = [v.assign_sub(0.1 * g) for g, v in grads_and_vars]
    with tf.control_dependencies(ops):
      return tf.no_op(name=name)
"""
    assert_migrates_to_the_same(training(OUTSIDE["assign_add"][0], given), resource)


@RESOURCE
def test_class_that_returns_a_list_returns_an_operation(resource):
    given = """
class Own(tf.train.Optimizer):
  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    return [v.assign_sub(0.1 * g) for g, v in grads_and_vars]
"""
    script = load(migrate(training(OUTSIDE["assign_add"][0], given)).text)
    states = trained(lambda loss: script.train(loss, None, True, None), [1.0, INF, 1.0], resource)
    assert steps_of(states) == [0, 1, 1, 2]
    assert weights_of(states)[1] == weights_of(states)[2] != weights_of(states)[3]


@RESOURCE
def test_class_that_divides_by_its_step_reads_one_at_first(resource):
    given = dedent(CLASSES["step that is required and used"][0])
    script = load(migrate(training(OUTSIDE["assign_add"][0], given)).text)
    states = trained(lambda loss: script.train(loss, None, True, None), [0.01, 0.01], resource)
    assert steps_of(states) == [0, 1, 2]
    first = np.array(weights_of(states)[0])
    expected = first - 0.02 * first / (1 - 0.9)
    np.testing.assert_allclose(weights_of(states)[1], expected, rtol=1e-4)


@RESOURCE
def test_name_that_a_hook_fetches_is_the_step_after_the_update(resource):
    reader = "def report(session):\n  return session.run('step_update:0')\n"
    files = {"train.py": training(OUTSIDE["bert"][0]), "hooks.py": reader}
    text = migrate(files).texts["train.py"]
    model = Model(resource)
    with model.graph.as_default():
        op = load(text).train(model.loss, None, True, None)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            seen = [
                int(session.run([op, "step_update:0"], {model.factor: factor})[1])
                for factor in (1.0, INF, 1.0, 1.0)
            ]
    assert seen == [1, 1, 2, 3]


def test_gradients_in_a_zip_reach_the_weights():
    text = training(
        """
        grads, tvars = zip(*gvs)
        op = opt.apply_gradients(zip(grads, tvars), global_step=gs)
        return op
        """,
        MOVING_CLASS,
    )
    script = load(migrate(text).text)
    states = trained(lambda loss: script.train(loss, None, True, None), [1.0, 1.0])
    assert steps_of(states) == [0, 1, 2]
    assert weights_of(states)[0] != weights_of(states)[1] != weights_of(states)[2]


def test_manager_lifted_out_of_control_dependencies_can_be_initialized():
    text = """
import tensorflow as tf
mp = tf.contrib.mixed_precision


def build(loss, update):
    with tf.control_dependencies([update]):
        opt = mp.LossScaleOptimizer(
            tf.train.GradientDescentOptimizer(0.1), mp.ExponentialUpdateLossScaleManager(8., 100))
        return opt.minimize(loss, tf.train.get_or_create_global_step())
"""
    fed = []

    def build(script):
        def train(loss):
            needs_a_value = tf.placeholder_with_default(tf.constant(1.0), [])
            fed.append(needs_a_value)
            never_ready = tf.Variable(needs_a_value, name="late", collections=[])
            with tf.control_dependencies(None):
                ready = tf.group(never_ready.initializer)
            with tf.control_dependencies([ready]):
                update = tf.identity(never_ready.read_value())
            return script.build(loss, update)

        return train

    states = trained(build(load(migrate(text).text)), [1.0, 1.0])
    assert steps_of(states) == [0, 1, 2]


# Horovod's module as a value


def horovod_script(kind):
    flags = tf.flags.FLAGS
    if "horovod" in flags:
        delattr(flags, "horovod")
    return case("horovod_value", kind)


@pytest.mark.parametrize("fp16", [False, True])
@pytest.mark.parametrize("post", [False, True])
@pytest.mark.parametrize("given", [False, True], ids=["without", "with"])
def test_horovod_as_a_value(given, post, fp16):
    hvd = pytest.importorskip("horovod.tensorflow", reason="needs Horovod built for TensorFlow")
    hvd.init()
    adapter = importlib.import_module("npu_migrate.runtime.ops_adapter")

    def build(kind, module):
        def train(loss):
            handed = module if given else None
            return horovod_script(kind).create_optimizer(loss, 0.01, handed, post, fp16)

        return train

    factors = [1.0, INF, 1.0] if fp16 else [1.0, 1.0]
    before, after = trained(build("in", hvd), factors), trained(build("out", adapter), factors)
    assert_same(before, after)
    assert steps_of(before) == steps_of(after)


TWO_RANKS = """
import json, sys
import tensorflow as tf
import horovod_value
from npu_migrate.runtime import ops_adapter as hvd

hvd.init()
w = tf.get_variable("w", initializer=[1.0, -2.0])
factor = tf.placeholder(tf.float32, [])
train = horovod_value.create_optimizer(
    factor * tf.reduce_sum(w * w), 0.1, hvd, post=sys.argv[2] == "post", fp16=True)
step = tf.train.get_or_create_global_step()
states = []
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for factors in [(1.0, 3.0), (1.0, float("inf")), (2.0, 2.0)]:
        session.run(train, {factor: factors[hvd.rank()]})
        states.append([session.run(w).tolist(), int(session.run(step))])
with open(f"{sys.argv[1]}/{hvd.rank()}.json", "w") as file:
    json.dump(states, file)
"""


def npu_run(folder, *arguments):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    job = subprocess.run(
        [sys.executable, "-m", "npu_migrate.launch.cli", *map(str, arguments)],
        cwd=str(folder),
        env={**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "2"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=80,
    )
    assert job.returncode == 0, job.stdout[-3000:]


def test_two_ranks_train_as_one(tmp_path):
    pytest.importorskip("horovod.tensorflow", reason="needs Horovod built for TensorFlow")
    script = (CASES / "horovod_value.out.py").read_text(encoding="utf-8")
    (tmp_path / "horovod_value.py").write_text(script, encoding="utf-8")
    (tmp_path / "ranks.py").write_text(TWO_RANKS)
    npu_run(tmp_path, "-np", 2, "ranks.py", tmp_path, "pre")
    first, second = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1)]
    assert first == second
    assert [step for _, step in first] == [1, 1, 2]
    np.testing.assert_allclose(first[0][0], [1 - 0.1 * 2 * 2, -2 + 0.1 * 2 * 2 * 2], rtol=1e-5)
    assert first[1][0] == first[0][0] != first[2][0]


@pytest.mark.parametrize("arguments", [[], ["--horovod"]], ids=["alone", "horovod"])
def test_whole_script_runs(arguments, tmp_path):
    script = (CASES / "horovod_value.out.py").read_text(encoding="utf-8")
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    npu_run(tmp_path, "script.py", *arguments)


# Devices


def test_what_was_on_a_gpu_is_placed_nowhere():
    """Also inside of a block for the CPU, which would keep it from the NPU."""
    text = """\
import tensorflow as tf

with tf.Graph().as_default() as graph:
    with tf.device('/cpu:0'):
        data = tf.constant([[2.]])
        with tf.device('/gpu:0'):
            doubled = data + data
    with tf.device(lambda op: '/gpu:0' if op.type == 'MatMul' else '/cpu:0'):
        product = tf.matmul(data, data)
        rest = product - 1.
    batches = tf.data.Dataset.from_tensors(3.)
    batches = batches.apply(tf.data.experimental.prefetch_to_device('/gpu:0'))
    batch = tf.data.make_one_shot_iterator(batches).get_next()
"""
    migrated = load(migrate(text).text)
    assert (migrated.data.device, migrated.doubled.device) == ("/device:CPU:0", "")
    assert (migrated.product.device, migrated.rest.device) == ("", "/cpu:0")
    with tf.Session(graph=migrated.graph) as session:
        fetched = session.run([migrated.doubled, migrated.rest, migrated.batch])
    assert fetched == [[[4.0]], [[3.0]], 3.0]
