"""What `npu-verify` refuses before it trains anything."""

import subprocess
import sys

import pytest

from npu_migrate.verify import cli


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("")
    (tmp_path / "b.py").write_text("")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["a.py"], "name the migrated script"),
        (["--migrate", "a.py", "b.py"], "name the original alone"),
        (["a.py", "c.py"], "no such script: c.py"),
        (["a.py", "b.py", "--inject-overflow", "0"], "steps are numbers from 1"),
        (["a.py", "b.py", "--inject-overflow", "3@1"], "no rank 1 among 1 processes"),
        (["a.py", "b.py", "--inject-overflow", "9", "--steps", "8"], "never reached"),
        (["a.py", "b.py", "--rtol", "-1"], "--rtol"),
        (["a.py", "b.py", "--steps", "0"], "--steps"),
        (["a.py", "b.py", "--report", "nowhere/x.html"], "no folder for nowhere/x.html"),
    ],
)
def test_wrong_usage(scripts, capsys, arguments, message):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_interpreter_without_tensorflow(scripts, tmp_path, capsys):
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\nimport sys\nsys.exit(1)\n")
    python.chmod(0o755)
    assert cli.main(["a.py", "b.py", "--python", str(python)]) == 2
    error = capsys.readouterr().err
    assert "TensorFlow 1.15" in error and "--python" in error and "Traceback" not in error


def test_interpreter_that_is_not_there(scripts, capsys):
    assert cli.main(["a.py", "b.py", "--python", "./nowhere"]) == 2
    assert "./nowhere cannot be run" in capsys.readouterr().err


def test_script_that_cannot_be_migrated(scripts, tmp_path, capsys):
    (tmp_path / "a.py").write_text("def broken(:\n")
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\n")
    python.chmod(0o755)
    assert cli.main(["--migrate", "a.py", "--python", str(python)]) == 2
    assert "a.py" in capsys.readouterr().err


def test_help_needs_nothing():
    done = subprocess.run(
        [sys.executable, "-m", "npu_migrate.verify.cli", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0 and "--inject-overflow" in done.stdout
