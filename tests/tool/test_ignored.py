"""What .gitignore files and --exclude leave out of a folder; git itself is the judge."""

import shutil
import subprocess

import pytest

from npu_migrate.ignored import Exclusion
from npu_migrate.sources import find


def make(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def found(*paths, exclude=()):
    sources, errors = find(paths or ["."], [Exclusion(tuple(exclude))])
    assert errors == []
    return sorted(source.path.replace("\\", "/") for source in sources)


TREES = {
    "names anywhere": {".gitignore": "gen.py\n"},
    "a folder": {".gitignore": "gen/\n"},
    "only at the top": {".gitignore": "/a.py\n"},
    "a path": {".gitignore": "sub/deep\n"},
    "a file is no folder": {".gitignore": "a.py/\n"},
    "stars": {".gitignore": "**/deep/*.py\n*_pb2.py\n"},
    "all but some": {".gitignore": "*.py\n!a.py\n!/sub/gen.py\n"},
    "all but folders and some": {".gitignore": "*\n!*/\n!a.py\n"},
    "a folder's content but one": {".gitignore": "sub/*\n!sub/gen.py\n"},
    "nested": {".gitignore": "gen.py\n", "sub/.gitignore": "/a.py\n"},
    "nested negation": {".gitignore": "gen.py\ndeep/\n", "sub/.gitignore": "!gen.py\n!deep/\n"},
    "nothing below what is out": {".gitignore": "sub\n", "sub/.gitignore": "!a.py\n"},
    "a name, but not the folder": {".gitignore": "sub\n!sub/\n"},
    "negation of the folder further in": {".gitignore": "deep\n", "sub/.gitignore": "!deep/\n"},
    "content, but not the folder": {".gitignore": "sub/**\n!sub/deep\n!/sub/a.py\n"},
    "classes": {".gitignore": "[!a]*.py\n"},
    "comments and blanks": {".gitignore": "# a.py\n\n  \n\\#.py\ngen.py   \n"},
    "carriage returns": {".gitignore": "gen.py\r\n"},
    "not UTF-8": {".gitignore": "gen.py\nна\n"},
}


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
@pytest.mark.parametrize("ignores", TREES.values(), ids=list(TREES))
def test_as_git_does(folder, ignores):
    for path in ("", "sub/", "sub/deep/", "gen/", "other/sub/deep/"):
        make(folder, {f"{path}{name}.py": "" for name in ("a", "gen", "x_pb2")})
    for path, text in ignores.items():
        (folder / path).write_bytes(text.encode("cp1251"))
    subprocess.run(["git", "init", "-q"], check=True)
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", "*.py"],
        stdout=subprocess.PIPE,
        check=True,
    )
    assert found() == sorted(listed.stdout.decode().split())


def test_what_stands_above_the_folder_counts_up_to_the_repository(folder):
    make(
        folder,
        {
            ".gitignore": "a.py",
            "repo/.git/config": "",
            "repo/.gitignore": "gen.py\n/src/out\n",
            "repo/src/.gitignore": "!gen.py",
            "repo/src/pkg/gen.py": "",
            "repo/src/pkg/a.py": "",
            "repo/src/out/x.py": "",
            "repo/gen.py": "",
        },
    )
    assert found("repo/src") == ["repo/src/pkg/a.py", "repo/src/pkg/gen.py"]
    assert found("repo") == ["repo/src/pkg/a.py", "repo/src/pkg/gen.py"]


def test_without_a_repository_the_folder_speaks_for_itself(folder):
    make(
        folder, {".gitignore": "*", "proj/.gitignore": "gen.py", "proj/gen.py": "", "proj/a.py": ""}
    )
    assert found("proj") == ["proj/a.py"]


def test_a_path_that_is_named_is_taken(folder):
    make(
        folder,
        {
            ".git/config": "",
            ".gitignore": "out/\nb.py",
            "out/a.py": "",
            "out/sub/c.py": "",
            "b.py": "",
        },
    )
    assert found("out", "b.py") == ["b.py", "out/a.py", "out/sub/c.py"]
    assert found("out/sub") == ["out/sub/c.py"]
    assert found("out", "b.py", exclude=["out", "b.py", "sub/"]) == ["b.py", "out/a.py"]


def test_exclude_takes_patterns_as_gitignore_does(folder):
    make(folder, {f"{path}a.py": "" for path in ("", "tests/", "pkg/", "pkg/tests/", "pkg/gen/")})
    assert found(exclude=["tests"]) == ["a.py", "pkg/a.py", "pkg/gen/a.py"]
    assert found(exclude=["/tests", "pkg/gen/"]) == ["a.py", "pkg/a.py", "pkg/tests/a.py"]
    assert found("pkg", exclude=["pkg/gen"]) == ["pkg/a.py", "pkg/tests/a.py"]
    assert found(exclude=["*.py", "!/a.py"]) == ["a.py"]


def test_exclude_is_stronger_than_a_negation_in_gitignore(folder):
    make(folder, {".gitignore": "*.py\n!a.py\n", "a.py": "", "b.py": "", "sub/a.py": ""})
    assert found(exclude=["sub"]) == ["a.py"]


def test_exclude_holds_outside_of_the_current_folder(folder, monkeypatch):
    make(folder, {"here/x.py": "", "there/a.py": "", "there/gen/b.py": ""})
    monkeypatch.chdir(folder / "here")
    assert found("../there", exclude=["/gen"]) == ["../there/a.py"]


def test_links_are_left_out_by_their_name(folder):
    make(folder, {".gitignore": "link.py\n", "elsewhere/b.py": "", "proj/a.py": ""})
    make(folder, {"proj/.gitignore": "gen\n"})
    (folder / "proj" / "gen").symlink_to("../elsewhere")
    (folder / "proj" / "more").symlink_to("../elsewhere")
    assert found("proj") == ["proj/a.py", "proj/more/b.py"]


def test_the_command_line(folder, run):
    make(folder, {"a.py": "", "b.py": "", "c/d.py": ""})
    assert "1 file " in run("--check", "--exclude", "b.py", "--exclude", "c/", ".").out
