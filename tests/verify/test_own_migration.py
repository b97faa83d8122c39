"""The project that `--migrate` migrates with a script: all that the script imports from it."""

import os
import pathlib

import pytest

from npu_migrate.verify.own_migration import migrate_program
from npu_migrate.verify.program_files import program_files
from npu_migrate.verify.workspace import Workspace

TRAIN = """\
import tensorflow as tf
manager = tf.contrib.mixed_precision.FixedLossScaleManager(8)
opt = tf.contrib.mixed_precision.LossScaleOptimizer(tf.train.AdamOptimizer(), manager)
"""
FINITE = """\
import tensorflow as tf


def finite(opt, loss):
    return tf.reduce_all([tf.is_finite(g) for g, _ in opt.compute_gradients(loss)])
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """A function that writes the files of a project, and stands in a folder of it."""

    def write(current, **texts):
        for name, text in texts.items():
            file = tmp_path / "project" / (name.replace("__", "/") + ".py")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        monkeypatch.chdir(tmp_path / "project" / current)
        return tmp_path / "project"

    return write


@pytest.fixture
def migrated(tmp_path):
    """A function that gives the text of a file in the working copy of a migrated script."""

    def migrated(script):
        own, _ = migrate_program(program_files(script))
        copy = Workspace(str(tmp_path / "run"), os.getcwd(), (), own)

        def text(path):
            return pathlib.Path(copy.tree + os.path.realpath(path)).read_text()

        return text

    return migrated


def test_script_is_migrated_with_what_lies_beside_it(write, migrated):
    project = write(".", train="from lib import optimizer\n", lib__optimizer=TRAIN, other=TRAIN)
    (project / "lib" / "words.txt").write_text("one two")
    text = migrated("train.py")
    assert "npu_bridge" in text("lib/optimizer.py") and "npu_bridge" in text("other.py")
    assert text("lib/words.txt") == "one two"
    assert (project / "lib" / "optimizer.py").read_text() == TRAIN


def test_script_alone_is_migrated_alone(write, migrated):
    write(".", train=TRAIN, other=TRAIN)
    text = migrated("train.py")
    assert "npu_bridge" in text("train.py") and "npu_bridge" not in text("other.py")


ROOT = "os.path.dirname(os.path.dirname(os.path.abspath(__file__)))"
LAYOUTS = {
    "by PYTHONPATH": (".", "from models import net\n", "models", "."),
    "by PYTHONPATH from within": ("train", "from models import net\n", "models", ".."),
    "by the current folder": (
        ".",
        "import os, sys\nsys.path.append(os.getcwd())\nimport models.net\n",
        "models",
        None,
    ),
    "by its own folder": (
        "train",
        f"import os, sys\nsys.path.insert(0, {ROOT})\nfrom models import net\n",
        "models",
        None,
    ),
    "by a folder beside": (
        "train",
        "import sys\nsys.path.append('../common')\nfrom models import net\n",
        "common/models",
        None,
    ),
    "by a folder of a folder above": (
        ".",
        f"import os, sys\nsys.path.append(os.path.join({ROOT}, 'common'))\nimport models.net\n",
        "common/models",
        None,
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_a_script_imports_from_outside_its_folder(write, migrated, monkeypatch, layout):
    current, script, package, path = LAYOUTS[layout]
    name = "__".join(package.split("/"))
    project = write(current, train__main=script, **{f"{name}__net": TRAIN, f"{name}____init__": ""})
    if path is not None:
        monkeypatch.setenv("PYTHONPATH", path)
    text = migrated(os.path.relpath(project / "train" / "main.py"))
    assert "npu_bridge" in text(project / package / "net.py")


def test_script_that_imports_its_own_package(write, migrated):
    write(".", lib__train="from lib import optimizer\n", lib__optimizer=TRAIN, lib____init__="")
    assert "npu_bridge" in migrated("lib/train.py")("lib/optimizer.py")


def test_file_that_cannot_be_migrated_is_named(write, migrated):
    write(".", train="from lib import optimizer\n", lib__optimizer="def broken(:\n")
    with pytest.raises(ValueError, match="lib/optimizer.py"):
        migrated("train.py")


def test_what_is_left_is_told_of_the_users_file(write):
    write(".", train=TRAIN + FINITE)
    _, migration = migrate_program(program_files("train.py"))
    (found,) = [finding for finding in migration.left if finding.code == "NPU124"]
    original = (TRAIN + FINITE).splitlines()
    assert found.path == "train.py" and "is_finite" in original[found.line - 1]
    migrated = migration.files[0].after.decode().splitlines()
    (line,) = [number for number, text in enumerate(migrated, 1) if "is_finite" in text]
    place, _, number = migration.shown_place(f"train.py:{line}").partition(":")
    assert place == "train.py" and "is_finite" in original[int(number) - 1]
    assert int(number) != line
