"""Runs the `npu-run` command in a process of its own."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

COMMAND = [sys.executable, "-m", "npu_migrate.launch.cli"]


def environment(**changes):
    """The environment of this process, without what the tests set for TensorFlow."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    quiet = {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore", "TF_CPP_MIN_LOG_LEVEL": "2"}
    return {**os.environ, **quiet, **changes}


def npu_run(*arguments, timeout=120, **changes):
    """Runs it to the end; standard output and error as text."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        env=environment(**changes),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
