"""The cache of checks: what it saves, and that nothing about it makes a check wrong or fail."""

import hashlib
import json
import os
import pickle
import subprocess
import sys
import time
from dataclasses import fields

import pytest

from npu_migrate import engine
from npu_migrate.cache import entry, key
from npu_migrate.cache import folder as cache_folder
from npu_migrate.findings import Finding
from npu_migrate.results import FileResult

SCRIPT = "import tensorflow as tf\n\nsession = tf.Session()\n"
USER = "from library import make\n\nimport tensorflow as tf\n\nwith tf.Session():\n    make()\n"
MINE = """
family: mine
rules:
- code: ACME101
  name: read-counter
  match: [acme.counter]
  status: manual
  message: "{symbol} is read"
  reason: it counts on the GPU
  remedy: %s
"""


@pytest.fixture
def project(folder):
    (folder / "library.py").write_text("def make():\n    pass\n")
    (folder / "train.py").write_text(USER)
    (folder / "session.py").write_text(SCRIPT)
    return folder


@pytest.fixture
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache") / "inner"


@pytest.fixture
def check(run, cache, monkeypatch):
    """Runs a check and returns its outcome, and whether the engine had to work for it."""
    calls = []
    migrate = engine.migrate

    def counting(*arguments):
        calls.append(arguments)
        return migrate(*arguments)

    monkeypatch.setattr(engine, "migrate", counting)

    def check(*arguments):
        calls.clear()
        outcome = run("--check", "--cache-dir", cache, *(arguments or (".",)))
        return outcome, bool(calls)

    return check


def entries(cache):
    return [path for path in cache.iterdir() if len(path.name) == 64] if cache.exists() else []


# What is known, and what is not -------------------------------------------------------------------


@pytest.mark.parametrize("options", ((), ("--format=json",), ("-v",), ("-q",), ("-j2",)))
def test_a_check_of_the_same_files_is_known(project, check, run, options):
    outcome, worked = check(".", *options)
    assert worked and outcome.status == 1
    assert check(".", *options) == (outcome, False)
    assert run("--check", "--no-cache", ".", *options) == outcome


def test_all_that_a_result_holds_is_known(project, check):
    (project / "broken.py").write_text("def f(:\n")
    (project / "notes.ipynb").write_text(
        '{"cells": [{"cell_type": "code", "source": "!mpirun a"}]}'
    )
    (project / "r.ipynb").write_text('{"cells": [], "metadata": {"kernelspec": {"language": "R"}}}')
    (project / "quiet.py").write_text(SCRIPT.rstrip() + "  # npu-migrate: ignore\n")
    (project / "run.sh").write_text("horovodrun -np 2 python train.py\n")
    (project / "latin.py").write_bytes("# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"))
    for options in ((), ("--format=json",), ("--format=github",)):
        outcome, _ = check(".", *options)
        assert check(".", *options) == (outcome, False)
    assert "broken.py" in outcome.err


@pytest.mark.parametrize(
    "options",
    (
        ("--ignore=NPU401",),
        ("--select=NPU1",),
        ("--extend-select=NPU5",),
        ("--loss-scale=dynamic",),
        ("--loss-scale=8",),
        ("--precision-mode=mixed_float16",),
        ("--optimizer=combined",),
        ("--estimator=classes",),
        ("--removed=delete",),
        ("--exclude=session.py",),
    ),
)
def test_other_options_are_another_check(project, check, options):
    check()
    assert check(".", *options)[1]
    assert not check(".", *options)[1]
    assert not check()[1]


def test_a_changed_file_is_another_check(project, check):
    first, _ = check()
    (project / "session.py").write_text("session = None\n")
    second, worked = check()
    assert worked and second != first
    (project / "session.py").write_text(SCRIPT)
    assert check() == (first, False)


def test_a_change_that_keeps_size_and_time_is_another_check(project, check):
    path = project / "session.py"
    check()
    times = path.stat()
    path.write_text(SCRIPT.replace("Session", "session"))
    os.utime(str(path), ns=(times.st_atime_ns, times.st_mtime_ns))
    assert check()[1]


def test_other_files_are_another_check(project, check):
    check()
    (project / "session.py").rename(project / "other.py")
    assert check()[1]
    (project / "other.py").unlink()
    assert check()[1]
    (project / "empty.py").touch()
    assert check()[1]
    assert check("train.py", "library.py")[1]


