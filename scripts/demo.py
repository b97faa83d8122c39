"""Migrates the BERT sample, trains original and migrated side by side, and compares them.

Both train on the CPU: the original as it is, the migrated one with npu-run, where a stand-in plays
the NPU. A few batches are made to overflow, so that one sees steps being skipped.
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from rich import box
from rich.console import Console
from rich.table import Table

ROOT = pathlib.Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "samples" / "bert" / "original"
LENGTH = ["--max_seq_length=64", "--max_predictions_per_seq=10"]
OVERFLOWS = [5, 13, 14]
TRAINING = [
    "--do_train",
    f"--bert_config_file={SAMPLE}/configs/bert_tiny.json",
    *LENGTH,
    "--train_batch_size=8",
    "--num_train_steps=30",
    "--num_warmup_steps=5",
    "--learning_rate=5e-3",
    "--use_fp16",
    "--init_loss_scale=1024",
    "--loss_scale_window=8",
    f"--overflow_at_steps={','.join(map(str, OVERFLOWS))}",
    "--num_threads=1",
]
TOLERANCE = 1e-5
COLOURS = {"+": "green", "-": "red", "@": "cyan"}

console = Console(highlight=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--python37",
        default=str(ROOT / ".venv37" / "bin" / "python"),
        metavar="PYTHON",
        help="interpreter that has TensorFlow 1.15 (default: %(default)s)",
    )
    python = parser.parse_args().python37
    with tempfile.TemporaryDirectory(prefix="npu-migrate-demo-") as name:
        folder = pathlib.Path(name)
        migrate(folder / "migrated")
        data = make_data(python, folder / "data")
        return 0 if compare(*train_both(python, data, folder)) else 1


def migrate(target):
    """Migrates the sample, and shows what changed."""
    title("1. Migrate samples/bert/original")
    tool = [sys.executable, "-m", "npu_migrate"]
    diff = run([*tool, "--diff", "-q", SAMPLE.relative_to(ROOT)])
    for line in diff.splitlines():
        console.print(line, style=COLOURS.get(line[:1]), markup=False, soft_wrap=True)
    report = run([*tool, SAMPLE.relative_to(ROOT), "-o", target])
    console.print(report.strip().splitlines()[-1], style="bold")


def make_data(python, folder):
    """Makes TFRecords of the sample's text."""
    title("2. Make training data of its text")
    with console.status("create_pretraining_data.py"):
        run(
            [
                python,
                SAMPLE / "create_pretraining_data.py",
                f"--input_file={SAMPLE}/data/*.txt",
                f"--output_dir={folder}",
                f"--vocab_file={folder}/vocab.txt",
                *LENGTH,
            ]
        )
    vocabulary = (folder / "vocab.txt").read_text().splitlines()
    console.print(f"{len(vocabulary)} tokens: guessing them blindly is a loss of ln = 6.24")
    return folder


def train_both(python, data, folder):
    """Trains both at the same time, and returns their traces."""
    title("3. Train both")
    commands = {
        "original": [python, SAMPLE / "run_pretraining.py"],
        "migrated": [
            python,
            *("-m", "npu_migrate.launch.cli"),
            folder / "migrated" / "run_pretraining.py",
        ],
    }
    traces = {kind: folder / f"{kind}.jsonl" for kind in commands}
    console.print("original:  python original/run_pretraining.py --use_fp16 ...")
    console.print("migrated:  npu-run migrated/run_pretraining.py --use_fp16 ...")
    with console.status("training") as status, contextlib.ExitStack() as stack:
        jobs = {
            kind: stack.enter_context(
                background(
                    [
                        *command,
                        *TRAINING,
                        f"--input_files={data}/*.tfrecord",
                        f"--output_dir={folder}/{kind}-model",
                        f"--trace_file={traces[kind]}",
                    ],
                    folder / f"{kind}.log",
                )
            )
            for kind, command in commands.items()
        }
        while any(job.poll() is None for job in jobs.values()):
            done = ", ".join(f"{kind} {len(read(path))}" for kind, path in traces.items())
            status.update(f"training; batches done: {done}")
            time.sleep(0.2)
    for kind, job in jobs.items():
        if job.returncode:
            console.print((folder / f"{kind}.log").read_text()[-3000:], markup=False)
            sys.exit(f"training {kind} failed with exit code {job.returncode}")
    return [read(path) for path in traces.values()]


def compare(original, migrated):
    """Prints both traces side by side; returns whether they agree."""
    title("4. Compare")
    table = Table("", "", "original", "", "", "migrated", "", "", box=box.SIMPLE)
    for column in table.columns[:-1]:
        column.justify = "right"
    table.add_row("batch", *("loss", "step", "scale") * 2, end_section=True)
    before = 0
    for number, (left, right) in enumerate(zip(original, migrated), 1):
        note = "skipped" if left["global_step"] == before else ""
        before = left["global_step"]
        table.add_row(
            str(number), *cells(left), *cells(right), note, style="yellow" if note else None
        )
    console.print(table)
    difference = max(abs(a["loss"] - b["loss"]) for a, b in zip(original, migrated))
    agree = difference <= TOLERANCE and states(original) == states(migrated)
    if agree:
        console.print(
            f"[bold green]They agree[/] in all {len(original)} batches: same global step, same "
            f"loss scale; the largest difference of a loss is {difference:.1g}."
        )
    else:
        console.print(
            f"[bold red]They do not agree[/]: losses differ by up to {difference:.1g}; see "
            "samples/bert/README.md on what the original leaves to chance."
        )
    return agree


def cells(line):
    return f"{line['loss']:.6f}", str(line["global_step"]), f"{line['loss_scale']:g}"


def states(trace):
    return [(line["global_step"], line["loss_scale"]) for line in trace]


def read(path):
    """The lines of a trace that are there so far."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(True) if line.endswith("\n")]


def run(command):
    """Runs a command to its end; returns its standard output, or ends the demo."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
    )
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    return done.stdout


@contextlib.contextmanager
def background(command, log):
    """A process that does not outlive the block."""
    with log.open("w") as output:
        job = subprocess.Popen(
            list(map(str, command)),
            env=environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            yield job
        finally:
            if job.poll() is None:
                job.terminate()
            job.wait()


def environment():
    """The variables of this process, TensorFlow's chatter switched off."""
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONWARNINGS": "ignore"}
    return {**os.environ, **quiet, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}


def title(text):
    console.rule(f"[bold]{text}", align="left")


if __name__ == "__main__":
    sys.exit(main())
