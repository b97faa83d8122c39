"""Trains the samples, the originals with Horovod's launcher and the migrated ones with npu-run."""

import concurrent.futures
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
DRIVER = pathlib.Path(__file__).with_name("train_several.py")

_NEEDED = {"tensorflow": "TensorFlow 1.15", "horovod": "Horovod", "sklearn": "scikit-learn"}
_missing = [what for module, what in _NEEDED.items() if importlib.util.find_spec(module) is None]

needs_tensorflow = pytest.mark.skipif(
    bool(_missing), reason=f"trains, which needs {' and '.join(_missing)}"
)


def run(command, **options):
    """Runs a command to its end, and returns what it wrote to standard output."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RANK_", "HOROVOD_", "OMPI_", "CM_", "NPU_MIGRATE_"))
    }
    environment.update(
        PYTHONPATH=str(ROOT), PYTHONWARNINGS="ignore", TF_CPP_MIN_LOG_LEVEL="2",
        CUDA_VISIBLE_DEVICES="",
    )  # fmt: skip
    done = subprocess.run(
        [str(word) for word in command],
        env=environment,
        capture_output=True,
        text=True,
        **options,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    return done.stdout


def launcher(kind, processes):
    """The command before a script: `kind` is 'original' or 'migrated'."""
    if kind == "migrated":
        return [sys.executable, "-m", "npu_migrate.launch.cli", "-np", processes]
    horovodrun = [sys.executable, "-m", "horovod.runner.launch", "--gloo"]
    return [*horovodrun, "-np", processes, "-H", f"localhost:{processes}", sys.executable]


class Training:
    """The traces of several runs of one sample, on so many processes.

    Args:
      folder: an empty folder to work in.
      sample: name of the folder in samples/.
      kind: 'original' or 'migrated'.
      module: the script, without .py.
      runs: arguments by name of run; `{}` stands for a folder of the run's own.
      processes: how many.
      ordered: names of the runs in which the reads of the step are put in order (step_order.py).
    """

    def __init__(self, folder, sample, kind, module, runs, processes, ordered=()):
        self.folder = folder / f"{sample}-{kind}-{processes}"
        self.folder.mkdir()
        listed = []
        for name, arguments in runs.items():
            own = self.folder / name
            own.mkdir()
            trace = f"--trace_file={own / 'trace'}"
            arguments = [*(word.format(own) for word in arguments), trace]
            listed.append([name, arguments, name in ordered])
        file = self.folder / "runs.json"
        file.write_text(json.dumps(listed))
        command = [*launcher(kind, processes), DRIVER, SAMPLES / sample / kind, module, file]
        self.output = run(command)

    def trace(self, name, rank=0):
        """What each `session.run` of a run gave, as a list of dicts."""
        suffix = f".{rank}" if rank else ""
        with open(self.folder / name / f"trace{suffix}") as lines:
            return [json.loads(line) for line in lines]

    def printed(self, name):
        """What the first process printed in a run."""
        lines = [re.sub(r"^\[0\](<stdout>:)? ?", "", line) for line in self.output.splitlines()]
        start = lines.index(f"= {name}")
        rest = lines[start + 1 :]
        return rest[: next((at for at, line in enumerate(rest) if line[:2] == "= "), len(rest))]


def assert_same(original, migrated):
    """The same loss at every step to 1e-5, the same global step and the same loss scale."""
    assert states(original) == states(migrated)
    difference = max(abs(a["loss"] - b["loss"]) for a, b in zip(original, migrated))
    assert difference <= 1e-5


def train_both(folder, sample, module, runs, processes, ordered=()):
    """Trains original and migrated: at the same time where each is one process.

    Args:
      folder: an empty folder to work in.
      sample, module, runs, processes: see `Training`.
      ordered: see `Training`; of the original only.

    Returns:
      Both as `Training`, by 'original' and 'migrated'.
    """
    jobs = {"original": ordered, "migrated": ()}
    with concurrent.futures.ThreadPoolExecutor(2 if processes == 1 else 1) as pool:
        futures = {
            kind: pool.submit(Training, folder, sample, kind, module, runs, processes, in_order)
            for kind, in_order in jobs.items()
        }
        return {kind: future.result() for kind, future in futures.items()}


def states(trace):
    """Global step and loss scale after every batch."""
    return [(line["global_step"], line["loss_scale"]) for line in trace]


def skipped(trace, every=1):
    """Numbers, from 1, of the batches after which the step stood still.

    Args:
      trace: of a run.
      every: how many batches make a step; only the last of them moves it.
    """
    steps = [0] + [line["global_step"] for line in trace]
    return [n for n in range(every, len(steps), every) if steps[n] == steps[n - every]]
