"""The settings of a project in its ``pyproject.toml``."""

import subprocess
import sys

import pytest

from npu_migrate import engine
from npu_migrate.options import Options

SCRIPT = "import tensorflow as tf\n\nsession = tf.Session()\n"


@pytest.fixture
def settings(folder):
    """Writes settings, by default those of the current folder."""

    def settings(text, path="pyproject.toml", head="[tool.npu-migrate]\n"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(head + text)

    (folder / "a.py").write_text(SCRIPT)
    return settings


@pytest.fixture
def asked(run, monkeypatch):
    """Runs the command line and returns the options that reach the engine."""

    def asked(*arguments):
        seen = []

        def migrate(sources, rules, options, advance, beside):
            seen.append(options)
            return []

        with monkeypatch.context() as patch:
            patch.setattr(engine, "migrate", migrate)
            outcome = run(*arguments)
        assert outcome.err == ""
        (options,) = seen
        return options

    return asked


MINE = """
family: mine
rules:
- """
ALL = """
select = ["NPU1", "NPU4"]
extend-select = ["NPU5"]
ignore = ["NPU401"]
removed = "delete"
optimizer = "combined"
estimator = "classes"
loss-scale = 1024
precision-mode = "mixed_float16"
jobs = 2
"""


def test_all_that_can_be_set(settings, asked):
    settings(ALL)
    options = asked("--check", "a.py")
    assert options.select == ("NPU1", "NPU4")
    assert options.extend_select == ("NPU5",)
    assert options.ignore == ("NPU401",)
    assert (options.removed, options.optimizer) == ("delete", "combined")
    assert (options.estimator, options.jobs) == ("classes", 2)
    assert (options.loss_scale, options.precision_mode) == ("1024", "mixed_float16")


def test_the_command_line_has_the_last_word(settings, asked):
    settings(ALL)
    given = ["--select", "NPU6", "--removed", "comment", "--loss-scale", "dynamic", "-j1"]
    options = asked(*given, "a.py")
    assert (options.select, options.removed) == (("NPU6",), "comment")
    assert (options.loss_scale, options.jobs, options.optimizer) == ("dynamic", 1, "combined")


def test_no_settings(settings, asked):
    settings(ALL)
    assert asked("--no-config", "--check", "a.py") == Options(with_texts=False)


def test_a_named_file(settings, asked):
    settings('ignore = ["NPU1"]')
    settings('ignore = ["NPU2"]', "other/team.toml")
    assert asked("--config", "other/team.toml", "a.py").ignore == ("NPU2",)


def test_the_closest_file_with_settings_counts(settings, asked, folder, monkeypatch):
    settings('ignore = ["NPU1"]')
    settings('ignore = ["NPU2"]', "one/pyproject.toml")
    settings("", "one/two/pyproject.toml", '[project]\nname = "npu-migrate-example"\n')
    settings("x = [", "one/two/three/pyproject.toml", "[project]\n")
    (folder / "one" / "two" / "b.py").write_text(SCRIPT)
    (folder / "one" / "two" / "three" / "c.py").write_text(SCRIPT)
    assert asked("one/two/b.py").ignore == ("NPU2",)
    assert asked("one/two/three").ignore == ("NPU2",)
    assert asked("one/two/b.py", "one/two/three").ignore == ("NPU2",)
    assert asked("one/two/b.py", "a.py").ignore == ("NPU1",)
    monkeypatch.chdir(folder / "one" / "two")
    assert asked(".").ignore == ("NPU2",)


def test_standard_input_has_the_settings_of_the_current_folder(settings, folder):
    settings('ignore = ["NPU4"]')
    command = [sys.executable, "-m", "npu_migrate", "-"]
    done = subprocess.run(command, input=SCRIPT.encode(), stdout=subprocess.PIPE, cwd=str(folder))
    assert done.stdout == SCRIPT.encode()


def test_paths_are_relative_to_the_file(settings, run, folder, monkeypatch):
    rule = "{code: MY001, name: x, match: [os.x], message: m, reason: r, status: note}"
    settings('rules = ["mine"]\nexclude = ["/code/old"]\nbaseline = "known.json"')
    for path, text in (
        ("mine/a.yaml", MINE + rule),
        ("code/a.py", SCRIPT),
        ("code/old/b.py", SCRIPT),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    monkeypatch.chdir(folder / "code")
    assert "MY001" in run("--list-rules").out
    outcome = run("--write-baseline", ".")
    assert (outcome.status, outcome.out) == (0, "1 of 1 file would change, 1 known\n")
    assert '"code/a.py"' in (folder / "known.json").read_text()
    monkeypatch.chdir(folder)
    assert run("--check", ".").status == 1
    assert run("--check", "code").out == "1 of 1 file would change, 1 known\n"


def test_patterns_on_the_command_line_are_relative_to_the_current_folder(
    settings, run, folder, monkeypatch
):
    settings('exclude = ["a.py"]')
    (folder / "code").mkdir()
    (folder / "code" / "b.py").write_text(SCRIPT)
    (folder / "code" / "c.py").write_text(SCRIPT)
    monkeypatch.chdir(folder / "code")
    outcome = run("--check", "--exclude", "/b.py", ".", "../a.py")
    assert "c.py" in outcome.out and "a.py" in outcome.out and "b.py" not in outcome.out


@pytest.mark.parametrize(
    "arguments, found",
    [
        ([], "bd"),
        (["--extend-exclude", "b.py"], "d"),
        (["--exclude", "b.py"], "ad"),
        (["--exclude", "b.py", "--extend-exclude", "a.py"], "d"),
    ],
)
def test_what_is_left_out_besides(settings, run, folder, arguments, found):
    settings('exclude = ["a.py"]\nextend-exclude = ["/code/c.py"]')
    (folder / "code").mkdir()
    for name in ("a.py", "b.py", "code/c.py", "code/d.py"):
        (folder / name).write_text(SCRIPT)
    out = run("--check", *arguments, ".").out
    assert [name for name in "abcd" if f"{name}.py:3" in out] == list(found)


@pytest.mark.parametrize(
    "pattern, found",
    [
        ("a.py", ["code/b.py"]),
        ("*.py", []),
        ("code/", ["a.py"]),
        ("code/**", ["a.py"]),
        ("/b.py", ["a.py", "code/b.py"]),
        ("b.py", ["a.py"]),
    ],
)
def test_codes_ignored_in_some_files(settings, run, folder, pattern, found):
    settings(f'[tool.npu-migrate.per-file-ignores]\n"{pattern}" = ["NPU4"]', head="")
    (folder / "code").mkdir()
    (folder / "code" / "b.py").write_text(SCRIPT)
    outcome = run("--check", ".")
    assert [line.split(":")[0] for line in outcome.out.splitlines() if "NPU401" in line] == found
    assert (folder / "a.py").read_text() == SCRIPT


WRONG = {
    "key": ("selct = []", "[tool.npu-migrate] selct: unknown key (did you mean select?)"),
    "underscore": ('loss_scale = "dynamic"', "loss_scale: unknown key (did you mean loss-scale?)"),
    "far off": ("colour = 1", "colour: unknown key; there are select, extend-select, "),
    "text": ('ignore = "NPU1"', "ignore: a list of texts belongs here, not the text 'NPU1' (write"),
    "item": ("ignore = [1]", "ignore: texts belong in this list, not 1"),
    "list": ('removed = ["delete"]', "removed: text belongs here, not a list"),
    "choice": ('removed = "drop"', "removed: 'drop' is not one of 'comment', 'delete'"),
    "mode": ('precision-mode = "float8"', "precision-mode: 'float8' is not one of"),
    "number": ('jobs = "2"', "jobs: a whole number belongs here, not the text '2'"),
    "flag": ("jobs = true", "jobs: a whole number belongs here, not true"),
    "range": ("jobs = 0", "jobs: 0 is not in the range"),
    "scale": ("loss-scale = 0.5", "loss-scale: a loss scale is a number of 1 or more, not 0.5"),
    "code": ('ignore = ["NPU10l"]', "ignore: no rule's code is or starts with NPU10L (did you"),
    "files": ('per-file-ignores = ["a.py"]', "per-file-ignores: patterns with lists of codes"),
    "in file": ('per-file-ignores."a.py" = "NPU1"', "per-file-ignores.a.py: a list of texts"),
    "code in file": ('per-file-ignores."a.py" = ["X1"]', "per-file-ignores.a.py: no rule's code"),
    "rules": ('rules = ["gone"]', "gone: no such folder"),
    "rules are named": ('rules = ["gone"]', "pyproject.toml: [tool.npu-migrate] rules: gone"),
    "no toml": ("x = [", "pyproject.toml: no TOML: "),
}


@pytest.mark.parametrize("text, message", WRONG.values(), ids=list(WRONG))
def test_what_is_wrong_is_named_with_file_and_key(settings, run, folder, text, message):
    settings(text)
    outcome = run("a.py")
    assert (outcome.status, outcome.out) == (2, "")
    assert message in outcome.err
    assert "pyproject.toml: " in outcome.err
    assert (folder / "a.py").read_text() == SCRIPT


def test_all_that_is_wrong_is_named_at_once(settings, run):
    settings('selct = []\njobs = "2"\nignore = 1\n')
    errors = run("a.py").err
    assert all(f"[tool.npu-migrate] {key}: " in errors for key in ("selct", "jobs", "ignore"))
    settings('removed = "drop"\noptimizer = "both"\n')
    assert "removed: 'drop'" in run("a.py").err and "optimizer: 'both'" in run("a.py").err
    settings('ignore = ["X1"]\nselect = ["X2", "X3"]\n')
    assert all(code in run("a.py").err for code in ("X1", "X2", "X3"))


def test_a_table_that_is_written_otherwise_is_no_silence(settings, run):
    settings("jobs = 2\n", head="[tool.npu_migrate]\n")
    assert "[tool.npu_migrate] is written [tool.npu-migrate]" in run("a.py").err


def test_settings_nested_too_deeply(settings, run):
    settings(f"x = {'[' * 100_000}")
    outcome = run("a.py")
    assert outcome.status == 2 and "pyproject.toml: no TOML: " in outcome.err


def test_codes_may_stand_in_one_text(settings, run):
    settings('ignore = ["NPU4, NPU6"]\n')
    assert run("--check", "a.py").status == 0


def test_no_baseline(settings, run):
    settings('baseline = ""\n')
    assert "a.py:3:11 NPU401" in run("--check", "a.py").out


def test_settings_of_a_folder_that_is_reached_by_a_link(settings, run, folder, tmp_path_factory):
    settings('per-file-ignores = {"code/a.py" = ["NPU4"]}\n')
    (folder / "code").mkdir()
    (folder / "code" / "a.py").write_text(SCRIPT)
    link = tmp_path_factory.mktemp("elsewhere") / "link"
    link.symlink_to(folder / "code", target_is_directory=True)
    assert run("--check", link).status == 0


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--config", "gone.toml"], "gone.toml: cannot be read: no such file or directory"),
        (["--config", "empty.toml"], "empty.toml: there is no table [tool.npu-migrate]"),
        (["--config", "empty.toml", "--no-config"], "use one of them"),
    ],
)
def test_a_named_file_that_is_of_no_use(settings, run, folder, arguments, message):
    (folder / "empty.toml").write_text("")
    outcome = run(*arguments, "a.py")
    assert outcome.status == 2
    assert message in outcome.err


def test_toml_is_read_only_where_there_may_be_settings(folder):
    (folder / "pyproject.toml").write_text('[tool.other]\nname = "x"\n')
    code = (
        "import sys; from npu_migrate.cli import main; main(['--list-rules']);"
        "print({'tomllib', 'tomli'} & set(sys.modules))"
    )
    out = subprocess.check_output([sys.executable, "-c", code], cwd=str(folder))
    assert out.decode().splitlines()[-1] == "set()"
