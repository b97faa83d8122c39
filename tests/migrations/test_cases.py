"""Whole scripts, each with the exact text that must become of it."""

from pathlib import Path

import pytest
from support import RULES, undefined_names

from npu_migrate import cli
from npu_migrate.engine import migrate as run_engine
from npu_migrate.options import Options
from npu_migrate.plan import Status
from npu_migrate.sources import Source

CASES = Path(__file__).parent / "cases"

FINDINGS = {
    "guide_loss_scaling": "6 NPU102, 8 NPU101, 11 NPU103, 11 NPU201",
    "global_step": "8 NPU101, 9 NPU103, 9 NPU201, 16 NPU123, 28 NPU301, 32 NPU302",
    "import_forms": """12 NPU101, 12 NPU103, 12 NPU201, 16 NPU101, 16 NPU103, 21 NPU105, 21 NPU106,
        25 NPU102, 26 NPU103""",
    "not_ours": "",
    "graph_rewrite": """6 NPU105, 9 NPU107, 9 NPU201, 10 NPU111, 11 NPU111, 13 NPU107,
        17 NPU106""",
    "horovod_value": """3 NPU202, 13 NPU203, 16 NPU102, 17 NPU103, 26 NPU202, 31 NPU601,
        33 NPU204, 37 NPU401""",
    "two_modules/lamb": "4 NPU302, 10 NPU303",
    "two_modules/optimization": "12 NPU101, 12 NPU103, 12 NPU201, 16 NPU301",
    "step_forms": """20 NPU302, 27 NPU101, 27 NPU103, 27 NPU201, 29 NPU305, 33 NPU101, 33 NPU103,
        34 NPU304, 36 NPU301, 40 NPU101, 40 NPU103, 46 NPU301""",
    "needs_a_person": """6 NPU118 manual, 13 NPU101, 13 NPU103, 13 NPU201, 14 NPU101, 14 NPU103,
        15 NPU119 manual, 20 NPU124 manual, 25 NPU110 manual, 30 NPU102, 30 NPU112, 31 NPU103,
        35 NPU108 unsupported""",
    "gbk_crlf_tabs": "8 NPU101, 9 NPU103, 9 NPU201",
}
"""Line and code of every finding; its status where something is left to do."""

SCRIPTS = sorted(name for name in FINDINGS if "/" not in name)


def read(name, kind):
    return (CASES / f"{name}.{kind}.py").read_bytes()


def as_given(findings):
    entries = ((f.line, f.code, f.status) for f in findings)
    return sorted(
        f"{line} {code}" + ("" if status is Status.MIGRATED else f" {status.value}")
        for line, code, status in entries
    )


def results(names, kind="in"):
    sources = [Source(f"{name}.py", read(name, kind)) for name in names]
    return {result.path[:-3]: result for result in run_engine(sources, RULES, Options())}


def check(names):
    for name, result in results(names).items():
        assert result.error is None
        assert result.after == read(name, "out")
        expected = [entry.strip() for entry in FINDINGS[name].split(",") if entry.strip()]
        assert as_given(result.findings) == sorted(expected)
        assert not any(finding.assumed for finding in result.findings)
        before, after = undefined_names(result.before), undefined_names(result.after)
        assert after <= before
    for name, result in results(names, "out").items():
        assert result.after == read(name, "out")
        assert all(finding.status is not Status.MIGRATED for finding in result.findings)


def test_every_case_is_checked():
    names = {path.relative_to(CASES).as_posix()[:-6] for path in CASES.rglob("*.in.py")}
    assert names == set(FINDINGS) | {"python2"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_script(name):
    check([name])


def test_modules_of_one_run():
    check(["two_modules/lamb", "two_modules/optimization"])


@pytest.mark.parametrize("name", SCRIPTS)
def test_command_line_rewrites_in_place(name, tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_bytes(read(name, "in"))
    left = 1 if "manual" in FINDINGS[name] else 0
    assert cli.main([str(script)]) == left
    assert script.read_bytes() == read(name, "out")
    assert cli.main(["--check", str(script)]) == left
    assert "Traceback" not in "".join(capsys.readouterr())


def test_command_line_rewrites_a_folder(tmp_path):
    for name in ("lamb", "optimization"):
        (tmp_path / f"{name}.py").write_bytes(read(f"two_modules/{name}", "in"))
    assert cli.main([str(tmp_path)]) == 0
    for name in ("lamb", "optimization"):
        assert (tmp_path / f"{name}.py").read_bytes() == read(f"two_modules/{name}", "out")


def test_one_module_of_two_names_the_class_that_it_cannot_see():
    result = results(["two_modules/optimization"])["two_modules/optimization"]
    (left,) = [f for f in result.findings if f.status is not Status.MIGRATED]
    assert (left.line, left.status) == (16, Status.MANUAL)
    assert left.code.startswith("NPU3")
    assert "lamb.Lamb" in left.message
    step_logic = read("two_modules/optimization", "in").splitlines()[12:]
    assert result.after.splitlines()[-len(step_logic) :] == step_logic


def test_finding_says_that_mixed_precision_is_a_setting_of_the_session():
    result = results(["graph_rewrite"])["graph_rewrite"]
    for line in (9, 13):
        (message,) = [f.message for f in result.findings if (f.line, f.code) == (line, "NPU107")]
        assert "precision_mode" in message and "session" in message


def test_finding_says_that_the_fetch_no_longer_returns_the_step():
    result = results(["step_forms"])["step_forms"]
    (message,) = [f.message for f in result.findings if f.line == 36]
    assert "no longer returns the step" in message


def test_two_optimizers_of_one_run_are_both_named():
    result = results(["needs_a_person"])["needs_a_person"]
    (message,) = [f.message for f in result.findings if f.code == "NPU119"]
    assert "13" in message and "14" in message


def test_bytes_of_another_encoding_are_kept():
    before = read("gbk_crlf_tabs", "in")
    result = results(["gbk_crlf_tabs"])["gbk_crlf_tabs"]
    assert b"\r\n\tmanager = FixedLossScaleManager(1024)   \r\n" in result.after
    assert result.after.count(b"\n") == result.after.count(b"\r\n")
    assert not result.after.endswith(b"\n")
    assert set(before.splitlines()[:7]) <= set(result.after.splitlines())
    result.after.decode("gbk")


def test_python_2_is_named_and_left(tmp_path, capsys):
    script = tmp_path / "old.py"
    script.write_bytes(read("python2", "in"))
    assert cli.main([str(script)]) == 2
    assert script.read_bytes() == read("python2", "in")
    message = capsys.readouterr().err
    assert f"{script}:2" in message and "Python 2" in message
