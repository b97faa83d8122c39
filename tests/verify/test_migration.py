"""Which files belong to a program, and which of its migration concerns a difference."""

from npu_migrate.verify.migration import read_migration
from npu_migrate.verify.program_files import program_files
from npu_migrate.verify.quantities import GLOBAL_STEP, LOSS, LOSS_SCALE

TRAIN = """\
import tensorflow as tf
from lib import model
manager = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(1024, 100)
opt = tf.contrib.mixed_precision.LossScaleOptimizer(tf.train.AdamOptimizer(), manager)
train = opt.minimize(model.loss())
"""


def write(folder, **texts):
    for name, text in texts.items():
        file = folder / (name.replace("__", "/") + ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def names(paths, folder):
    return sorted(str(path)[len(str(folder)) + 1 :] for path in paths)


def test_files_of_a_program(tmp_path):
    write(
        tmp_path,
        train="import os\nfrom lib import model\nimport other.deep as deep\n",
        lib__model="from . import layers\nfrom .layers import x\n",
        lib__layers="x = 1\n",
        other__deep="broken(\n",
        unrelated="y = 1\n",
    )
    (tmp_path / "lib" / "__init__.py").write_text("")
    program = program_files(str(tmp_path / "train.py"))
    assert names(program.files, tmp_path) == [
        "lib/__init__.py",
        "lib/layers.py",
        "lib/model.py",
        "other/deep.py",
        "train.py",
    ]
    assert program.roots == (str(tmp_path),)


def test_root_is_above_a_package_that_its_script_imports(tmp_path):
    write(tmp_path, lib__train="import lib.model\n", lib__model="")
    (tmp_path / "lib" / "__init__.py").write_text("")
    assert program_files(str(tmp_path / "lib" / "train.py")).roots == (str(tmp_path),)


def test_libraries_and_folders_that_many_share_are_no_part_of_a_program(tmp_path, monkeypatch):
    write(tmp_path, script__train="import shared, installed\n", shared="")
    write(tmp_path / "site-packages", installed="")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site-packages"))
    monkeypatch.setenv("HOME", str(tmp_path))
    program = program_files(str(tmp_path / "script" / "train.py"))
    assert names(program.files, tmp_path) == ["script/train.py"]


def test_counterparts_are_found_whatever_the_folders_are_called(tmp_path):
    for name in ("before", "after"):
        write(tmp_path / name, train="import model\n", model="", __init__="")
    migration = read_migration(*(str(tmp_path / n / "train.py") for n in ("before", "after")))
    assert len(migration.files) == 2


def migrated(tmp_path, edit):
    from npu_migrate import cli

    write(tmp_path / "a", train=TRAIN, lib__model="def loss():\n    return 0\n")
    assert cli.main(["-q", "-o", str(tmp_path / "b"), str(tmp_path / "a")]) == 0
    train = tmp_path / "b" / "train.py"
    train.write_text(edit(train.read_text()))
    return read_migration(str(tmp_path / "a" / "train.py"), str(train))


def test_work_of_npu_migrate_departs_nowhere(tmp_path):
    migration = migrated(tmp_path, lambda text: text)
    assert migration.departures == [] and migration.wrong == []
    assert [f.code for f in migration.concerned(LOSS_SCALE, 3)] == ["NPU102", "NPU103"]
    assert migration.concerned(LOSS, 1) == [] and migration.concerned(GLOBAL_STEP, 1) == []


def test_departure_comes_first(tmp_path):
    migration = migrated(tmp_path, lambda text: text.replace("1024", "4096"))
    (departure,) = migration.departures
    assert departure.text == "manager = ExponentialUpdateLossScaleManager(4096, 100)"
    assert departure.ours == "manager = ExponentialUpdateLossScaleManager(1024, 100)"
    assert departure.path.endswith("b/train.py")


def test_wrong_migration_is_found_by_reading(tmp_path):
    twice = "opt = NPULossScaleOptimizer(opt, manager)\ntrain ="
    migration = migrated(tmp_path, lambda text: text.replace("train =", twice))
    assert "NPU128" in {finding.code for finding in migration.wrong}
