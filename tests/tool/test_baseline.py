"""A baseline lets what is known pass and fails on what is new."""

import json

import pytest

from npu_migrate import engine

SESSION = "import tensorflow as tf\n\nsession = tf.Session()\n"


@pytest.fixture
def known(run, folder):
    """Writes a baseline of the current folder, and returns its findings."""

    def known(path="known.json", *arguments):
        outcome = run("--baseline", path, "--write-baseline", *(arguments or (".",)))
        assert outcome.status == 0, outcome
        return json.loads((folder / path).read_text())["findings"]

    return known


@pytest.fixture
def check(run):
    return lambda *arguments: run("--check", "--baseline", "known.json", *(arguments or (".",)))


@pytest.fixture
def write(folder):
    def write(**texts):
        for name, text in texts.items():
            (folder / f"{name}.py").write_text(text)

    return write


@pytest.mark.usefixtures("words")
class TestWords:
    """With an engine that knows two words: GPU is migrated, CUDA is left for a person."""

    def test_what_is_known_fails_no_check(self, write, known, check, folder):
        write(a="x = GPU\ny = CUDA\n")
        assert check().status == 2
        known()
        assert (folder / "a.py").read_text() == "x = GPU\ny = CUDA\n"
        outcome = check()
        assert (outcome.status, outcome.out) == (0, "1 of 1 file would change, 2 known\n")

    def test_what_is_new_fails_it(self, write, known, check):
        write(a="x = GPU\n")
        known()
        write(a="x = GPU\nz = GPU\n", b="y = CUDA\n")
        outcome = check()
        assert outcome.status == 1
        assert "a.py:2:5 NPU101" in outcome.out and "b.py:1:5 NPU901" in outcome.out
        assert "a.py:1:5" not in outcome.out

    def test_lines_may_move_and_be_indented(self, write, known, check):
        write(a="x = GPU\n")
        known()
        write(a="import os\n\nif x:\n    x = GPU\n")
        assert check().status == 0

    def test_equal_lines_are_counted(self, write, known, check):
        write(a="x = GPU\nx = GPU\n")
        assert list(known()["a.py"].values()) == [2]
        write(a="x = GPU\n" * 3)
        outcome = check()
        assert outcome.status == 1
        assert outcome.out.count("NPU101") == 1 and "2 known" in outcome.out

    def test_a_line_that_changes_is_new(self, write, known, check):
        write(a="x = CUDA\n")
        known()
        write(a="x = CUDA  # a word\n")
        assert check().status == 1

    def test_migrating_migrates_what_is_known_too(self, write, known, run, folder):
        write(a="x = GPU\ny = CUDA\n")
        known()
        outcome = run("--baseline", "known.json", ".")
        assert outcome.status == 0
        assert outcome.out.endswith("1 of 1 file changed, 1 migrated, 1 known\n")
        assert (folder / "a.py").read_text() == "x = NPU\ny = CUDA\n"
        left = json.loads((folder / "known.json").read_text())["findings"]
        assert left == {"a.py": {"NPU901 y = CUDA": 1}}

    def test_what_is_known_stays_so_where_migrating_changes_its_line(
        self, write, known, check, run
    ):
        write(a="y = 0\nx = GPU, CUDA\n\nz = CUDA, 1\n")
        known()
        run("--baseline", "known.json", ".")
        assert check().status == 0
        write(b="y = CUDA\n")
        assert check().status == 1

    def test_what_a_run_does_not_look_at_stays_known(self, write, known, check, run, folder):
        write(a="x = GPU, CUDA\n", b="x = GPU\n")
        known()
        run("--baseline", "known.json", "a.py")
        assert list(json.loads((folder / "known.json").read_text())["findings"]) == ["a.py", "b.py"]

    @pytest.mark.parametrize("arguments", [["--diff"], ["--check"], ["-o", "../out"]])
    def test_who_only_looks_changes_no_baseline(self, write, known, run, folder, arguments):
        write(a="x = GPU, CUDA\n")
        known()
        text = (folder / "known.json").read_text()
        run("--baseline", "known.json", *arguments, "a.py")
        assert (folder / "known.json").read_text() == text

    def test_a_reader_sees_what_is_known(self, write, known):
        write(a="x = GPU\n" + "y = CUDA" + " + 1" * 50 + "\n")
        short, long = known()["a.py"]
        assert short == "NPU101 x = GPU"
        assert long.startswith("NPU901 y = CUDA + 1 + 1") and len(long) < 125

    def test_the_file_is_sorted_and_stable(self, write, known, folder):
        write(b="x = GPU\n", a="y = CUDA\nx = GPU\n")
        assert list(known()) == ["a.py", "b.py"]
        text = (folder / "known.json").read_text()
        assert known() == json.loads(text)["findings"]
        assert (folder / "known.json").read_text() == text
        assert text.endswith("}\n") and len(text.splitlines()) == 12

    def test_writing_anew_takes_out_what_is_gone(self, write, known, folder):
        write(a="x = GPU\n", b="x = GPU\n", c="x = GPU\n", d="x = GPU\n")
        known()
        write(a="x = 1\n", d="x = (\n")
        (folder / "c.py").unlink()
        assert list(known("known.json", "a.py")) == ["b.py", "d.py"]

    def test_a_file_that_cannot_be_read_stays_known(self, write, known, run, folder):
        write(a="x = GPU\n")
        known()
        write(a="x = (\n", b="x = GPU\n")
        assert run("--baseline", "known.json", "--write-baseline", ".").status == 2
        assert list(json.loads((folder / "known.json").read_text())["findings"]) == ["a.py", "b.py"]

    def test_paths_are_relative_to_the_baseline(self, write, known, run, folder, monkeypatch):
        (folder / "one").mkdir()
        (folder / "one" / "a.py").write_text("x = GPU\n")
        assert list(known()) == ["one/a.py"]
        monkeypatch.chdir(folder / "one")
        assert run("--check", "--baseline", "../known.json", "a.py").status == 0

    def test_reports_for_machines_count_what_is_known(self, write, known, check):
        write(a="x = GPU\n")
        known()
        report = json.loads(check("--format", "json", ".").out)
        assert (report["findings"], report["summary"]["known"]) == ([], 1)


