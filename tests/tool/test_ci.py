"""The hooks and the workflows of ``docs/ci.md`` do what the page says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from npu_migrate.sources import is_project_file

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text()
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}

LEFT = "import tensorflow as tf\n\ndevices = tf.config.experimental.list_physical_devices('GPU')\n"
OPEN = "import tensorflow as tf\n\nsession = tf.Session()\n"
DONE = "x = 1\n"


@pytest.fixture
def project(folder):
    """A project with a script, and ``npu-migrate`` on the path."""
    tool = folder / "bin" / "npu-migrate"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m npu_migrate "$@"\n')
    tool.chmod(0o755)
    (folder / "project").mkdir()
    return folder / "project"


@pytest.fixture
def shell(project):
    """Runs a command in the project and returns its exit status and what it printed."""

    def shell(command):
        path = f"{project.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = dict(os.environ, PATH=path, PYTHONPATH=str(ROOT))
        done = subprocess.run(
            ["sh", "-ec", command],
            cwd=str(project),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        return done.returncode, done.stdout.decode()

    return shell


def block(name):
    (found,) = [loaded for loaded in map(yaml.safe_load, BLOCKS) if name in loaded]
    return found[name]


def steps():
    return [step["run"] for step in block("jobs")["check"]["steps"] if "run" in step]


@pytest.mark.parametrize("text, status", [(DONE, 0), (OPEN, 1), (LEFT, 1)])
def test_the_workflow_for_github(project, shell, text, status):
    (project / "a.py").write_text(text)
    install, check, log = steps()
    assert install.startswith("pip install git+https://")
    assert shell(check)[0] == status
    assert ("::error file=a.py,line=3" in shell(check)[1]) == bool(status)
    assert shell(log)[0] == 0
    assert (project / "npu-migrate.sarif").exists()


def test_the_log_for_code_scanning_fails_with_a_file_that_cannot_be_read(project, shell):
    (project / "a.py").write_text("x = (\n")
    assert shell(steps()[-1])[0] != 0


@pytest.mark.parametrize("text, status", [(DONE, 0), (OPEN, 1)])
def test_the_job_for_gitlab(project, shell, text, status):
    (project / "a.py").write_text(text)
    job = block("npu-migrate")
    (install,) = job["before_script"]
    assert install.startswith("pip install git+https://")
    (command,) = job["script"]
    assert shell(command)[0] == status
    assert [(project / path).exists() for path in job["artifacts"]["paths"]] == [True]


def test_the_way_from_no_check_to_a_full_one(project, shell):
    (settings,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (project / "pyproject.toml").write_text(settings)
    (project / "third_party").mkdir()
    (project / "third_party" / "a.py").write_text(OPEN)
    (project / "a.py").write_text(LEFT + OPEN)
    assert shell("npu-migrate --write-baseline .")[0] == 0
    assert shell("npu-migrate .")[0] == 0
    assert shell("npu-migrate --write-baseline . && npu-migrate --check .")[0] == 0
    (project / "b.py").write_text(LEFT)
    assert shell("npu-migrate --check .")[0] == 1
    assert shell("npu-migrate --add-ignores . && npu-migrate --check .")[0] == 0
    assert (project / "third_party" / "a.py").read_text() == OPEN


def test_the_hooks(project, shell):
    (used,) = [hook["id"] for repo in block("repos") for hook in repo["hooks"]]
    assert {used, "npu-migrate"} == set(HOOKS)
    (project / "a.py").write_text(OPEN)
    commands = {name: " ".join([hook["entry"], *hook["args"]]) for name, hook in HOOKS.items()}
    assert shell(commands["npu-migrate-check"])[0] == 1
    assert (project / "a.py").read_text() == OPEN
    assert shell(commands["npu-migrate"])[0] == 0
    assert "npu_config_proto" in (project / "a.py").read_text()
    assert shell(commands["npu-migrate-check"])[0] == 0


def test_the_hooks_say_what_is_left(project, shell):
    (project / "a.py").write_text(LEFT)
    for hook in HOOKS.values():
        status, printed = shell(" ".join([hook["entry"], *hook["args"]]))
        assert status == 1 and "a.py:3:11 NPU608" in printed


@pytest.mark.parametrize(
    "path",
    [
        *("train.py", "jobs/train.ipynb", "run.sh", "run.bash", "jobs/train.slurm", "run.sbatch"),
        *("requirements.txt", "dev-requirements.txt", "environment.yml", "conda.yaml", "setup.cfg"),
        *("pyproject.toml", "Pipfile", "Dockerfile", "docker/Dockerfile.gpu", "train.Dockerfile"),
        *("Makefile", "GNUmakefile", "rules.mk", "TRAIN.SH"),
    ],
)
def test_every_file_that_is_looked_at_makes_the_hooks_run(path):
    assert path.endswith((".py", ".ipynb")) or is_project_file(path)
    assert all(re.search(hook["files"], path) for hook in HOOKS.values())


def test_other_files_do_not():
    for path in ("README.md", "image.png", "notDockerfile", "data/Pipfile.lock"):
        assert not any(re.search(hook["files"], path) for hook in HOOKS.values())


def test_the_hooks_are_what_pre_commit_takes(tmp_path):
    beside = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    pre_commit = shutil.which("pre-commit", path=beside)
    if pre_commit is None:
        pytest.skip("pre-commit is not installed")
    subprocess.check_call(
        [pre_commit, "validate-manifest", ".pre-commit-hooks.yaml"], cwd=str(ROOT)
    )
    config = tmp_path / ".pre-commit-config.yaml"
    config.write_text(next(text for text in BLOCKS if text.startswith("repos:")))
    subprocess.check_call([pre_commit, "validate-config", str(config)])
