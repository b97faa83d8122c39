"""A program of several files is migrated as a whole or not at all."""

import os

import pytest

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


# Horovod that has no counterpart

AVERAGING = """\
import horovod.tensorflow as hvd


class Averaging(hvd.DistributedOptimizer):
    pass
"""
MAIN = """\
import tensorflow as tf
import horovod.tensorflow as hvd

from averaging import Averaging

hvd.init()
session = tf.Session()
"""


@pytest.fixture
def write(folder):
    def write(files):
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)

    return write


def test_a_file_that_stays_on_horovod_keeps_its_program_there(folder, run, write):
    write({"main.py": MAIN, "averaging.py": AVERAGING})
    outcome = run(".")
    assert outcome.status == 1
    assert "averaging.py:4:1 NPU208" in outcome.out
    assert "main.py:2:1 NPU202" in outcome.out
    assert "not done: only together with NPU208 at averaging.py:4:1" in outcome.out
    text = (folder / "main.py").read_text()
    assert "import horovod.tensorflow as hvd\n" in text and "ops_adapter" not in text
    assert "tf.Session(config=npu_config_proto())" in text


def test_once_that_is_done_the_program_moves(folder, run, write):
    write({"main.py": MAIN, "averaging.py": AVERAGING})
    run(".")
    bridge = "from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer\n"
    moved = AVERAGING.replace("hvd.DistributedOptimizer", "NPUDistributedOptimizer")
    write({"averaging.py": moved.replace("import horovod.tensorflow as hvd\n", bridge)})
    assert run(".").status == 0
    assert "import ops_adapter as hvd\n" in (folder / "main.py").read_text()


def test_a_suppression_says_that_it_does_not_matter(folder, run, write):
    kept = AVERAGING.replace("Optimizer):", "Optimizer):  # npu-migrate: ignore[NPU208]")
    write({"main.py": MAIN, "averaging.py": kept})
    assert run(".").status == 0
    assert "import ops_adapter as hvd\n" in (folder / "main.py").read_text()


def test_horovod_s_loss_scaling_waits_too(run, write):
    write(
        {
            "train.py": "import horovod.tensorflow as hvd\nimport tensorflow as tf\n\n"
            "mean = hvd.mpi_ops._allreduce(loss)\n"
            "opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, manager)\n"
        }
    )
    outcome = run("--diff", "train.py")
    assert outcome.out == ""
    assert "NPU103" in outcome.err and "only together with NPU206 at train.py:4:8" in outcome.err


def test_no_comment_is_written_that_would_let_the_rest_move_by_half(folder, run, write):
    files = {"main.py": MAIN, "averaging.py": AVERAGING}
    write(files)
    outcome = run("--add-ignores", ".")
    assert outcome.status == 1 and "averaging.py:4:1 NPU208" in outcome.out
    assert {name: (folder / name).read_text() for name in files} == files


# Files that are given by themselves

FETCHING = """\
import tensorflow as tf

from optimization import create

config = tf.estimator.RunConfig()
estimator = tf.estimator.Estimator(lambda features: create(features, True), config=config)
hook = tf.train.LoggingTensorHook(["step_update"], 10)
"""
OPTIMIZATION = """\
import tensorflow as tf

from lamb import Lamb


def create(loss, mixed):
    step = tf.train.get_or_create_global_step()
    opt = Lamb(False, "own")
    if mixed:
        opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(opt, 128.0)
    train = opt.apply_gradients(opt.compute_gradients(loss), global_step=step)
    new_step = tf.identity(step + 1, name="step_update")
    return tf.group(train, [step.assign(new_step)])
"""
PROGRAM = {"run.py": FETCHING, "optimization.py": OPTIMIZATION, "lamb.py": LAMB.decode()}


def test_a_file_alone_does_not_change_without_its_program(folder, run, write):
    write(PROGRAM)
    outcome = run("optimization.py")
    assert outcome.status == 1
    assert "(not done: only together with lamb.py and 1 more, which are not given)" in outcome.out
    assert "give all of the program: .\n" in outcome.out
    assert (folder / "optimization.py").read_text() == OPTIMIZATION
    assert run("lamb.py").status == 1
    assert (folder / "lamb.py").read_bytes() == LAMB


def test_no_comment_is_written_on_what_waits_for_other_files(folder, run, write):
    write(PROGRAM)
    assert run("--add-ignores", "optimization.py").status == 0
    assert (folder / "optimization.py").read_text() == OPTIMIZATION


def test_what_others_wait_for_may_change_first(folder, run, write):
    write(PROGRAM)
    assert run("run.py").status == 0
    assert '"mixed_float16"' in (folder / "run.py").read_text()
    assert run("optimization.py", "lamb.py").status == 0
    in_steps = {name: (folder / name).read_text() for name in PROGRAM}
    assert "read_value(), name='step_update')" in in_steps["optimization.py"]
    write(PROGRAM)
    assert run(".").status == 0
    assert {name: (folder / name).read_text() for name in PROGRAM} == in_steps


def test_the_whole_project_is_searched_for_the_program(run, write):
    write({f"models/{name}": text for name, text in PROGRAM.items() if name != "run.py"})
    write({"tools/run.py": FETCHING.replace("from optim", "from models.optim"), ".git/HEAD": ""})
    outcome = run("models/optimization.py", "models/lamb.py")
    assert "only together with tools/run.py, which is not given" in outcome.out
    assert "give all of the program: .\n" in outcome.out
    assert run("--exclude", "tools/", "models/optimization.py", "models/lamb.py").status == 0


def test_what_does_not_run_together_does_not_matter(run, write):
    write({**PROGRAM, "other.py": OTHER.decode(), "note.py": "import other\n"})
    assert run("other.py").status == 0


# Families chosen one after the other


def test_scaling_does_not_go_before_the_precision_of_its_sessions(folder, run, write):
    write(PROGRAM)
    outcome = run("--select", "NPU1,NPU2,NPU3", ".")
    assert outcome.status == 1
    assert "select NPU1,NPU2,NPU3,NPU4\n" in outcome.out
    assert (folder / "optimization.py").read_text() == OPTIMIZATION
    assert run("--select", "NPU4", ".").status == 0
    assert run("--select", "NPU1,NPU2,NPU3", ".").status == 0
    in_steps = {name: (folder / name).read_text() for name in PROGRAM}
    write(PROGRAM)
    run(".")
    assert {name: (folder / name).read_text() for name in PROGRAM} == in_steps
