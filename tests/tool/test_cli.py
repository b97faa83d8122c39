import io
import json
import os
import re
import subprocess
import sys

import pytest

from npu_migrate import __version__, cli, engine, sources
from npu_migrate.options import Options
from npu_migrate.reports.explain import in_words
from npu_migrate.rules import load

pytestmark = pytest.mark.usefixtures("words")

CLEAN = b"x = 1\n"
MIGRATED = b"a = 1\nb = 'GPU'\n"
LEFT = b"a = CUDA\nb = GPU\n"


@pytest.fixture
def make(folder):
    def make(**files):
        for name, data in files.items():
            (folder / f"{name}.py").write_bytes(data)

    return make


@pytest.fixture
def read(folder):
    return lambda name: (folder / f"{name}.py").read_bytes()


# In place


def test_rewriting_in_place(make, read, run):
    make(a=MIGRATED, b=CLEAN)
    outcome = run(".")
    assert outcome.status == 0
    assert outcome.out == "a.py:2:6 NPU101 GPU becomes NPU\n\n1 of 2 files changed, 1 migrated\n"
    assert outcome.err == ""
    assert read("a") == b"a = 1\nb = 'NPU'\n"


def test_a_file_that_needs_no_change_is_not_written(make, run, folder):
    make(a=CLEAN, b=MIGRATED)
    os.utime("a.py", (1, 1))
    os.utime("b.py", (1, 1))
    run(".")
    assert os.stat("a.py").st_mtime == 1
    assert os.stat("b.py").st_mtime != 1


def test_what_is_left_comes_with_its_remedy(make, run):
    make(a=LEFT)
    outcome = run("a.py")
    assert outcome.status == 1
    assert outcome.out == (
        "a.py:2:5 NPU101 GPU becomes NPU\n"
        "\n"
        "Left for you:\n"
        "a.py:1:5 NPU901 CUDA is left (assumed)\n"
        "    write it anew\n"
        "\n"
        "1 of 1 file changed, 1 migrated, 1 left for you (1 manual)\n"
    )


def test_nothing_to_do(make, run):
    make(a=CLEAN, empty=b"")
    outcome = run(".")
    assert (outcome.status, outcome.out) == (0, "0 of 2 files changed\n")


def test_a_run_that_writes_nothing_says_what_another_would_do(make, run):
    make(a=LEFT)
    title = "To migrate (run npu-migrate):\n"
    for mode in ("--check", "--diff"):
        outcome = run(mode, "--output-file", "report.txt", "a.py")
        with open("report.txt") as file:
            report = file.read()
        assert report.startswith(f"{title}a.py:2:5 NPU101 GPU becomes NPU\n\nLeft for you:\n")
        assert "1 to migrate (run npu-migrate), 1 left for you (1 manual)\n" in report
    assert outcome.status == 1
    assert title not in run("a.py").out


def test_a_name_of_a_file_does_nothing_to_the_terminal(folder, run):
    name = "a\n\x1b[2J\u202e.py"
    with open(name, "wb") as file:
        file.write(MIGRATED)
    outcome = run("--check", name)
    assert "a⟨U+000A⟩⟨U+001B⟩[2J⟨U+202E⟩.py:2:6 NPU101 " in outcome.out


def test_quiet_and_verbose(make, run):
    make(a=MIGRATED)
    assert (
        run("--check", "-q", "a.py").out
        == "1 of 1 file would change, 1 to migrate (run npu-migrate)\n"
    )
    rule = load().by_code["NPU101"]
    verbose = run("--check", "-v", "a.py").out
    assert f"    why: {' '.join(rule.reason.split())}\n" in verbose
    assert f"    see: {rule.documentation}\n" in verbose


# --check and --diff


@pytest.mark.parametrize("data, status", [(CLEAN, 0), (MIGRATED, 1), (LEFT, 1), (b"a = CUDA\n", 1)])
def test_check_fails_while_there_is_a_finding(make, read, run, data, status):
    make(a=data)
    assert run("--check", "a.py").status == status
    assert read("a") == data


@pytest.mark.parametrize("data, status", [(CLEAN, 0), (MIGRATED, 0), (LEFT, 1), (b"a = CUDA\n", 1)])
def test_diff_and_in_place_fail_while_something_is_left(make, read, run, data, status):
    make(a=data)
    assert run("--diff", "a.py").status == status
    assert read("a") == data
    assert run("a.py").status == status


