"""BERT learns, and the migrated sample trains as the original does."""

import json
import math
import sys

import pytest
from training import (
    SAMPLES,
    assert_same,
    needs_tensorflow,
    run,
    skipped,
    states,
    train_both,
)

pytestmark = needs_tensorflow

VOCABULARY = 512
LENGTH, PREDICTIONS = 64, 10
STEPS = 6
OVERFLOWS = [3, 6]
CONFIG = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": LENGTH,
}

SCALED = ["--use_fp16", "--init_loss_scale=1024", "--loss_scale_window=2"]
# Computed in float16, this one also overflows by itself.
FLOAT16 = ["--manual_fp16", "--init_loss_scale=1048576", "--loss_scale_window=3"]
LAMB = ["--optimizer_type=lamb"]
ACCUMULATED = ["--num_accumulation_steps=2"]
REDUCED_LATE = ["--allreduce_post_accumulation"]
ON_SECOND_RANK = ["--overflow_on_rank=1"]

#: Compared step by step: on one process, and (with Horovod) on two.
COMPARED = {
    "adam": SCALED,
    "lamb": SCALED + LAMB,
    "adam-accumulated": SCALED + ACCUMULATED,
    "lamb-accumulated": SCALED + LAMB + ACCUMULATED,
    "adam-float16": FLOAT16,
}
ON_TWO_ONLY = {
    "adam-one-rank-overflows": SCALED + ON_SECOND_RANK,
    "lamb-reduced-late": SCALED + LAMB + ACCUMULATED + REDUCED_LATE + ON_SECOND_RANK,
}
#: Long enough to learn, on one process without Horovod.
LEARNING = {
    "adam-learns": SCALED + ["--learning_rate=1e-2"],
    "lamb-learns": SCALED + LAMB + ["--learning_rate=5e-2"],
}
LEARNING_STEPS = 80
#: The run of the original in which the reads of the step are not put in order.
AS_IT_IS = "adam-as-it-is"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """TFRecords of the sample's text, and a model even smaller than its smallest."""
    folder = tmp_path_factory.mktemp("data")
    original = SAMPLES / "bert" / "original"
    run(
        [
            sys.executable,
            original / "create_pretraining_data.py",
            f"--input_file={original}/data/*.txt",
            f"--output_dir={folder}",
            f"--vocab_file={folder}/vocab.txt",
            f"--vocab_size={VOCABULARY}",
            f"--max_seq_length={LENGTH}",
            f"--max_predictions_per_seq={PREDICTIONS}",
        ]
    )
    (folder / "bert.json").write_text(json.dumps(CONFIG))
    return folder


def _arguments(data, options, steps, batch, warmup=2):
    return [
        "--do_train",
        "--output_dir={}",
        f"--bert_config_file={data}/bert.json",
        f"--input_files={data}/*.tfrecord",
        f"--max_seq_length={LENGTH}",
        f"--max_predictions_per_seq={PREDICTIONS}",
        "--learning_rate=1e-3",
        f"--train_batch_size={batch}",
        f"--num_train_steps={steps}",
        f"--num_warmup_steps={warmup}",
        "--overflow_at_steps=" + ",".join(map(str, OVERFLOWS)),
        "--num_threads=1",
        *options,
    ]


@pytest.fixture(scope="module")
def alone(data, tmp_path_factory):
    """Traces of original and migrated on one process."""
    runs = {
        name: _arguments(data, options + ["--horovod"], STEPS, 4)
        for name, options in COMPARED.items()
    }
    runs[AS_IT_IS] = runs["adam"]
    for name, options in LEARNING.items():
        runs[name] = _arguments(data, options, LEARNING_STEPS, 16, warmup=10)
    return _both(tmp_path_factory.mktemp("alone"), runs, 1)


@pytest.fixture(scope="module")
def together(data, tmp_path_factory):
    """Traces of original and migrated on two processes."""
    runs = {
        name: _arguments(data, options + ["--horovod"], STEPS, 4)
        for name, options in {**COMPARED, **ON_TWO_ONLY}.items()
    }
    return _both(tmp_path_factory.mktemp("together"), runs, 2)


def _both(folder, runs, processes):
    ordered = [name for name in runs if name != AS_IT_IS]
    return train_both(folder, "bert", "run_pretraining", runs, processes, ordered)


def _same_trace(trainings, name, rank=0):
    original, migrated = (trainings[k].trace(name, rank) for k in ("original", "migrated"))
    assert_same(original, migrated)
    return migrated


def test_same_as_the_original_as_it_is(alone):
    assert_same(alone["original"].trace(AS_IT_IS), alone["migrated"].trace(AS_IT_IS))


@pytest.mark.parametrize("name", COMPARED)
def test_same_on_one_process(alone, name):
    _check(name, _same_trace(alone, name))


@pytest.mark.parametrize("name", [*COMPARED, *ON_TWO_ONLY])
def test_same_on_two_processes(together, name):
    first = _same_trace(together, name)
    _check(name, first)
    second = _same_trace(together, name, rank=1)
    assert states(first) == states(second)
    assert [line["loss"] for line in first] != [line["loss"] for line in second]


def _check(name, trace):
    """Steps that overflow do not count, and the others do."""
    every = 2 if "accumulated" in name or "late" in name else 1
    expected = sorted({every * math.ceil(batch / every) for batch in OVERFLOWS})
    assert trace[-1]["global_step"] == STEPS
    assert len(trace) == every * (STEPS + len(skipped(trace, every)))
    if "float16" in name:
        assert set(expected) < set(skipped(trace, every)) | {every * len(trace)}
    else:
        assert skipped(trace, every) == expected
    assert len({line["loss_scale"] for line in trace}) > 1


@pytest.mark.parametrize("name", LEARNING)
@pytest.mark.parametrize("kind", ["original", "migrated"])
def test_learns(alone, kind, name):
    losses = [line["loss"] for line in alone[kind].trace(name)]
    assert losses[0] == pytest.approx(math.log(VOCABULARY), abs=0.1)
    assert sum(losses[-10:]) / 10 < math.log(VOCABULARY) - 1


@pytest.mark.parametrize("name", LEARNING)
def test_same_while_learning(alone, name):
    trace = _same_trace(alone, name)
    assert skipped(trace) == OVERFLOWS
