"""Working copies hold what scripts read, and take what they write."""

import os
import pathlib

import pytest

from npu_migrate.launch.script import Program
from npu_migrate.verify.workspace import Project, Workspace


@pytest.fixture
def project(tmp_path):
    """A folder where a user stands."""
    folder = tmp_path / "users" / "project"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "words.txt").write_text("harbour")
    (folder / "train.py").write_text("")
    for left_out in (".git", ".venv", "__pycache__", ".mypy_cache"):
        (folder / left_out).mkdir()
        (folder / left_out / "file").write_text("")
    (folder / "env").mkdir()
    (folder / "env" / "pyvenv.cfg").write_text("")
    return folder


@pytest.fixture
def copy(project, tmp_path):
    def copy(*outputs):
        return Workspace(str(tmp_path / "runs" / "original"), str(project), outputs)

    return copy


def arguments(copied, *words):
    return copied.program(Program("train.py", words)).arguments


def test_the_folder_is_copied_without_what_no_script_reads(copy, project):
    copied = copy()
    assert sorted(os.listdir(copied.folder)) == ["data", "train.py"]
    with open(os.path.join(copied.folder, "data", "words.txt"), "w") as file:
        file.write("changed")
    assert (project / "data" / "words.txt").read_text() == "harbour"


def test_large_files_are_copied_as_well(copy, project):
    (project / "large.bin").write_bytes(b"0" * 40_000_000)
    with open(os.path.join(copy().folder, "large.bin"), "r+b") as file:
        file.write(b"changed")
    assert (project / "large.bin").read_bytes()[:7] == b"0000000"


def test_links_lead_where_they_led(copy, project, tmp_path):
    (tmp_path / "corpus").write_text("far away")
    (project / "corpus").symlink_to(os.path.join("..", "..", "corpus"))
    assert pathlib.Path(copy().folder, "corpus").read_text() == "far away"


def test_a_script_of_the_folder_runs_in_the_copy(copy, project, tmp_path):
    copied = copy()
    inside = copied.program(Program(str(project / "train.py")))
    assert inside.name == os.path.join(copied.folder, "train.py")
    elsewhere = str(tmp_path / "elsewhere.py")
    assert copied.program(Program(elsewhere)).name == os.path.realpath(elsewhere)
    assert copied.program(Program("package.train", (), True)).name == "package.train"


def test_what_is_no_path_stays(copy):
    words = ("--steps", "5", "--learning_rate=1e-3", "-v", "adam", "--bucket=gs://there/model")
    assert arguments(copy(), *words) == words


@pytest.mark.parametrize("form", ["--output_dir={}", "--output_dir {}", "--model-dir={}", "-x {}"])
def test_outputs_go_to_a_place_of_the_run(copy, tmp_path, form):
    path = str(tmp_path / "model")
    copied = copy()
    words = arguments(copied, *form.format(path).split())
    target = words[-1].rpartition("=")[2]
    assert target != path
    assert target.startswith(str(tmp_path / "runs" / "original"))


def test_what_stands_in_an_output_is_there(copy, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "checkpoint").write_text("model.ckpt-7")
    (word,) = arguments(copy(), f"--output_dir={tmp_path}/model")
    target = word.partition("=")[2]
    assert pathlib.Path(target, "checkpoint").read_text() == "model.ckpt-7"


@pytest.mark.parametrize("flag", ["--init_checkpoint", "--data_dir", "--input_files"])
def test_inputs_are_read_where_they_are(copy, tmp_path, flag):
    (tmp_path / "there").mkdir()
    words = (f"{flag}={tmp_path}/there", f"{flag}={tmp_path}/there/*.tfrecord")
    assert arguments(copy(), *words) == words


def test_relative_paths_out_of_the_folder_still_lead_there(copy, tmp_path):
    (tmp_path / "users" / "corpus").mkdir()
    assert arguments(copy(), "--data_dir=../corpus", "--data_dir=data") == (
        f"--data_dir={tmp_path}/users/corpus",
        "--data_dir=data",
    )


def test_data_beside_the_folder_is_found_and_outputs_are_not_touched(copy, tmp_path):
    for beside in ("corpus", "logs"):
        (tmp_path / "users" / beside).mkdir()
        (tmp_path / "users" / beside / "text").write_text("harbour")
    above = pathlib.Path(copy().folder, "..")
    assert (above / "corpus" / "text").read_text() == "harbour"
    (above / "logs").mkdir()
    (above / "logs" / "text").write_text("written by the script")
    assert (tmp_path / "users" / "logs" / "text").read_text() == "harbour"


def test_absolute_paths_into_the_folder_lead_into_the_copy(copy, project):
    copied = copy()
    words = arguments(copied, f"--data_dir={project}/data")
    assert words == (f"--data_dir={copied.folder}/data",)


def test_a_path_named_as_output_is_one(copy, tmp_path):
    (tmp_path / "there").mkdir()
    (word,) = arguments(copy(str(tmp_path / "there")), f"--data_dir={tmp_path}/there")
    assert "runs" in word


@pytest.fixture
def copy_of_part(project, tmp_path):
    """The working copy of a folder of a project whose files lie around it and elsewhere."""
    (project / "scripts").mkdir()
    (project / "scripts" / "run.py").write_text("")
    (tmp_path / "shared" / "data").mkdir(parents=True)
    (tmp_path / "shared" / "lib.py").write_text("old")
    (project / "linked").symlink_to(tmp_path / "shared")
    shared = str(tmp_path / "shared")
    own = Project((str(project), shared), (), {f"{shared}/lib.py": b"new"})
    return Workspace(str(tmp_path / "runs" / "original"), str(project / "scripts"), (), own)


def test_what_lies_around_the_folder_is_found_from_it(copy_of_part, project):
    copied = pathlib.Path(copy_of_part.folder)
    assert copied.name == "scripts" and (copied / "run.py").is_file()
    assert (copied / ".." / "data" / "words.txt").read_text() == "harbour"
    (copied / ".." / "data" / "model").write_text("written by the script")
    assert os.listdir(str(project / "data")) == ["words.txt"]


def test_other_texts_are_found_by_any_way(copy_of_part, tmp_path):
    copied = pathlib.Path(copy_of_part.folder)
    assert (copied / ".." / "linked" / "lib.py").read_text() == "new"
    (entry,) = copy_of_part.python_path(str(tmp_path / "shared")).split(os.pathsep)
    assert pathlib.Path(entry, "lib.py").read_text() == "new"
    assert (tmp_path / "shared" / "lib.py").read_text() == "old"


def test_output_names_files_as_the_user_does(copy, project, tmp_path):
    copied = copy()
    (word,) = arguments(copied, f"--output_dir={tmp_path}/model")
    text = f"no {copied.folder}/data/x, {word.partition('=')[2]}/y"
    assert copied.before(text) == f"no data/x, {tmp_path}/model/y"


def test_checkpoint_that_is_named_by_its_prefix_is_there(copy, tmp_path):
    place = tmp_path / "pretrained"
    place.mkdir()
    for end in ("index", "data-00000-of-00001"):
        (place / f"model.ckpt.{end}").write_text(end)
    (argument,) = arguments(copy(), f"--checkpoint_path={place}/model.ckpt")
    prefix = argument.partition("=")[2]
    assert not prefix.startswith(str(place))
    assert pathlib.Path(f"{prefix}.index").read_text() == "index"
    assert pathlib.Path(f"{prefix}.data-00000-of-00001").is_file()
