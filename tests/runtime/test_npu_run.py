"""The `npu-run` command, on machines with and without an NPU."""

import json
import os
import signal
import subprocess
import time

import fake_vendor
import pytest
from npu_run import COMMAND, environment, npu_run

pytest.importorskip("tensorflow.compat.v1", reason="needs TensorFlow 1.15")

from npu_migrate.launch import cli, horovod_job  # noqa: E402

REPORT = """
import json, os, sys
names = ("RANK_SIZE", "RANK_ID", "DEVICE_ID", "ASCEND_DEVICE_ID", "CM_WORKER_SIZE", "JOB_ID",
         "NPU_MIGRATE_OVERFLOW_MODE", "RANK_TABLE_FILE")
import npu_bridge
print(json.dumps({"argv": sys.argv, "name": __name__, "path": sys.path[0],
                  "bridge": npu_bridge.__file__, "ranks": [os.environ.get(n) for n in names]}))
"""


@pytest.fixture
def script(tmp_path):
    def write(text):
        path = tmp_path / "train.py"
        path.write_text(text)
        return path

    return write


class TestOneProcess:
    def test_it_is_as_if_python_ran_the_script(self, script, tmp_path):
        path = script(REPORT)
        done = npu_run("--overflow-mode", "inf_nan", path, "--steps", "3", "-np", "2")
        assert (done.returncode, done.stderr) == (0, "")
        seen = json.loads(done.stdout)
        assert seen["argv"] == [str(path), "--steps", "3", "-np", "2"]
        assert (seen["name"], seen["path"]) == ("__main__", str(tmp_path))
        assert os.path.join("runtime", "bridge", "packages") in seen["bridge"]
        assert seen["ranks"] == ["1", "0", "0", "0", None, None, "inf_nan", None]

    @pytest.mark.parametrize(
        "text, code", [("import sys; sys.exit(3)", 3), ("exit()", 0), ("exit('why')", 1)]
    )
    def test_exit_codes_are_the_scripts(self, script, text, code):
        done = npu_run(script(text))
        assert done.returncode == code
        assert done.stderr == ("why\n" if "why" in text else "")

    def test_an_exception_shows_only_the_scripts_part(self, script):
        done = npu_run(script("def train():\n    raise ValueError('boom')\ntrain()\n"))
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1] == "ValueError: boom"
        assert "runpy" not in done.stderr
        assert "npu_migrate" not in done.stderr

    def test_a_script_that_is_no_python(self, script):
        done = npu_run(script("x = = 1\n"))
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].startswith("SyntaxError: ")
        assert "runpy" not in done.stderr

    def test_contradictory_ranks_are_said_in_one_line(self, script):
        done = npu_run(script(""), RANK_SIZE="2")
        assert done.returncode == 2
        assert done.stderr.startswith("npu-run: RANK_SIZE is 2 but RANK_ID is not set")


class TestModule:
    @pytest.fixture
    def package(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "pkg").mkdir()
        (tmp_path / "pkg" / "__init__.py").write_text("")
        (tmp_path / "pkg" / "model.py").write_text("def check(text):\n    raise ValueError(text)\n")
        (tmp_path / "pkg" / "train.py").write_text("from . import model\n" + REPORT)
        return tmp_path

    def test_it_is_as_if_python_ran_the_module(self, package):
        done = npu_run("-m", "pkg.train", "--steps", "3", "-m", "x")
        assert (done.returncode, done.stderr) == (0, "")
        seen = json.loads(done.stdout)
        path = str(package / "pkg" / "train.py")
        assert seen["argv"] == [path, "--steps", "3", "-m", "x"]
        assert (seen["name"], seen["path"]) == ("__main__", str(package))

    def test_in_several_processes(self, package):
        fake_vendor.write(package)
        path = os.pathsep.join([environment()["PYTHONPATH"], str(package)])
        done = npu_run("-np", "2", "-m", "pkg.train", "--steps", "3", PYTHONPATH=path)
        assert done.returncode == 0, done.stderr
        for line in done.stdout.splitlines():
            assert json.loads(line[4:])["argv"][1:] == ["--steps", "3"]

    def test_an_exception_shows_only_the_modules_part(self, package):
        (package / "pkg" / "__main__.py").write_text("from . import model\nmodel.check('boom')\n")
        done = npu_run("-m", "pkg")
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1] == "ValueError: boom"
        assert done.stderr.count("File ") == 2

    @pytest.mark.parametrize("name", ["pkg.missing", "missing", "missing.train"])
    def test_one_that_is_not_there(self, package, name):
        done = npu_run("-m", name)
        assert (done.returncode, done.stderr) == (2, f"npu-run: no module named {name}\n")

    def test_what_a_module_misses_is_its_own_failure(self, package):
        (package / "pkg" / "__init__.py").write_text("import missing\n")
        done = npu_run("-m", "pkg.train")
        assert done.returncode == 1
        assert "ModuleNotFoundError: No module named 'missing'" in done.stderr


