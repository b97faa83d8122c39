"""Disks that are full, folders that forbid writing, odd names, several runs at once."""

import contextlib
import os
import subprocess
import sys

import pytest
from many_scripts import SCRIPT, contents, write_scripts


def tool(*arguments, **options):
    command = [sys.executable, "-m", "npu_migrate", *map(os.fspath, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, **options
    )


def run(*arguments, **options):
    """Runs the tool; returns its exit code, output and errors."""
    with tool(*arguments, **options) as job:
        out, err = job.communicate()
    assert "Traceback" not in out + err, err
    return job.returncode, out, err


def is_migrated(data):
    return b"NPULossScaleOptimizer(" in data


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a file system of 200 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)]
    with contextlib.suppress(FileNotFoundError):
        if subprocess.run(mount, stderr=subprocess.DEVNULL).returncode == 0:
            yield folder
            subprocess.run(["umount", str(folder)], check=True)
            return
    pytest.skip("mounting a file system takes more rights than these tests have")


def fill(folder):
    """Leaves no room in a file system."""
    with contextlib.suppress(OSError), open(folder / "data.bin", "wb") as file:
        while True:
            file.write(b"0" * 4096)
            file.flush()


def test_a_full_disk_leaves_the_scripts_as_they_are(small_disk):
    before = write_scripts(small_disk, 3)
    fill(small_disk)
    code, _, err = run(small_disk)
    assert code == 2
    assert f"{small_disk}/train_1.py: error: cannot be written: no space left on device" in err
    after = contents(small_disk)
    after.pop("data.bin")
    assert after == before


def test_a_disk_that_fills_up_on_the_way_leaves_whole_files(small_disk):
    before = write_scripts(small_disk, 20)
    with open(small_disk / "data.bin", "wb") as file:
        file.write(b"0" * 4096 * 12)  # each script takes a block of 4 kB, and is soon two
    code, _, err = run(small_disk)
    after = contents(small_disk)
    assert after.keys() == before.keys() | {"data.bin"}
    unchanged = [name for name in before if after[name] == before[name]]
    assert all(is_migrated(after[name]) for name in before if name not in unchanged)
    assert (code == 2) is bool(unchanged)
    assert all(f"/{name}: error: cannot be written" in err for name in unchanged)


@pytest.mark.parametrize("option", ["-o", "--report", "--output-file", "--baseline"])
def test_a_full_disk_for_what_is_made_new(small_disk, tmp_path, option):
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    before = write_scripts(scripts, 2)
    fill(small_disk)
    more = {"--baseline": ["--write-baseline"]}.get(option, ["--check"] if option != "-o" else [])
    code, _, err = run(*more, option, small_disk / "new", scripts)
    assert code == 2
    assert "no space left on device" in err and str(small_disk / "new") in err
    assert contents(scripts) == before


def test_paths_that_are_no_text(tmp_path):
    odd = os.fsdecode(b"\xff\xfe")
    folder = tmp_path / odd
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("the file system takes UTF-8 names only")
    (folder / f"{odd}.py").write_text(SCRIPT.format(number=1))
    for form in ("text", "json", "github", "sarif"):
        code, out, _ = run("--check", "--format", form, tmp_path)
        assert code == 1 and "NPU103" in out
    assert run("--check", "--report", tmp_path / "report.html", tmp_path)[0] == 1
    assert run("--diff", tmp_path)[0] == 0
    assert run("-o", tmp_path.with_name("out"), tmp_path)[0] == 0
    assert not is_migrated((folder / f"{odd}.py").read_bytes())
    assert run(tmp_path)[0] == 0
    assert is_migrated((folder / f"{odd}.py").read_bytes())


def test_two_runs_at_once(tmp_path):
    write_scripts(tmp_path, 60)
    jobs = [tool("--quiet", tmp_path) for _ in range(3)]
    errors = [job.communicate()[1] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0, 0], errors
    alone = tmp_path / "alone"
    alone.mkdir()
    write_scripts(alone, 60)
    run(alone)
    assert contents(tmp_path) == contents(alone)


def test_a_file_of_megabytes(tmp_path):
    numbers = ", ".join(map(str, range(60)))
    table = "".join(f"x{n} = tf.constant([{numbers}])\n" for n in range(20000))
    script = tmp_path / "large.py"
    script.write_text(f"import tensorflow as tf\n{table}{SCRIPT.format(number=1)}")
    assert script.stat().st_size > 5_000_000
    code, out, _ = run(script)
    assert code == 0 and "NPU103" in out
    assert table.encode() in script.read_bytes()


def test_nothing_of_the_tree_is_executed(tmp_path):
    """Neither scripts nor what Python or a tool would load beside them."""
    mark = tmp_path / "executed"
    bomb = f"open({str(mark)!r}, 'w').close()\n"
    project = tmp_path / "project"
    project.mkdir()
    for name in ("sitecustomize", "conftest", "yaml", "click", "libcst", "npu_bridge"):
        (project / f"{name}.py").write_text(bomb)
    (project / "train.py").write_text(bomb + SCRIPT.format(number=1))
    (project / "setup.py").write_text(bomb)
    (project / "rules").mkdir()
    (project / "rules" / "own.yaml").write_text(
        f"rules: !!python/object/apply:builtins.eval [\"open({str(mark)!r}, 'w')\"]\n"
    )
    for arguments in (["--check", "."], ["--rules", "rules", "--check", "."], ["."]):
        code, _, err = run(*arguments, cwd=project)
        assert code == (2 if "--rules" in arguments else 0 if arguments == ["."] else 1), err
    assert not mark.exists()
    assert is_migrated((project / "train.py").read_bytes())