def test_diff_has_standard_output_to_itself(make, run):
    make(a=MIGRATED, b=CLEAN)
    outcome = run("--diff", ".")
    assert outcome.out == (
        "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n a = 1\n-b = 'GPU'\n+b = 'NPU'\n"
    )
    assert outcome.err.endswith("1 of 2 files would change, 1 to migrate (run npu-migrate)\n")


def test_a_diff_keeps_escape_sequences_of_sources(make, run):
    make(a=b"red = '\x1b[31m'\n" + MIGRATED)
    assert "\n red = '\x1b[31m'\n" in run("--diff", ".").out


def test_check_and_diff_together(make, run):
    make(a=MIGRATED)
    outcome = run("--check", "--diff", "a.py")
    assert outcome.status == 1
    assert outcome.out.startswith("--- a/a.py")


def test_a_check_says_what_would_change_and_a_page_shows_it(make, run):
    make(a=MIGRATED)
    outcome = run("--check", "--report", "page.html", "a.py")
    assert outcome.out.endswith("1 of 1 file would change, 1 to migrate (run npu-migrate)\n")
    with open("page.html", encoding="utf-8") as page:
        shown = page.read()
    run("--report", "page.html", "a.py")
    with open("page.html", encoding="utf-8") as page:
        assert shown.count("NPU") == page.read().count("NPU")


def test_a_page_is_about_the_folder_and_says_with_which_settings(make, run, folder):
    make(a=MIGRATED)
    (folder / "pyproject.toml").write_text('[tool.npu-migrate]\nexclude = ["old/"]\n')
    run("--check", "--loss-scale", "dynamic", "-j", "2", "--report", "page.html", ".")
    page = (folder / "page.html").read_text("utf-8")
    assert f"<title>{folder.name}: move to Ascend NPUs</title>" in page
    settings = re.search(r"<dt>Settings</dt><dd>(.*?)</dd>", page).group(1)
    assert re.sub("</?code>", "", settings).strip() == (
        "--config pyproject.toml --exclude old/ --loss-scale dynamic"
    )


# JSON


def test_json(make, run):
    make(a=LEFT, bad=b"x = (\n")
    outcome = run("--check", "--format", "json", ".")
    assert outcome.status == 2
    assert json.loads(outcome.out) == {
        "version": 1,
        "findings": [
            {
                "code": "NPU901",
                "name": "cuda",
                "path": "a.py",
                "line": 1,
                "column": 5,
                "symbol": "CUDA",
                "status": "manual",
                "assumed": True,
                "message": "CUDA\nis left",
                "remedy": "write it anew",
            },
            {
                "code": "NPU101",
                "name": "word",
                "path": "a.py",
                "line": 2,
                "column": 5,
                "symbol": "GPU",
                "status": "migrated",
                "assumed": False,
                "message": "GPU becomes NPU",
                "remedy": "",
            },
        ],
        "errors": [
            {
                "path": "bad.py",
                "line": 1,
                "message": json.loads(outcome.out)["errors"][0]["message"],
                "remedy": json.loads(outcome.out)["errors"][0]["remedy"],
            }
        ],
        "skipped": [],
        "summary": {
            "files": 2,
            "changed": 1,
            "migrated": 1,
            "manual": 1,
            "unsupported": 0,
            "note": 0,
            "suppressed": 0,
            "known": 0,
            "errors": 1,
        },
    }


@pytest.mark.parametrize(
    "arguments", [(), ("--check",), ("--diff",), ("-q",), ("-v",), ("-o", "out")]
)
def test_json_is_alone_on_standard_output(make, run, arguments):
    make(a=CLEAN)
    outcome = run(*arguments, "--format", "json", "a.py")
    assert outcome.status == 0
    assert json.loads(outcome.out)["findings"] == []
    make(a=LEFT)
    assert json.loads(run(*arguments, "--format=json", "a.py", "gone.py").out)["findings"]


# Standard input