def test_what_runs_with_a_file_is_part_of_its_check(project, check):
    check("train.py")
    assert not check("train.py")[1]
    (project / "library.py").write_text(
        "import horovod.tensorflow as hvd\n\ndef make():\n    pass\n"
    )
    assert check("train.py")[1]
    assert check("train.py", "library.py")[1]
    assert not check("train.py")[1]


def test_a_package_that_begins_further_up_is_another_check(folder, check):
    (folder / "inner").mkdir()
    (folder / "inner" / "train.py").write_text(SCRIPT)
    check("inner")
    (folder / "inner" / "__init__.py").touch()
    check("inner/train.py")
    (folder / "__init__.py").touch()
    assert check("inner/train.py")[1]


def test_settings_are_part_of_a_check(project, check):
    check()
    settings = project / "pyproject.toml"
    settings.write_text('[tool.npu-migrate.per-file-ignores]\n"session.py" = ["NPU4"]\n')
    outcome, worked = check()
    assert worked and "session.py" not in outcome.out
    settings.write_text('[tool.npu-migrate.per-file-ignores]\n"session.py" = ["NPU1"]\n')
    assert check()[1]


def test_own_rules_are_part_of_a_check(project, check):
    (project / "session.py").write_text("import acme\n\nacme.counter()\n")
    (project / "mine").mkdir()
    (project / "mine" / "acme.yaml").write_text(MINE % "leave it out")
    outcome, _ = check("session.py", "--rules", "mine")
    assert "leave it out" in outcome.out
    assert check("session.py", "--rules", "mine") == (outcome, False)
    assert check("session.py")[1]
    (project / "mine" / "acme.yaml").write_text(MINE % "count yourself")
    outcome, worked = check("session.py", "--rules", "mine")
    assert worked and "count yourself" in outcome.out
    (project / "mine" / "acme.yaml").write_text("family: [\n")
    outcome, _ = check("session.py", "--rules", "mine")
    assert outcome.status == 2 and "acme.yaml" in outcome.err


def test_the_tool_and_its_python_are_part_of_a_check(project, check, monkeypatch, tmp_path):
    check()
    with monkeypatch.context() as patch:
        patch.setattr(key.sys, "version", "3.99")
        assert check()[1]
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "engine.py").write_text("VERSION = 2\n")
    monkeypatch.setattr(key, "_PACKAGE", str(tmp_path / "tool"))
    assert check()[1]
    (tmp_path / "tool" / "engine.py").write_text("VERSION = 3\n")
    assert check()[1]


def test_a_baseline_is_not_remembered(project, check, run):
    outcome, _ = check()
    assert run(".", "--baseline=known.json", "--write-baseline").status == 0
    outcome, worked = check(".", "--baseline=known.json")
    assert not worked and outcome.status == 0
    (project / "known.json").write_text('{"version": 2, "findings": {}}')
    outcome, worked = check(".", "--baseline=known.json")
    assert not worked and outcome.status == 1


def test_a_file_that_changes_meanwhile_is_not_remembered(project, check, cache, monkeypatch):
    migrate = engine.migrate

    def changing(*arguments):
        results = migrate(*arguments)
        (project / "session.py").write_text("session = None\n")
        return results

    with monkeypatch.context() as patch:
        patch.setattr(engine, "migrate", changing)
        check()
    assert not entries(cache)
    (project / "session.py").write_text(SCRIPT)
    assert check()[1]


def test_what_may_be_otherwise_next_time_is_not_remembered(project, check, cache):
    (project / "deep.py").write_text("x = " + "-" * 100_000 + "1\n")
    outcome, _ = check("deep.py")
    assert "nested too deeply" in outcome.err
    assert not entries(cache)


def test_a_file_that_cannot_be_read_is_not_remembered(tmp_path, ordinary_user, run, folder):
    (tmp_path / "open.py").write_text(SCRIPT)
    (tmp_path / "closed.py").write_text(SCRIPT)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept").chmod(0o777)
    check = ("--check", "--cache-dir", "kept", "open.py", "closed.py")
    expected = run("--no-cache", *check)
    (tmp_path / "closed.py").chmod(0)
    with ordinary_user():
        assert "permission denied" in run(*check).err
        assert not entries(tmp_path / "kept")
    (tmp_path / "closed.py").chmod(0o644)
    with ordinary_user():
        assert run(*check) == expected
        assert entries(tmp_path / "kept")


