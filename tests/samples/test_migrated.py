"""What is in migrated/ is what npu-migrate makes of original/, and nothing of it is left to do."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
NAMES = ["bert", "resnet50"]

pytestmark = pytest.mark.parametrize("name", NAMES)


def npu_migrate(*arguments):
    """Exit status of the tool."""
    command = [sys.executable, "-m", "npu_migrate", "-q", *map(str, arguments)]
    return subprocess.run(command, cwd=str(ROOT), stdout=subprocess.DEVNULL).returncode


def contents(folder):
    """The bytes of all files by their path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_is_the_output_of_the_tool(name, tmp_path):
    assert npu_migrate(SAMPLES / name / "original", "-o", tmp_path / "migrated") == 0
    made, kept = contents(tmp_path / "migrated"), contents(SAMPLES / name / "migrated")
    assert made.keys() == kept.keys()
    changed = sorted(path for path in made if made[path] != kept[path])
    assert not changed, "run: make samples"


def test_check_fails_on_the_original(name):
    assert npu_migrate("--check", SAMPLES / name / "original") == 1


def test_check_passes_on_the_migrated(name):
    assert npu_migrate("--check", SAMPLES / name / "migrated") == 0