@pytest.fixture
def stdin(monkeypatch):
    def stdin(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return stdin


def test_standard_input_goes_to_standard_output(run, stdin):
    stdin(b"a = CUDA\r\nb = GPU")
    outcome = run("-")
    assert outcome.status == 1
    assert outcome.out == "a = CUDA\r\nb = NPU"
    assert "<stdin>:2:5 NPU101" in outcome.err


def test_standard_input_with_check_and_diff(run, stdin):
    stdin(MIGRATED)
    outcome = run("--check", "-")
    assert outcome.status == 1
    assert "\n<stdin>:2:6 NPU101" in outcome.out
    stdin(MIGRATED)
    assert run("--diff", "-").out.startswith("--- a/<stdin>\n")


def test_standard_input_in_another_encoding(folder):
    data = "# coding: gbk\r\n# 注释\r\nx = 1".encode("gbk")
    command = [sys.executable, "-m", "npu_migrate", "-"]
    assert subprocess.check_output(command, input=data, stderr=subprocess.DEVNULL) == data


def test_standard_input_that_is_no_python(run, stdin):
    stdin(b'print "x"\n')
    outcome = run("-")
    assert (outcome.status, outcome.out) == (2, "")
    assert "<stdin>:1: error: Python 2 syntax: print statement" in outcome.err


# Bad input


BAD = {
    "python2": (b"import os\nprint 'x'\n", "bad.py:2: error: Python 2 syntax: print statement"),
    "utf8": (b"x = 1\n# \xff\n", "bad.py:2: error: not UTF-8"),
    "cookie": (b"# coding: ascii\nx = '\xe9'\n", "bad.py:2: error: the coding line says ascii"),
    "nul": (b"x = 1\0\n", "bad.py:1: error: NUL bytes"),
    "nested": (b"x = " + b"(" * 10000 + b")" * 10000, "nest"),
}


@pytest.mark.parametrize("data, message", BAD.values(), ids=list(BAD))
@pytest.mark.parametrize("arguments", [(), ("--check",), ("--diff",), ("-q",)])
def test_a_bad_file_is_named_and_the_others_are_done(make, read, run, arguments, data, message):
    make(a=MIGRATED, bad=data, c=MIGRATED)
    outcome = run(*arguments, ".")
    assert outcome.status == 2
    assert message in outcome.err
    assert "1 error" in outcome.out + outcome.err
    assert read("bad") == data
    if arguments in ((), ("-q",)):
        assert read("a") == read("c") == MIGRATED.replace(b"GPU", b"NPU")


def test_missing_paths_and_folders_without_python(make, read, run, folder):
    make(a=MIGRATED)
    (folder / "empty").mkdir()
    outcome = run("gone.py", "empty", "a.py")
    assert outcome.status == 2
    assert outcome.err == (
        "gone.py: error: cannot be read: no such file or folder; check the path\n"
        "empty: error: no Python files here; name the folder or the files that hold the scripts\n"
    )
    assert b"NPU" in read("a")


def test_links_that_lead_round(make, read, run, folder):
    make(a=MIGRATED)
    (folder / "loop").symlink_to(".")
    assert run(".").status == 0
    (folder / "b.py").symlink_to("b.py")
    outcome = run(".")
    assert outcome.status == 2
    assert "b.py: error: a link that leads nowhere" in outcome.err


def test_a_folder_with_nothing_but_a_link_that_leads_round(run, folder):
    (folder / "inner").mkdir()
    (folder / "inner" / "loop").symlink_to("../inner")
    outcome = run("inner")
    assert outcome.status == 2
    assert "inner: error: no Python files here" in outcome.err


def test_a_read_only_file(tmp_path, ordinary_user, run, monkeypatch):
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    monkeypatch.chdir(scripts)
    for name in ("a.py", "b.py"):
        (scripts / name).write_bytes(MIGRATED)
    (scripts / "a.py").chmod(0o444)
    (scripts / "b.py").chmod(0o666)
    scripts.chmod(0o777)
    with ordinary_user():
        outcome = run(".")
    assert outcome.status == 2
    assert "a.py: error: cannot be written: permission denied" in outcome.err
    assert outcome.out.endswith("1 of 2 files changed, 1 migrated, 1 error\n")
    assert (scripts / "a.py").read_bytes() == MIGRATED
    assert b"NPU" in (scripts / "b.py").read_bytes()
    assert sorted(os.listdir(".")) == ["a.py", "b.py"]


def test_a_file_that_vanishes_before_it_is_read(make, read, run, monkeypatch):
    def find_and_lose(*asked, find=sources.find):
        found = find(*asked)
        os.unlink("a.py")
        return found

    make(a=MIGRATED, b=MIGRATED)
    monkeypatch.setattr(sources, "find", find_and_lose)
    outcome = run(".")
    assert outcome.status == 2
    assert "a.py: error: cannot be read: no such file" in outcome.err
    assert b"NPU" in read("b")


def test_a_file_that_vanishes_before_it_is_written(make, read, run, monkeypatch):
    def migrate_and_lose(*arguments, migrate=engine.migrate):
        results = migrate(*arguments)
        os.unlink("a.py")
        return results

    make(a=MIGRATED, b=MIGRATED)
    monkeypatch.setattr(engine, "migrate", migrate_and_lose)
    outcome = run(".")
    assert outcome.status == 2
    assert "a.py: error: cannot be written: no such file" in outcome.err
    assert b"NPU" in read("b")
    assert os.listdir(".") == ["b.py"]


class Panic(BaseException):
    """Like pyo3's, which is no Exception."""


@pytest.mark.parametrize("kind", [ValueError, RecursionError, Panic])
def test_a_fault_of_our_own_is_one_line_with_the_file(make, read, run, monkeypatch, kind):
    def fail(sources, rules, options, advance, beside):
        advance()
        raise kind("of\nours")

    make(a=MIGRATED, b=MIGRATED)
    monkeypatch.setattr(engine, "migrate", fail)
    outcome = run(".")
    assert outcome.status == 2
    (line,) = outcome.err.splitlines()
    assert line.startswith(f"b.py: internal error: {kind.__name__}: of ours (test_cli.py:")
    assert line.endswith("; please report it")
    assert read("a") == MIGRATED


def test_interrupting(make, run, monkeypatch):
    def interrupt(sources, rules, options, advance, beside):
        raise KeyboardInterrupt

    make(a=MIGRATED)
    monkeypatch.setattr(engine, "migrate", interrupt)
    assert run(".").status == cli.INTERRUPTED


def test_a_reader_that_goes_away(folder):
    command = [sys.executable, "-m", "npu_migrate", "--list-rules"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


# Options


WRONG = {
    "no path": ([], "name the files or folders to migrate"),
    "unknown option": (["--nonsense"], "--nonsense"),
    "unknown format": (["--format", "xml", "a.py"], "xml"),
    "stdin and a file": (["-", "a.py"], "stands alone"),
    "stdin and output": (["-", "-o", "out"], "goes to standard output"),
    "output and check": (["-o", "out", "--check", "a.py"], "use one of them"),
    "output in the path": (["-o", "sub/out", "sub"], "choose a folder beside it"),
    "unknown code": (["--select", "NPU10l", "a.py"], "(did you mean NPU10"),
    "unknown code to add": (["--extend-select", "XYZ", "a.py"], "starts with XYZ"),
    "unknown code to ignore": (["--ignore", "XYZ", "a.py"], "starts with XYZ"),
    "no jobs": (["-j", "0", "a.py"], "-j"),
    "unknown rule": (["--explain", "NPU10l"], "there is no rule NPU10l (did you mean NPU10"),
    "no rules": (["--rules", "gone", "a.py"], "gone: no such folder"),
}


@pytest.mark.parametrize("arguments, message", WRONG.values(), ids=list(WRONG))
def test_wrong_usage(make, run, folder, arguments, message):
    make(a=MIGRATED)
    (folder / "sub").mkdir()
    outcome = run(*arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert message in outcome.err


def test_a_malformed_rule_of_the_users(make, run, folder):
    make(a=MIGRATED)
    (folder / "mine").mkdir()
    (folder / "mine" / "a.yaml").write_text("family: mine\nrulse: []\n")
    outcome = run("--rules", "mine", "a.py")
    assert outcome.status == 2
    assert "mine/a.yaml:2: unknown key rulse (did you mean rules?)" in outcome.err


def test_options_reach_the_engine(make, run, monkeypatch):
    seen = []

    def migrate(found, rules, options, advance, beside):
        seen.append(options)
        return []

    make(a=CLEAN)
    monkeypatch.setattr(engine, "migrate", migrate)
    given = ["--select", "NPU1, NPU101", "--select=ALL", "--removed", "delete", "-j", "3"]
    run(*given, "--estimator", "classes", "a.py")
    chosen = ("NPU1", "NPU101", "ALL")
    run("--extend-select", "NPU5", "--ignore", "NPU501", "a.py")
    assert seen == [
        Options(chosen, (), "delete", "nested", "classes", jobs=3),
        Options(ignore=("NPU501",), extend_select=("NPU5",)),
    ]


def test_version_and_help(run):
    assert run("--version").out == f"npu-migrate {__version__}\n"
    for option in ("-h", "--help"):
        outcome = run(option)
        assert outcome.status == 0
        assert "Exit status:" in outcome.out


def test_explaining_a_rule(run):
    rule = load().by_code["NPU101"]
    outcome = run("--explain", "npu101")
    assert outcome.status == 0
    assert outcome.out.startswith(f"NPU101 {rule.name} (loss scaling, ")
    for text in (rule.documentation, "Before:\n    ", "After:\n    ", "Why: "):
        assert text in outcome.out
    assert run("--explain", rule.name).out == outcome.out


@pytest.mark.parametrize("code", sorted(load().by_code))
def test_an_explanation_has_no_gaps(code, run):
    rule = load().by_code[code]
    for text in (rule.message, rule.remedy):
        said = in_words(text, rule)
        assert "<" not in said and "{" not in said
        assert said == said.strip() and "  " not in said


def test_explaining_the_start_of_codes(run):
    outcome = run("--explain", "npu28")
    assert outcome.status == 0
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["NPU281"]
    family = run("--explain", "NPU1").out.splitlines()
    assert len(family) > 20
    assert all(line.startswith("NPU1") for line in family)


def test_listing_the_rules(run):
    rules = load()
    listed = [line.split()[:2] for line in run("--list-rules").out.splitlines()]
    assert listed == [[code, rules.by_code[code].name] for code in sorted(rules.by_code)]
    entries = json.loads(run("--list-rules", "--format", "json").out)["rules"]
    assert [entry["code"] for entry in entries] == sorted(rules.by_code)


def test_starting_is_cheap():
    """What a run does not need is not imported."""
    code = (
        "import sys; from npu_migrate.cli import main; main(['--version']);"
        "print({'yaml', 'rich', 'libcst'} & set(sys.modules))"
    )
    out = subprocess.check_output([sys.executable, "-c", code])
    assert out.decode().splitlines()[-1] == "set()"


# Terminals


def test_colour_and_progress_on_a_terminal_only(make, folder):
    pty = pytest.importorskip("pty")
    make(**{f"m{number}": CLEAN for number in range(40)}, bad=b"x = (\n")
    command = [sys.executable, "-m", "npu_migrate", "--check", "--no-cache", "."]
    plain = subprocess.run(command, capture_output=True)
    assert b"\x1b" not in plain.stdout + plain.stderr

    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(command, stdout=slave, stderr=slave, env=environment) as process:
        os.close(slave)
        shown = b""
        with pytest.raises(OSError):  # what a terminal says at its end
            while True:
                shown += os.read(master, 65536)
    assert process.returncode == plain.returncode == 2
    assert b"\x1b[" in shown
    assert b"Migrating" in shown


@pytest.mark.parametrize("kind, start", [("json", "{"), ("sarif", "{"), ("github", "::error ")])
def test_a_report_for_a_machine_has_standard_output_to_itself(make, run, kind, start):
    make(a=LEFT)
    outcome = run("--diff", "--format", kind, "a.py")
    assert outcome.out.startswith(start)
    assert "+++ b/a.py" in outcome.err


def test_a_report_goes_to_a_file(make, run, folder):
    make(a=LEFT)
    outcome = run("--diff", "--format", "json", "--output-file", "report.json", "a.py")
    assert json.loads((folder / "report.json").read_text())["summary"]["manual"] == 1
    assert outcome.out.startswith("--- a/a.py\n")


def test_a_report_that_can_not_be_written(make, read, run):
    make(a=MIGRATED)
    outcome = run("--output-file", "no/such/report.txt", "a.py")
    assert outcome.status == 2
    assert "--output-file: no/such/report.txt is in a folder that does not exist" in outcome.err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--report", "a.py"], "--report: a.py is a file to migrate; name another file"),
        (["--output-file", "./a.py", "--check"], "--output-file: ./a.py is a file to migrate"),
        (["--report", "folder"], "--report: folder is a folder; name another file"),
        (["--report", "x", "--output-file", "x"], "x is the file of --report already"),
        (["--report", "gone/x.html"], "--report: gone/x.html is in a folder that does not exist"),
    ],
)
def test_where_a_report_may_not_go_is_known_before_anything_changes(
    make, read, run, folder, arguments, message
):
    make(a=MIGRATED)
    (folder / "folder").mkdir()
    outcome = run(*arguments, ".")
    assert (outcome.status, outcome.out) == (2, "")
    assert message in outcome.err
    assert read("a") == MIGRATED


def test_a_report_may_go_into_the_tree_that_is_written(make, run, folder, tmp_path_factory):
    make(a=MIGRATED)
    out = tmp_path_factory.mktemp("out") / "new"
    assert run("-o", out, "--output-file", out / "report.txt", ".").status == 0
    assert "migrated" in (out / "report.txt").read_text()
