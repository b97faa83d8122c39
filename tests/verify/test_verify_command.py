"""What `npu-verify` refuses before it trains anything."""

import json
import pathlib
import subprocess
import sys

import pytest

from npu_migrate.verify import cli


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("")
    (tmp_path / "b.py").write_text("")
    (tmp_path / "c.ipynb").write_text("{}")
    (tmp_path / "npu").mkdir()


@pytest.fixture
def python(tmp_path):
    """A function that makes an interpreter which has all packages but some."""

    def python(*missing):
        path = tmp_path / "python"
        path.write_text(f"#!{sys.executable}\nprint({' '.join(missing)!r})\n")
        path.chmod(0o755)
        return ["--python", str(path)]

    return python


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["a.py"], "name the migrated script"),
        (["--migrate", "a.py", "b.py"], "name the original alone"),
        (["a.py", "c.py"], "no such script: c.py"),
        (["a.py", "npu"], "npu is a folder; name the script in it"),
        (["c.ipynb", "b.py"], "c.ipynb is a notebook"),
        (["a.py", "b.py", "--lr", "3", "x y"], "after --, as in: -- --lr 3 'x y'"),
        (["--migrate", "a.py", "--lr", "3"], "after --, as in: -- --lr 3"),
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


@pytest.mark.parametrize("arguments", [["a.py", "npu"], ["a.py", "b.py", "--python", "./nowhere"]])
def test_refusal_for_machines(scripts, capsys, arguments):
    try:
        assert cli.main(["--json", *arguments]) == 2
    except SystemExit as stop:
        assert stop.code == 2
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert (found["version"], found["answer"], found["exit_code"]) == (1, "unknown", 2)
    assert found["paragraph"] in printed.err


@pytest.mark.parametrize(
    "missing, processes, words",
    [
        (["tensorflow"], "1", ["TensorFlow 1.15", "--python"]),
        (["tensorflow", "horovod"], "2", ["TensorFlow 1.15", "--python"]),
        (["horovod"], "2", ["Horovod", "pip install 'npu-migrate[distributed]'"]),
    ],
)
def test_interpreter_that_lacks_something(scripts, python, capsys, missing, processes, words):
    assert cli.main(["a.py", "b.py", "-np", processes, *python(*missing)]) == 2
    error = capsys.readouterr().err
    assert all(word in error for word in words) and "Traceback" not in error


def test_options_may_stand_between_the_scripts(scripts, python, capsys):
    assert cli.main(["a.py", "--steps", "3", "b.py", *python("tensorflow")]) == 2
    assert "TensorFlow 1.15" in capsys.readouterr().err


MIGRATED = "import os\nfrom npu_bridge.npu_init import npu_config_proto\n"


@pytest.mark.parametrize("arguments", [["b.py", "a.py"], ["--migrate", "b.py"]])
def test_migrated_script_in_the_place_of_the_original(scripts, python, capsys, arguments):
    pathlib.Path("b.py").write_text(MIGRATED)
    assert cli.main([*arguments, *python()]) == 2
    assert "b.py is migrated already" in capsys.readouterr().err


def test_interpreter_that_is_not_there(scripts, capsys):
    assert cli.main(["a.py", "b.py", "--python", "./nowhere"]) == 2
    assert "./nowhere cannot be run" in capsys.readouterr().err


def test_script_that_cannot_be_migrated(scripts, python, tmp_path, capsys):
    (tmp_path / "a.py").write_text("def broken(:\n")
    assert cli.main(["--migrate", "a.py", *python()]) == 2
    assert "a.py" in capsys.readouterr().err


def test_help_needs_nothing():
    done = subprocess.run(
        [sys.executable, "-m", "npu_migrate.verify.cli", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0 and "--inject-overflow" in done.stdout
