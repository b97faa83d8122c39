"""Without TensorFlow 1.15 the runtime says what to install. Needs no TensorFlow itself."""

import subprocess
import sys

import pytest
from npu_run import environment


def import_runtime(folder):
    return subprocess.run(
        [sys.executable, "-c", "import npu_migrate.runtime"],
        env=environment(PYTHONPATH=environment()["PYTHONPATH"] + f":{folder}"),
        capture_output=True,
        text=True,
        cwd=str(folder),
    )


@pytest.mark.parametrize(
    "module, messages",
    [
        (
            "raise ImportError('no TensorFlow here')",
            [
                "needs TensorFlow 1.15",
                "no TensorFlow here",
                "pip install 'npu-migrate[tensorflow]'",
            ],
        ),
        (
            "__version__ = '2.4.0'",
            ["but this is 2.4.0", "pip install 'npu-migrate[tensorflow]'"],
        ),
        ("__version__ = '1.14.0'", ["but this is 1.14.0"]),
    ],
)
def test_what_to_install_is_said(tmp_path, module, messages):
    package = tmp_path / "tensorflow.py"
    package.write_text(module)
    done = import_runtime(tmp_path)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: npu_migrate.runtime needs TensorFlow 1.15")
    for message in messages:
        assert message in last


def test_npu_run_says_it_in_one_line(tmp_path):
    (tmp_path / "tensorflow.py").write_text("__version__ = '2.4.0'")
    script = tmp_path / "train.py"
    script.write_text("print('trained')")
    done = subprocess.run(
        [sys.executable, "-m", "npu_migrate.launch.cli", str(script)],
        env=environment(PYTHONPATH=environment()["PYTHONPATH"] + f":{tmp_path}"),
        capture_output=True,
        text=True,
        cwd=str(tmp_path),
    )
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("npu-run: npu_migrate.runtime needs TensorFlow 1.15, but this is 2.4.0")
