"""A recorder notes the steps of any training in TensorFlow 1.15, and makes them alike."""

import ast
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

from npu_migrate.verify.overflows import parse_overflows
from npu_migrate.verify.recorder.settings import Settings
from npu_migrate.verify.recording import read_recording

HERE = pathlib.Path(__file__).parent
SCRIPT = HERE / "trainings.py"
OVERFLOW = 2

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is None, reason="needs TensorFlow 1.15"
)


def sections():
    """Name of each section of the script -> how many steps it has."""
    text = SCRIPT.read_text()
    table = re.search(r"OrderedDict\((.*?)\n\)", text, re.DOTALL).group(1)
    return {name: int(count) for name, count in re.findall(r"(\w+)=\(\w+, (\d+)\)", table)}


def start(folder):
    settings = Settings(str(folder), True, overflows=parse_overflows(str(OVERFLOW)))
    return subprocess.Popen(
        [sys.executable, "-m", "npu_migrate.verify.recorder.process", settings.to_json(), SCRIPT],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(HERE.parents[1]),
            "PYTHONHASHSEED": "0",
            "PYTHONWARNINGS": "ignore",
            "CUDA_VISIBLE_DEVICES": "",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Recordings of two runs of the script, and what the first printed."""
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "second")]
    jobs = [start(folder) for folder in folders]
    printed = [job.communicate() for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0], printed[0][1][-5000:]
    recordings = []
    for folder in folders:
        with open(folder / "rank0.jsonl") as lines:
            recordings.append(read_recording(lines))
    return (*recordings, printed[0][0])


@pytest.fixture(scope="module")
def recorded(runs):
    """Name of a section -> its steps."""
    remaining = iter(runs[0].steps)
    return {name: [next(remaining) for _ in range(count)] for name, count in sections().items()}


@pytest.fixture(scope="module")
def saw(runs):
    """Name of a section -> the losses that the script saw."""
    found = {}
    for name, loss in re.findall(r"^saw (\w+) (.*)$", runs[2], re.MULTILINE):
        found.setdefault(name, []).append(ast.literal_eval(loss))
    return found


def losses(steps):
    return [step.loss for step in steps]


def test_all_steps_are_noted_and_nothing_else(runs):
    assert [step.number for step in runs[0].steps] == list(range(1, sum(sections().values()) + 1))
    assert runs[0].end == "finished"
    assert "recorder_error" not in {fact.name for fact in runs[0].facts}
    assert "not_audited" not in {fact.name for fact in runs[0].facts}


def test_two_runs_are_alike_to_the_last_bit(runs):
    first, second, _ = runs
    assert first.steps == second.steps


def test_losses_are_those_that_the_script_sees(recorded, saw):
    for name in ("loop", "monitored", "ended_data"):
        assert losses(recorded[name]) == pytest.approx(saw[name], rel=1e-7), name
    assert all(step.loss is not None for steps in recorded.values() for step in steps)


def test_an_injected_overflow_is_judged_by_the_script(recorded):
    loop = recorded["loop"]
    assert [step.applied for step in loop] == [True, False, True, True]
    assert [step.loss_scale for step in loop] == [1024.0, 512.0, 512.0, 512.0]
    assert [step.global_step for step in loop] == [1, 1, 2, 3]
    assert [step.learning_rate for step in loop] == pytest.approx([0.1, 0.05, 0.05, 0.025])
    assert loop[0].weights_checksum == loop[1].weights_checksum != loop[2].weights_checksum
    assert [step.gradient_norm < 1e3 for step in loop] == [True, False, True, True]


def test_all_sorts_of_loss_scales_are_read(recorded):
    assert {step.loss_scale for step in recorded["monitored"]} == {2.0**15}
    assert {step.loss_scale for step in recorded["estimator"]} == {None}


def test_evaluation_is_no_step(recorded):
    assert [step.global_step for step in recorded["estimator"]] == [1, 2, 3, 4]
    assert [step.global_step for step in recorded["keras"]] == [1, 2, 3, 4]
    assert [step.learning_rate for step in recorded["keras"]] == pytest.approx([0.01] * 4)


def test_step_of_a_distribution_strategy_is_read(recorded):
    assert [step.global_step for step in recorded["mirrored"]] == [1, 2]
    assert [step.learning_rate for step in recorded["mirrored"]] == pytest.approx([0.1] * 2)


def test_variables_without_a_value_yet_are_left_out(recorded):
    norms = [step.weights_norm for step in recorded["partial"]]
    assert norms == pytest.approx([0.9, 0.8, (0.7**2 + 1.0) ** 0.5])


def test_moving_averages_are_noted(recorded):
    assert [step.state_norm for step in recorded["partial"]] == pytest.approx([0.95, 0.875, 0.7875])


def test_rows_of_a_sparse_gradient_are_added_up(recorded, runs):
    (step,) = recorded["embedding"]
    one_row = step.gradient_norm / 3
    assert step.loss == pytest.approx(3 * (one_row / 2) ** 2)
    assert step.global_step is None
    assert "sparse_gradients" in {fact.name for fact in runs[0].facts}


def test_the_step_is_read_in_the_order_that_the_script_means(saw, runs):
    # The rate is 1 / (steps before + 1), and the optimizer divides by the steps after.
    assert saw["step_outside"] == pytest.approx([7.0, 7.0 - 1 / 4, 7.0 - 1 / 4 - 1 / 9])
    (race,) = [fact for fact in runs[0].facts if fact.name == "step_race"]
    assert "Cast" in race.detail


def test_runs_that_fail_are_no_steps(recorded):
    assert len(recorded["ended_data"]) == 4


def test_gathering_gradients_is_not_applying_them(recorded):
    accumulated = recorded["accumulated"]
    assert [step.applied for step in accumulated] == [False, True, False, True]
    assert [step.global_step for step in accumulated] == [0, 1, 1, 2]
    assert [step.is_due for step in accumulated] == [False, True, False, True]


def test_a_skipped_update_was_due(recorded):
    assert all(step.is_due for step in recorded["loop"])


def test_changes_of_the_weights_are_noted(recorded):
    changes = [step.change_norm for step in recorded["step_outside"]]
    assert changes[:2] == pytest.approx([1.0, 1 / 4])
    for step in (*recorded["estimator"], *recorded["keras"]):
        size = sum(part**2 for part in step.change_parts) ** 0.5
        assert size == pytest.approx(step.change_norm, rel=0.8) and size > 0
    assert recorded["loop"][1].change_norm == 0