def test_the_engine_s_own_findings(write, known, check):
    write(a=SESSION)
    known()
    assert check().status == 0
    write(b=SESSION)
    assert check().status == 1


def test_what_other_rules_found_stays_known(write, known, check, folder):
    write(a=SESSION + "strategy = tf.distribute.experimental.ParameterServerStrategy()\n")
    (all_known,) = known().values()
    assert len(all_known) == 2
    assert known("known.json", "--select", "NPU4", ".") == {"a.py": all_known}
    assert check().status == 0


def test_a_mark_of_the_encoding_is_no_fault(write, known, check, folder):
    write(a=SESSION)
    known()
    text = (folder / "known.json").read_text()
    (folder / "known.json").write_text(text, encoding="utf-8-sig")
    assert check().status == 0


def test_a_folder_may_be_reached_by_a_link(write, known, check, folder, run, monkeypatch):
    (folder / "project").mkdir()
    (folder / "link").symlink_to("project", target_is_directory=True)
    (folder / "project" / "a.py").write_text(SESSION)
    assert list(known("project/known.json", "project")) == ["a.py"]
    assert run("--check", "--baseline", "project/known.json", "link").status == 0


def test_notebooks_and_shell_scripts(known, check, folder):
    cells = [{"cell_type": "code", "source": SESSION}]
    (folder / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}}))
    (folder / "a.sh").write_text("horovodrun -np 2 python train.py\n")
    assert list(known()) == ["a.ipynb", "a.sh"]
    cells.insert(0, {"cell_type": "code", "source": "x = 1"})
    (folder / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}}))
    assert check().status == 0
    cells.append({"cell_type": "code", "source": "s = tf.InteractiveSession()"})
    (folder / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}}))
    assert check().status == 1


@pytest.mark.parametrize(
    "text, message",
    [
        (None, "known.json: there is no such baseline; write it with --write-baseline"),
        ("{", "known.json: no JSON: "),
        ("<<<<<<< HEAD\n{}", "correct it, or delete it and write it anew with --write-baseline"),
        ("[" * 100_000, "known.json: no JSON: "),
        ("[]", "known.json: no baseline of version 2"),
        ('{"version": 1}', "known.json: no baseline of version 2"),
        ('{"version": 2, "findings": {"a.py": ["NPU101"]}}', "its findings are no counts"),
    ],
)
def test_a_baseline_that_is_of_no_use(write, check, folder, monkeypatch, text, message):
    def migrate(*arguments):
        raise AssertionError("there is nothing to compare with")

    monkeypatch.setattr(engine, "migrate", migrate)
    write(a=SESSION)
    if text is not None:
        (folder / "known.json").write_text(text)
    outcome = check()
    assert (outcome.status, outcome.out) == (2, "")
    assert message in outcome.err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--write-baseline"], "needs the name of the file: --baseline FILE"),
        (["--write-baseline", "--baseline=x", "--diff"], "writes a baseline alone"),
        (["--write-baseline", "--baseline=x", "--check"], "--check writes nothing"),
        (["--write-baseline", "--baseline=a.py"], "a.py: no JSON"),
        (["--write-baseline", "--baseline=x", "-o", "out"], "writes a baseline alone"),
        (["--write-baseline", "--baseline=x", "--add-ignores"], "writes a baseline alone"),
        (["--write-baseline", "--baseline=gone/x"], "gone/x is in a folder that does not exist"),
    ],
)
def test_wrong_usage(write, run, arguments, message):
    write(a=SESSION)
    outcome = run(*arguments, "a.py")
    assert (outcome.status, outcome.out) == (2, "")
    assert message in outcome.err
