"""The folder that `--migrate` makes."""

import os

import pytest

from npu_migrate.verify.migrated_copy import migrate_into

TRAIN = """\
import tensorflow as tf
manager = tf.contrib.mixed_precision.FixedLossScaleManager(8)
opt = tf.contrib.mixed_precision.LossScaleOptimizer(tf.train.AdamOptimizer(), manager)
"""


@pytest.fixture
def project(tmp_path):
    for name, text in {
        "train.py": "from lib import optimizer\n",
        "lib/__init__.py": "",
        "lib/optimizer.py": TRAIN,
        "lib/words.txt": "one two",
        "other.py": TRAIN,
        "__pycache__/x.pyc": "",
    }.items():
        file = tmp_path / "project" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "out").mkdir()
    return tmp_path


def text(*parts):
    with open(os.path.join(*map(str, parts))) as file:
        return file.read()


def test_project_is_migrated_with_its_script(project):
    script = migrate_into(str(project / "project" / "train.py"), str(project / "out"))
    assert script == str(project / "out" / "train.py")
    assert "npu_bridge" in text(project, "out", "lib", "optimizer.py")
    assert "npu_bridge" in text(project, "out", "other.py")
    assert text(project, "out", "lib", "words.txt") == "one two"
    assert not (project / "out" / "__pycache__").exists()
    assert text(project, "project", "lib", "optimizer.py") == TRAIN


def test_script_alone_is_migrated_alone(project):
    script = migrate_into(str(project / "project" / "other.py"), str(project / "out"))
    assert "npu_bridge" in text(script)
    assert "npu_bridge" not in text(project, "out", "lib", "optimizer.py")


def test_script_in_a_package_is_migrated_with_what_lies_beside_it(project):
    module = str(project / "project" / "lib" / "optimizer.py")
    assert migrate_into(module, str(project / "out")) == str(project / "out" / "optimizer.py")
    assert not (project / "out" / "train.py").exists()


def test_script_that_imports_its_own_package_is_refused(project):
    script = project / "project" / "lib" / "train.py"
    script.write_text("from lib import optimizer\n")
    with pytest.raises(ValueError, match="imports its own package by name"):
        migrate_into(str(script), str(project / "out"))


def test_file_that_cannot_be_migrated_is_named(project):
    (project / "project" / "lib" / "optimizer.py").write_text("def broken(:\n")
    with pytest.raises(ValueError, match="optimizer.py"):
        migrate_into(str(project / "project" / "train.py"), str(project / "out"))
