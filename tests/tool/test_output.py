import os

import pytest

pytestmark = pytest.mark.usefixtures("words")


@pytest.fixture
def tree(folder):
    """A project with files of all kinds."""
    for name, data in {
        "proj/train.py": b"x = GPU\n",
        "proj/pkg/__init__.py": b"",
        "proj/pkg/model.py": b"y = GPU\n",
        "proj/pkg/clean.py": b"z = 1\n",
        "proj/bad.py": b'print "GPU"\n',
        "proj/data/vocab.txt": b"GPU\n",
        "proj/build/made.py": b"x = GPU\n",
        "proj/.github/ci.yml": b"GPU\n",
        "proj/.git/config": b"secret\n",
        "proj/__pycache__/train.pyc": b"code\n",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / "proj" / "train.py").chmod(0o755)
    return folder


def files(top):
    return {
        os.path.relpath(os.path.join(holder, name), str(top)): open(
            os.path.join(holder, name), "rb"
        ).read()
        for holder, _, names in os.walk(str(top))
        for name in names
    }


def test_the_migrated_tree(tree, run):
    before = files(tree / "proj")
    outcome = run("-o", "out/deep", "proj")
    assert outcome.status == 2
    assert "bad.py:1: error: Python 2" in outcome.err
    assert outcome.out.endswith("2 of 5 files changed, 2 migrated, 1 error\n")
    assert files(tree / "out" / "deep") == {
        "train.py": b"x = NPU\n",
        "pkg/__init__.py": b"",
        "pkg/model.py": b"y = NPU\n",
        "pkg/clean.py": b"z = 1\n",
        "bad.py": b'print "GPU"\n',
        "data/vocab.txt": b"GPU\n",
        "build/made.py": b"x = GPU\n",
        ".github/ci.yml": b"GPU\n",
    }
    assert files(tree / "proj") == before
    assert os.stat("out/deep/train.py").st_mode & 0o777 == 0o755


def test_a_second_run_gives_the_same(tree, run):
    run("-o", "out", "proj")
    first = files(tree / "out")
    run("-o", "out", "proj")
    assert files(tree / "out") == first


def test_one_file(tree, run):
    assert run("-o", "out", "proj/train.py").status == 0
    assert files(tree / "out") == {"train.py": b"x = NPU\n"}


def test_several_paths_keep_their_places(tree, run):
    assert run("-o", "out", "proj/train.py", "proj/pkg", "proj/data/vocab.txt").status == 0
    assert set(files(tree / "out")) == {
        "train.py",
        "pkg/__init__.py",
        "pkg/model.py",
        "pkg/clean.py",
        "data/vocab.txt",
    }


@pytest.mark.parametrize(
    "output, paths",
    [
        ("proj", ["proj"]),
        ("proj/out", ["proj"]),
        (".", ["proj"]),
        ("link", ["proj"]),
        ("link/out", ["proj"]),
        ("proj", ["proj/train.py"]),
        ("proj/train.py", ["proj/pkg"]),
        ("proj/pkg/..", ["proj/train.py", "proj/pkg"]),
    ],
)
def test_a_folder_that_would_mix_with_the_originals_is_refused(tree, run, output, paths):
    (tree / "link").symlink_to("proj")
    before = files(tree)
    outcome = run("-o", output, *paths)
    assert outcome.status == 2
    assert outcome.err.startswith("Usage:")
    assert files(tree) == before


def test_links_of_the_tree_are_written_out(tree, run):
    (tree / "shared.py").write_bytes(b"s = GPU\n")
    (tree / "proj" / "bad.py").unlink()
    (tree / "proj" / "shared.py").symlink_to(str(tree / "shared.py"))
    (tree / "proj" / "again.py").symlink_to("train.py")
    (tree / "proj" / "loop").symlink_to(".")
    assert run("-o", "out", "proj").status == 0
    out = files(tree / "out")
    assert out["shared.py"] == b"s = NPU\n"
    assert out["again.py"] == b"x = NPU\n"
    assert "loop/train.py" not in out
    assert (tree / "shared.py").read_bytes() == b"s = GPU\n"


def test_links_below_the_output_lead_nowhere_else(tree, run):
    (tree / "proj" / "bad.py").unlink()
    (tree / "victim").mkdir()
    (tree / "victim.txt").write_bytes(b"mine\n")
    (tree / "out" / "data").mkdir(parents=True)
    (tree / "out" / "pkg").symlink_to(str(tree / "victim"))
    (tree / "out" / "train.py").symlink_to(str(tree / "victim.txt"))
    (tree / "out" / "data" / "vocab.txt").symlink_to(str(tree / "victim.txt"))
    outcome = run("-o", "out", "proj")
    assert outcome.status == 2
    assert "out/pkg/model.py: error: cannot be written: a link leads out of" in outcome.err
    assert os.listdir("victim") == []
    assert (tree / "victim.txt").read_bytes() == b"mine\n"
    assert (tree / "out" / "train.py").read_bytes() == b"x = NPU\n"
    assert not (tree / "out" / "data" / "vocab.txt").is_symlink()


def test_what_git_ignores_is_not_copied(tree, run):
    (tree / "proj" / ".gitignore").write_text("data/\n*.ckpt\n!keep.ckpt\n")
    (tree / "proj" / "a.ckpt").write_bytes(b"large")
    (tree / "proj" / "keep.ckpt").write_bytes(b"kept")
    run("proj", "-o", "out")
    copied = files(tree / "out")
    assert "keep.ckpt" in copied and "pkg/model.py" in copied and ".gitignore" in copied
    assert "a.ckpt" not in copied and "data/vocab.txt" not in copied
