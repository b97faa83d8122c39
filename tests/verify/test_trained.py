"""Migrations that are trained: samples that are right, and faults that only training shows."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import pytest
from mutations import MUTATIONS, mutate
from trained_outputs import PAIRS, TWO_RANKS, compressed

from npu_migrate.launch.script import Program
from npu_migrate.verify import cli
from npu_migrate.verify.experiment import Experiment, Request, run_experiment
from npu_migrate.verify.judgement import judge
from npu_migrate.verify.migration import read_migration
from npu_migrate.verify.outcome import FailureKind
from npu_migrate.verify.overflows import Overflows, parse_overflows
from npu_migrate.verify.quantities import (
    APPLIED,
    GLOBAL_STEP,
    LOSS,
    LOSS_SCALE,
    STATE,
    WEIGHT_CHANGE,
    WEIGHTS,
)
from npu_migrate.verify.verdict import Answer

BERT = pathlib.Path(__file__).parents[2] / "samples" / "bert"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is None, reason="needs TensorFlow 1.15"
)
needs_horovod = pytest.mark.skipif(
    importlib.util.find_spec("horovod") is None, reason="needs Horovod"
)


# Faults in the migrated BERT sample


CONFIG = {
    "vocab_size": 512,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 32,
}
FOUND = {
    "scale falls by a fifth": (3, LOSS_SCALE),
    "step moved outside as well": (1, GLOBAL_STEP),
    "step not moved": (1, GLOBAL_STEP),
    "wrapped twice": (2, LOSS_SCALE),
    "other initial scale": (1, LOSS_SCALE),
    "keep_prob for rate": (1, LOSS),
}


@pytest.fixture(scope="module", autouse=True)
def elsewhere(tmp_path_factory):
    """Runs work in a copy of the current folder, which so is an empty one."""
    before = os.getcwd()
    os.chdir(str(tmp_path_factory.mktemp("current")))
    yield
    os.chdir(before)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A function that makes the request to verify a migrated BERT."""
    data = tmp_path_factory.mktemp("bert")
    subprocess.run(
        [
            sys.executable,
            str(BERT / "original" / "create_pretraining_data.py"),
            f"--input_file={BERT}/original/data/*.txt",
            f"--output_dir={data}",
            f"--vocab_file={data}/vocab.txt",
            "--vocab_size=512",
            "--max_seq_length=32",
            "--max_predictions_per_seq=5",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    (data / "bert.json").write_text(json.dumps(CONFIG))
    arguments = (
        "--do_train",
        f"--output_dir={data}/model",
        f"--bert_config_file={data}/bert.json",
        f"--input_files={data}/*.tfrecord",
        "--max_seq_length=32",
        "--max_predictions_per_seq=5",
        "--train_batch_size=4",
        "--learning_rate=1e-3",
        "--num_train_steps=20",
        "--num_warmup_steps=2",
        "--use_fp16",
        "--init_loss_scale=1024",
        "--loss_scale_window=3",
    )

    def request(migrated, *further, **more):
        scripts = [
            Program(str(folder / "run_pretraining.py"), arguments + further)
            for folder in (BERT / "original", migrated)
        ]
        return Request(*scripts, steps=4, **{"overflows": parse_overflows("3"), **more})

    return request


@pytest.fixture(scope="module")
def mutated(bert, tmp_path_factory):
    """Verdicts on the migrated BERT as it is, and on each fault."""
    folder = tmp_path_factory.mktemp("mutated")
    plain = run_experiment(bert(BERT / "migrated"))
    folders = {name: mutate(BERT / "migrated", folder / name, name) for name in FOUND}

    with ProcessPoolExecutor(2) as pool:  # which a run needs: it handles signals
        outcomes = list(pool.map(_train_migrated, [bert(folders[name]) for name in FOUND]))
    verdicts = {"as it is": judge(plain, _read(BERT / "migrated"))}
    for name, migrated in zip(FOUND, outcomes):
        experiment = Experiment(plain.original, plain.repeated, migrated)
        verdicts[name] = judge(experiment, _read(folders[name]))
    return verdicts


def _train_migrated(request):
    return run_experiment(request, runs=("migrated",)).migrated


def _read(migrated):
    return read_migration(
        str(BERT / "original" / "run_pretraining.py"), str(migrated / "run_pretraining.py")
    )


def test_migrated_bert_trains_the_same(mutated):
    verdict = mutated["as it is"]
    assert verdict.answer is Answer.SAME and verdict.comparison.is_bitwise
    assert verdict.comparison.skipped == ((3,), (3,))


@pytest.mark.parametrize("name", FOUND)
def test_fault_is_found_in_its_quantity_at_its_step(mutated, name):
    verdict = mutated[name]
    first = verdict.comparison.first
    assert verdict.answer is Answer.DIFFERENT
    assert (first.step, first.quantity) == FOUND[name]


@pytest.mark.parametrize("name", FOUND)
def test_fault_is_found_in_its_line(mutated, name):
    lines = "\n".join(departure.text for departure in mutated[name].departures)
    added = MUTATIONS[name].after.split("\n")
    assert any(" ".join(line.split()) in lines for line in added if line) or not any(added)


def test_two_scalers_are_seen_in_the_graph(mutated):
    assert [fault.name for fault in mutated["wrapped twice"].faults] == ["scaler_stacked"]


@needs_horovod
def test_ranks_of_bert_that_judge_apart(bert, tmp_path):
    """They overflow alike here: clipping makes NaN of what one rank sends to all."""
    folder = mutate(BERT / "migrated", tmp_path / "m", "ranks judge apart")
    request = bert(folder, "--horovod", processes=2, overflows=parse_overflows("3@1"))
    migrated = _train_migrated(request)
    verdict = judge(Experiment(migrated, migrated, migrated), _read(folder))
    assert verdict.answer is Answer.WRONG
    assert [fault.name for fault in verdict.faults] == ["ranks_judge_apart"]


# Small scripts


def verify(folder, pair, **more):
    scripts = pair.write(folder)
    programs = (Program(script) for script in scripts)
    experiment = run_experiment(Request(*programs, **{"overflows": parse_overflows("3"), **more}))
    return judge(experiment, read_migration(*scripts))


TRAINED = {
    "step by isinstance": (Answer.DIFFERENT, 1, GLOBAL_STEP),
    "scale mapped by defaults": (Answer.DIFFERENT, 3, LOSS_SCALE),
    "step by a blind finite check": (Answer.DIFFERENT, 3, GLOBAL_STEP),
    "stricter fixed scale": (Answer.KNOWN, 3, APPLIED),
    "sparse gradients": (Answer.KNOWN, 2, WEIGHTS),
    "sparse gradients and another momentum": (Answer.DIFFERENT, 2, WEIGHTS),
    "stricter fixed scale and a step that counts all": (Answer.DIFFERENT, 3, APPLIED),
    "loss scale left out": (Answer.DIFFERENT, 1, LOSS_SCALE),
    "statistics left out": (Answer.DIFFERENT, 1, STATE),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A function that verifies a pair of that name, once."""
    verdicts = {}

    def verdict(name):
        if name not in verdicts:
            verdicts[name] = verify(tmp_path_factory.mktemp("pair"), PAIRS[name])
        return verdicts[name]

    return verdict


@pytest.mark.parametrize("name", TRAINED)
def test_what_training_shows(trained, name):
    verdict = trained(name)
    first = verdict.comparison.first
    assert (verdict.answer, first.step, first.quantity) == TRAINED[name]


@pytest.mark.parametrize("name", ["stricter fixed scale", "sparse gradients"])
def test_known_difference_is_shown_to_explain_all(trained, name):
    verdict = trained(name)
    assert verdict.adjusted.is_bitwise and verdict.adjusted.steps == 6
    assert verdict.adjusted.skipped == ((3,), (3,))


def test_known_difference_does_not_hide_a_step_that_counts_all(trained):
    verdict = trained("stricter fixed scale and a step that counts all")
    first = verdict.adjusted.first
    assert (first.quantity, first.original, first.migrated) == (GLOBAL_STEP, 2, 3)


def test_known_difference_does_not_hide_a_dropped_decay(trained):
    verdict = trained("sparse gradients and a dropped decay")
    assert verdict.answer is Answer.DIFFERENT
    assert verdict.adjusted.first.quantity == WEIGHT_CHANGE


@needs_horovod
@pytest.mark.parametrize("rate, answer", [(0.1, Answer.KNOWN), (0.1001, Answer.DIFFERENT)])
def test_dropped_compression(tmp_path, rate, answer):
    verdict = verify(tmp_path, compressed(rate), processes=2, overflows=Overflows())
    assert verdict.answer is answer
    assert [known.explains for known in verdict.known] == [answer is Answer.KNOWN]


def test_overflow_that_nothing_skips(tmp_path):
    verdict = verify(tmp_path, PAIRS["nothing scaled"])
    assert verdict.answer is Answer.UNKNOWN and verdict.comparison.broken_at == 3
    assert verdict.comparison.skipped == ((), ())


ALIKE = {
    "gradients that are used up on an NPU": "NPU114",
    "scaler on top of scaling by hand": "NPU117",
    "scaler below the graph rewrite": "NPU128",
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_training_does_not_show(tmp_path, name):
    verdict = verify(tmp_path, PAIRS[name], overflows=Overflows())
    assert verdict.answer is Answer.WRONG
    assert ALIKE[name] in {finding.code for finding in verdict.wrong}


def test_gradients_that_are_used_up(tmp_path):
    pair = PAIRS["gradients used up before they are applied"]
    verdict = verify(tmp_path, pair, overflows=Overflows())
    first = verdict.comparison.first
    assert (verdict.answer, first.step, first.quantity) == (Answer.DIFFERENT, 1, APPLIED)


def test_scaler_that_keras_does_not_initialise(tmp_path):
    verdict = verify(tmp_path, PAIRS["scaler in keras"], overflows=Overflows())
    assert verdict.answer is Answer.UNKNOWN
    assert "The run of the migrated script" in verdict.paragraph
    assert "uninitialized value" in verdict.paragraph


@pytest.mark.parametrize("name", ["decay dropped", "other epsilon"])
def test_other_update_rules_are_found_at_a_small_learning_rate(tmp_path, name):
    verdict = verify(tmp_path, PAIRS[name], overflows=Overflows())
    first = verdict.comparison.first
    assert verdict.answer is Answer.DIFFERENT
    assert (first.quantity, first.step <= 2) == (WEIGHT_CHANGE, True)


def test_rounding_is_no_other_update_rule(tmp_path):
    verdict = verify(tmp_path, PAIRS["other rounding"], overflows=Overflows())
    assert verdict.answer is Answer.SAME and not verdict.comparison.is_bitwise
    assert any("as rounding makes them" in caution for caution in verdict.cautions)


@needs_horovod
def test_script_for_one_process_that_is_started_in_two(tmp_path, monkeypatch, capsys):
    script = pathlib.Path(PAIRS["scale mapped by defaults"].write(tmp_path)[0])
    script.write_text(script.read_text().replace("horovod", "nothing"))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["-np", "2", "--migrate", script.name, "--inject-overflow", "3@1"]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith("DIFFERENT The trainings differ, first at step 1 on rank")
    assert "The ranks train different weights: from step 1 on" in printed
    assert "Processes that trained apart now train together" in printed


def test_script_that_fails(tmp_path):
    verdict = verify(tmp_path, PAIRS["manager under a flag"])
    assert verdict.answer is Answer.UNKNOWN
    (failed,) = verdict.failures
    assert (failed.run, failed.failure.kind) == ("run of the migrated script", FailureKind.CRASHED)
    assert "UnboundLocalError" in verdict.paragraph
    assert "NPU130" in {finding.code for finding in verdict.wrong}


@needs_horovod
def test_ranks_that_judge_apart(tmp_path):
    verdict = verify(tmp_path, TWO_RANKS, processes=2, overflows=parse_overflows("3@1"))
    first = verdict.comparison.first
    assert verdict.answer is Answer.DIFFERENT
    assert (first.step, first.rank, first.quantity) == (3, 0, APPLIED)
    assert "ranks_judge_apart" in {fault.name for fault in verdict.faults}


SAVING = """
import os, shutil
import numpy as np
import tensorflow as tf

place = {place!r}
if {clears}:
    shutil.rmtree(place, ignore_errors=True)
w = tf.get_variable("w", initializer=1.0)
train = tf.train.AdamOptimizer(0.1).minimize(tf.square(w - 3.0))
saver = tf.train.Saver()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    if tf.train.latest_checkpoint(place):
        saver.restore(session, tf.train.latest_checkpoint(place))
    for _ in range(3):
        session.run(train)
    saver.save(session, os.path.join(place, "model"))
"""


@pytest.mark.parametrize("clears, answer", [(False, Answer.UNKNOWN), (True, Answer.SAME)])
def test_folder_that_the_script_names_itself(tmp_path, monkeypatch, clears, answer):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # one run after the other
    place = tmp_path / "model"
    script = tmp_path / "train.py"
    script.write_text(SAVING.format(place=str(place), clears=clears))
    program = Program(str(script))
    verdict = judge(run_experiment(Request(program, program)))
    assert verdict.answer is answer
    if not clears:
        (failed,) = verdict.failures
        assert failed.failure.kind is FailureKind.SHARED_OUTPUT
        assert f"left in {place}," in verdict.paragraph


def test_command_line(tmp_path, monkeypatch, capsys):
    PAIRS["scale mapped by defaults"].write(tmp_path)
    monkeypatch.chdir(tmp_path)
    arguments = ["--migrate", "original.py", "--inject-overflow", "3", "--report", "r.html"]
    assert cli.main(arguments) == 0
    assert capsys.readouterr().out.startswith("SAME\n")
    assert "Same" in (tmp_path / "r.html").read_text() or "same" in (tmp_path / "r.html").read_text(
        "utf-8"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "migrated.py",
        "original.py",
        "r.html",
    ]