def test_what_writes_or_shows_texts_works_anew(project, check, run, cache):
    check()
    assert run("--diff", "--cache-dir", cache, ".").out.startswith("---")
    assert run("--check", "--diff", "--cache-dir", cache, ".").out.startswith("---")
    assert run("--cache-dir", cache, ".").status == 0
    assert len(entries(cache)) == 1
    assert "npu_config_proto" in (project / "session.py").read_text()
    assert check()[0].status == 0


# Where it is --------------------------------------------------------------------------------------


def test_no_cache(project, run, cache):
    run("--check", "--no-cache", "--cache-dir", cache, ".")
    assert not cache.exists()


def test_it_is_among_the_caches_of_the_user(project, run, tmp_path, monkeypatch):
    caches = tmp_path / "mine"
    monkeypatch.setattr(cache_folder.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(caches))
    before = sorted(os.listdir("."))
    run("--check", ".")
    assert len(entries(caches / "npu-migrate")) == 1
    assert sorted(set(os.listdir(".")) - {"mine"}) == before


def test_a_user_without_a_home_has_none(project, run, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(cache_folder.os.path, "expanduser", lambda path: path)
    before = sorted(os.listdir("."))
    assert run("--check", ".").status == 1
    assert sorted(os.listdir(".")) == before


def test_the_settings_say_where_it_is(project, run, monkeypatch):
    (project / "pyproject.toml").write_text('[tool.npu-migrate]\ncache-dir = ".cache/npu"\n')
    (project / "inner").mkdir()
    (project / "inner" / "a.py").write_text(SCRIPT)
    monkeypatch.chdir(project / "inner")
    run("--check", ".")
    assert len(entries(project / ".cache" / "npu")) == 1


def test_git_leaves_it_alone(project, run):
    run("--check", "--cache-dir", "kept", ".")
    assert (project / "kept" / ".gitignore").read_text() == "*\n"
    assert run("-q", "-o", "../ported", ".").status == 0
    assert not (project.parent / "ported" / "kept").exists()


def test_a_folder_that_was_there_is_not_hidden(project, run):
    run("--check", "--cache-dir", ".", ".")
    assert not (project / ".gitignore").exists()
    assert len(entries(project)) == 1


def test_a_closed_folder_is_no_error(tmp_path, ordinary_user, run, monkeypatch, folder):
    (tmp_path / "a.py").write_text(SCRIPT)
    (tmp_path / "kept").mkdir(mode=0o555)
    with ordinary_user():
        for place in ("kept", "kept/inner"):
            outcome = run("--check", "--cache-dir", place, "a.py")
            assert (outcome.status, outcome.err) == (1, "")
    assert not list((tmp_path / "kept").iterdir())


def test_a_file_in_its_place_is_no_error(project, run):
    (project / "kept").write_text("mine")
    outcome = run("--check", "--cache-dir", "kept", ".")
    assert (outcome.status, outcome.err) == (1, "")
    assert (project / "kept").read_text() == "mine"


def test_it_does_not_grow_for_ever(project, check, cache, monkeypatch):
    monkeypatch.setattr(cache_folder, "KEPT", 3)
    check()
    (cache / "of_mine.txt").write_text("keep this")
    os.utime(str(entries(cache)[0]), (1, 1))
    for scale in range(1, 6):
        check(".", f"--loss-scale={scale}")
        assert not check(".", f"--loss-scale={scale}")[1]
    assert len(entries(cache)) == 3
    assert check()[1]
    assert (cache / "of_mine.txt").exists()


# What is not as it was written --------------------------------------------------------------------


class Planted:
    """Runs a command where it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("planted",)


def signed(entry):
    return hashlib.sha256(entry).hexdigest().encode() + b"\n" + entry


ROW = [[], [], [], "", False, "", True]
FINDING = ["NPU401", "a", 1, 1, "", "manual", "text", False, "", 0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        pickle.dumps(Planted()),
        signed(pickle.dumps(Planted())),
        signed(b"[" * 100_000),
        signed(b"9" * 10_000),
        signed(b"\xff"),
        *(
            signed(json.dumps(value).encode())
            for value in (
                [],
                None,
                {"": ROW},
                {"9": ROW},
                {"-1": ROW},
                {"0": None},
                {"0": []},
                {"0": [*ROW, ""]},
                {"0": [None, *ROW[1:]]},
                {"0": [["message"], *ROW[1:]]},
                {"0": [[], [None], *ROW[2:]]},
                {"0": [[], [FINDING[:-1]], *ROW[2:]]},
                {"0": [[], [[*FINDING[:5], "done", *FINDING[6:]]], *ROW[2:]]},
                {"0": [[], [["NPU401", "a", "1", *FINDING[3:]]], *ROW[2:]]},
                {"0": [[], [["NPU401", "a", True, *FINDING[3:]]], *ROW[2:]]},
            )
        ),
    ],
)
def test_a_foreign_entry_is_written_anew(project, check, cache, content):
    outcome, _ = check()
    (path,) = entries(cache)
    written = path.read_bytes()
    path.write_bytes(content)
    assert check() == (outcome, True)
    assert path.read_bytes() == written
    assert check() == (outcome, False)
    assert not (project / "planted").exists()


def test_a_damaged_entry_is_written_anew(project, check, cache):
    outcome, _ = check("session.py")
    (path,) = entries(cache)
    written = path.read_bytes()
    for place in range(0, len(written), 7):
        flipped = bytes([written[place] ^ 1])
        for damaged in (written[:place], written[:place] + flipped + written[place + 1 :]):
            path.write_bytes(damaged)
            assert check("session.py") == (outcome, True)
            assert path.read_bytes() == written


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_an_entry_that_is_no_file(project, check, cache):
    outcome, _ = check()
    (path,) = entries(cache)
    path.unlink()
    os.mkfifo(str(path))
    assert check() == (outcome, True)
    path.unlink()
    path.mkdir()
    assert check() == (outcome, True)
    path.rmdir()
    outside = project / "outside"
    outside.write_text("mine")
    path.symlink_to(outside)
    assert check() == (outcome, True)
    assert outside.read_text() == "mine" and not path.is_symlink()


# Several runs at once -----------------------------------------------------------------------------


def test_runs_at_once(project, cache):
    """Some check, some damage what is kept, and all say the same."""
    command = [sys.executable, "-m", "npu_migrate", "--check", "--cache-dir", str(cache), "."]
    expected = subprocess.run([*command, "--no-cache"], capture_output=True)
    for _ in range(3):
        runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
        while any(run.poll() is None for run in runs):
            for path in entries(cache):
                path.write_bytes(b"half")
            time.sleep(0.02)
        for run in runs:
            assert run.stdout.read() == expected.stdout
            run.stdout.close()
            assert run.returncode == expected.returncode == 1
    assert not [path for path in cache.iterdir() if path.name.count(".") > 1]


# What it costs ------------------------------------------------------------------------------------


def test_what_is_known_is_told_without_reading_rules_or_trees(project, cache):
    program = (
        "import sys; from npu_migrate import cli; "
        f"cli.main(['--check', '--cache-dir', {str(cache)!r}, '.']); "
        "print(*(name for name in sys.modules if name in sys.argv), file=sys.stderr)"
    )
    slow = ["yaml", "libcst", "rich", "jinja2", "pygments", "difflib", "tempfile"]
    slow += [f"npu_migrate.{name}" for name in ("rules", "engine", "plan", "names", "scan")]
    for loaded in (True, False):
        run = subprocess.run([sys.executable, "-c", program, *slow], capture_output=True)
        assert run.stdout.decode().count("NPU401") == 2
        assert bool(run.stderr.split()) is loaded, run.stderr


def test_every_part_of_a_result_is_kept():
    """But for what a check has none of: new texts with their changes, and known findings."""
    kept = {*("error", "findings", "suppressed", "program"), *("is_held_back", "skipped")}
    of_other_runs = {"before", "after", "changes", "on_npu", "known"}
    assert {f.name for f in fields(FileResult)} == kept | of_other_runs | {"path", "would_change"}
    assert len(fields(Finding)) == len(entry._FINDING) + 1  # its path is that of the file
