"""What the pages show as lines for a shell, and as settings, is what the tool understands."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import doc_examples
import pytest

from npu_migrate.launch.cli import main as launch

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = [
    (name, block)
    for name, page in doc_examples.written_pages().items()
    for block in doc_examples.blocks(page)
]


def _lines(start):
    return [
        (name, line)
        for name, block in BLOCKS
        if block.language == "sh"
        for line in block.text.splitlines()
        if line.startswith(start)
    ]


LINES = _lines("npu-migrate ")
STARTS = [(name, line) for name, line in _lines("npu-run ") if " -m " not in line]
SETTINGS = [(name, block.text) for name, block in BLOCKS if block.language == "toml"]


@pytest.fixture
def shell(tmp_path):
    """Runs a line in a project with one script, and returns its exit status and what it printed."""
    tool = tmp_path / "bin" / "npu-migrate"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m npu_migrate "$@"\n')
    tool.chmod(0o755)
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text("import tensorflow as tf\n\nsession = tf.Session()\n")
    (project / "npu-baseline.json").write_text('{"version": 2, "findings": {}}\n')
    path = f"{tool.parent}{os.pathsep}{os.environ['PATH']}"

    def shell(line):
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=str(project),
            env=dict(os.environ, PATH=path, PYTHONPATH=str(ROOT)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        return done.returncode, done.stdout.decode()

    return shell


@pytest.mark.parametrize("name, line", LINES)
def test_a_line_for_a_shell(shell, name, line):
    status, printed = shell(line)
    assert status in (0, 1), f"docs/{name}: {line}\n{printed}"


@pytest.mark.parametrize("name, text", SETTINGS, ids=[name for name, _ in SETTINGS])
def test_settings(shell, tmp_path, name, text):
    (tmp_path / "project" / "pyproject.toml").write_text(text)
    status, printed = shell("npu-migrate --check .")
    assert status == 1 and "NPU401" in printed, f"docs/{name}: {printed}"


@pytest.mark.parametrize("name, line", STARTS)
def test_a_line_that_starts_a_script(name, line, capsys):
    """The script is none, so that only the options are judged: many need machines with NPUs."""
    assert launch(shlex.split(line, comments=True)[1:]) == 2
    assert "no such script" in capsys.readouterr().err


def test_there_are_some():
    assert len(LINES) > 5 and len(SETTINGS) > 1 and len(STARTS) > 4
    assert all(re.match(r"npu-migrate (-|\.|\w)", line) for _, line in LINES)
