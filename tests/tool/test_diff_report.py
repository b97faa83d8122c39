import shutil
import subprocess

import pytest

from npu_migrate.reports import Run
from npu_migrate.reports.diff import render
from npu_migrate.results import FileResult

CASES = {
    "plain": (b"a\nb\nc\n", b"a\nB\nc\n"),
    "no newline before": (b"a\nb", b"a\nb\n"),
    "no newline after": (b"a\nb\n", b"a\nb"),
    "no newline at all": (b"a\nb", b"a\nc"),
    "no newline, changed above": (b"a\nb", b"A\nb"),
    "carriage returns": (b"a\r\nb\r\nc", b"a\r\nB\r\nc"),
    "lone carriage return": (b"a\rb\nc\n", b"a\rb\nC\n"),
    "form feed": (b"a\n\x0cb\nc\n", b"a\n\x0cb\nC\n"),
    "to nothing": (b"a\n", b""),
    "from nothing": (b"", b"a\n"),
    "utf-8": ("# 注\nx\n".encode(), "# 注\ny\n".encode()),
}


def diff(path, before, after):
    return render(Run((FileResult(path, before, after, (), None),)))


@pytest.mark.parametrize("before, after", CASES.values(), ids=list(CASES))
@pytest.mark.parametrize(
    "path", ["sub/a.py", "sub/a b.py", 'sub/"a\\b.py', "sub/a\n\x1b\u202eb.py"]
)
def test_patch_and_git_take_the_diff(tmp_path, path, before, after):
    text = diff(path, before, after)
    file = tmp_path / path
    file.parent.mkdir()
    commands = [["git", "apply", "-"], ["patch", "-p1", "--binary"]]
    commands = [command for command in commands if shutil.which(command[0])]
    assert commands
    for command in commands:
        file.write_bytes(before)
        subprocess.run(command, input=text.encode(), cwd=str(tmp_path), check=True)
        assert (file.read_bytes() if file.exists() else b"") == after


def test_no_newline_at_the_end():
    assert diff("a.py", b"x", b"y") == (
        "--- a/a.py\n"
        "+++ b/a.py\n"
        "@@ -1 +1 @@\n"
        "-x\n\\ No newline at end of file\n"
        "+y\n\\ No newline at end of file\n"
    )


def test_another_encoding_is_shown_decoded():
    head = "# coding: gbk\n# 注释\n"
    text = diff("a.py", (head + "x\n").encode("gbk"), (head + "y\n").encode("gbk"))
    assert text.endswith("@@ -1,3 +1,3 @@\n # coding: gbk\n # 注释\n-x\n+y\n")


def test_what_does_not_change_is_left_out():
    assert diff("a.py", b"x", b"x") == ""
    assert diff("/abs/a.py", b"x\n", b"y\n").startswith("--- a/abs/a.py\n+++ b/abs/a.py\n")


def test_colour():
    run = Run((FileResult("a.py", b"x\n", b"y\n", (), None),))
    marked = render(run, lambda text, style: f"<{style}>{text}</>")
    assert marked == (
        "<bold>--- a/a.py</>\n<bold>+++ b/a.py</>\n<cyan>@@ -1 +1 @@</>\n<red>-x</>\n<green>+y</>\n"
    )
