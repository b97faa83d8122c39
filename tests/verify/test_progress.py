"""What is told while scripts train."""

import io

from npu_migrate.verify.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_lines_where_there_is_no_terminal():
    stream = io.StringIO()
    with progress(stream, steps=9, rarely=0.0) as tell:
        tell({"original": 3, "migrated": 0})
    assert stream.getvalue() == (
        "npu-verify: Training: the original, 3 of 9 steps; the migrated script, starting\n"
    )


def test_lines_are_rare():
    stream = io.StringIO()
    with progress(stream) as tell:
        tell({"original": 3})
    assert stream.getvalue() == ""


def test_one_line_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    stream = Terminal()
    with progress(stream) as tell:
        tell({"repeated": 1})
        tell({"repeated": 2})
    written = stream.getvalue()
    assert "the original again, 2 steps" in written
    assert written.endswith("\x1b[2K")
