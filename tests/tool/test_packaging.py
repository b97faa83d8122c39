"""What is installed is what the checkout has."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that an installation puts into site-packages."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("npu_migrate", "rules"):
        shutil.copytree(str(ROOT / name), str(copy / name))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(str(ROOT / name), str(copy / name))
    subprocess.check_call([sys.executable, "setup.py", "-q", "build"], cwd=str(copy))
    (lib,) = (copy / "build").glob("lib*")
    return lib


def test_the_rules_are_installed_inside_the_package(installed):
    def rules(folder):
        command = [sys.executable, "-m", "npu_migrate", "--list-rules", "--format", "json"]
        return subprocess.check_output(command, cwd=str(folder))

    assert rules(installed) == rules(ROOT)
    assert [path.name for path in installed.iterdir()] == ["npu_migrate"]


def test_every_module_is_installed(installed):
    def modules(folder):
        paths = [*folder.glob("npu_migrate/**/*.py"), *folder.glob("npu_migrate/**/report.*")]
        return {str(path.relative_to(folder)) for path in paths}

    assert modules(installed) == modules(ROOT)
    assert (installed / "npu_migrate" / "py.typed").exists()


@pytest.mark.parametrize("name", ["current.txt", "python37.txt"])
def test_constraints_are_names_and_versions_alone(name):
    lines = (ROOT / "constraints" / name).read_text().splitlines()
    assert lines
    assert [
        line for line in lines if not re.match(r"[a-z0-9-]+==[0-9.]+(post[0-9]+)?$", line)
    ] == []