class TestUsage:
    """In this process: none of these gets as far as a script."""

    @pytest.mark.parametrize(
        "arguments, message",
        [
            (["missing.py"], "no such script: missing.py"),
            (["-np", "2", __file__], "pip install 'npu-migrate[distributed]'"),
            (["-H", "host", __file__], "-H must be host:processes"),
            (["--rank-table", "table.json", __file__], "--rank-table is for Ascend machines"),
            (["--first-rank", "2", __file__], "--first-rank is for Ascend machines"),
        ],
    )
    def test_what_is_wrong_is_said(self, arguments, message, monkeypatch, capsys):
        monkeypatch.setattr(horovod_job, "is_installed", lambda: False)
        assert cli.main(arguments) == 2
        error = capsys.readouterr().err
        assert error.startswith("npu-run: ")
        assert message in error

    @pytest.mark.parametrize(
        "arguments", [["-np", "0", "x.py"], ["--overflow-mode", "x", "y.py"], []]
    )
    def test_wrong_options(self, arguments, capsys):
        with pytest.raises(SystemExit) as stop:
            cli.main(arguments)
        assert stop.value.code == 2
        assert "usage: npu-run" in capsys.readouterr().err

    def test_a_notebook_is_no_script(self, tmp_path, capsys):
        path = tmp_path / "train.ipynb"
        path.write_text('{"cells": []}')
        assert cli.main([str(path)]) == 2
        assert f"{path} is a notebook: run it in Jupyter" in capsys.readouterr().err

    def test_hosts_are_for_machines_without_npu(self, tmp_path, monkeypatch, capsys):
        with fake_vendor.on_path(tmp_path, monkeypatch):
            assert cli.main(["-H", "localhost:2", __file__]) == 2
        assert "start npu-run on each" in capsys.readouterr().err


class TestOnNpus:
    def test_one_process_a_device(self, script, tmp_path):
        fake_vendor.write(tmp_path)
        path = os.pathsep.join([environment()["PYTHONPATH"], str(tmp_path)])
        done = npu_run("-np", "2", script(REPORT), "--steps", "3", PYTHONPATH=path, JOB_ID="7")
        assert done.returncode == 0, done.stderr
        lines = sorted(done.stdout.splitlines())
        assert [line[:4] for line in lines] == ["[0] ", "[1] "]
        for rank, line in enumerate(lines):
            seen = json.loads(line[4:])
            assert seen["argv"][1:] == ["--steps", "3"]
            assert seen["bridge"].startswith(str(tmp_path))
            assert seen["ranks"] == [None, *[str(rank)] * 3, "2", "7", None, None]


SEVERAL = """
import os, sys, time
import tensorflow as tf
from npu_migrate.runtime import ops_adapter
rank = ops_adapter.rank()
value = tf.compat.v1.placeholder(tf.float32, [])
total = ops_adapter.allreduce(value, average=False)
with tf.compat.v1.Session() as session:
    print("total", session.run(total, {value: rank + 1.0}), flush=True)
    if sys.argv[1] == "die" and rank == 1:
        print("last words", flush=True)
        os._exit(9)
    if sys.argv[1] == "raise" and rank == 1:
        raise ValueError("boom")
    if sys.argv[1] == "sleep":
        time.sleep(60)
    if sys.argv[1] != "end":
        session.run(total, {value: 1.0})
"""


@pytest.mark.skipif(not horovod_job.is_installed(), reason="needs Horovod")
class TestWithHorovod:
    def test_hosts_and_processes(self, script):
        done = npu_run("-H", "localhost:2", script(SEVERAL), "end")
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.splitlines()) == ["[0] total 3.0", "[1] total 3.0"]

    def test_a_rank_that_dies_ends_the_job(self, script):
        started = time.monotonic()
        done = npu_run("-np", "2", script(SEVERAL), "die")
        assert time.monotonic() - started < 60
        assert done.returncode == 9
        explanation = done.stderr[done.stderr.index("npu-run: ") :]
        assert "npu-run: rank 1 failed first, with exit code 9" in explanation
        assert "    last words" in explanation
        assert "horovod/runner" not in done.stderr

    def test_the_rank_that_raised_is_named_not_those_that_lost_it(self, script):
        done = npu_run("-np", "2", script(SEVERAL), "raise")
        assert done.returncode == 1
        explanation = done.stderr[done.stderr.index("npu-run: ") :]
        assert "npu-run: rank 1 failed first, with exit code 1" in explanation
        assert "    ValueError: boom" in explanation

    def test_ctrl_c_ends_all(self, script):
        path = script(SEVERAL)
        job = subprocess.Popen(
            [*COMMAND, "-np", "2", str(path), "sleep"],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # else ignored in jobs
        )
        for _ in range(2):
            assert "total" in job.stdout.readline()
        job.send_signal(signal.SIGINT)
        _, error = job.communicate(timeout=30)
        assert job.returncode == 130
        assert error.rstrip().endswith("npu-run: interrupted; all processes were ended")
        assert str(path) not in subprocess.check_output(
            ["ps", "-eo", "args"], universal_newlines=True
        )
