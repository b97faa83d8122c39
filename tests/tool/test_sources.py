import ast
import os
import warnings

import pytest

from npu_migrate import sources
from npu_migrate.sources import SourceError, decode, find, parse, write


def make(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")


def paths(found):
    return [source.path for source in found]


# Finding


def test_a_folder_is_searched_in_order(folder):
    make(folder, "b.py", "a.py", "sub/c.py", "notes.txt", "sub/deep/d.py")
    found, errors = find(["."])
    assert paths(found) == ["a.py", "b.py", "sub/c.py", "sub/deep/d.py"]
    assert errors == []


@pytest.mark.parametrize(
    "skipped",
    [
        ".git/x.py",
        ".hidden/x.py",
        "__pycache__/x.py",
        ".venv/x.py",
        "venv/x.py",
        "node_modules/x.py",
        "build/x.py",
        "dist/x.py",
        "thing.egg-info/x.py",
        "sub/site-packages/x.py",
        ".#x.py",
    ],
)
def test_what_is_not_the_users_is_skipped(folder, skipped):
    make(folder, "a.py", skipped)
    assert paths(find(["."])[0]) == ["a.py"]


def test_a_virtual_environment_of_any_name_is_skipped(folder):
    make(folder, "a.py", "py37/lib/x.py")
    (folder / "py37" / "pyvenv.cfg").write_text("")
    assert paths(find(["."])[0]) == ["a.py"]


def test_what_the_user_names_is_always_taken(folder):
    make(folder, "build/x.py", "script", ".hidden/y.py")
    found, errors = find(["build", "script", ".hidden/y.py"])
    assert paths(found) == ["build/x.py", "script", ".hidden/y.py"]
    assert errors == []


def test_each_file_is_taken_once(folder):
    make(folder, "a/x.py")
    found, errors = find(["a/x.py", "a", "./a/../a/x.py", str(folder / "a")])
    assert paths(found) == ["a/x.py"]
    assert errors == []


def test_links_are_followed_after_what_has_its_own_place(folder):
    make(folder, "z/x.py", "elsewhere/y.py")
    (folder / "z" / "a.py").symlink_to("x.py")
    (folder / "b").symlink_to("z")
    (folder / "z" / "outside").symlink_to("../elsewhere")
    found, errors = find(["z"])
    assert paths(found) == ["z/x.py", "z/outside/y.py"]
    assert errors == []
    assert paths(find(["b", "z"])[0]) == ["b/x.py", "b/outside/y.py"]


def test_a_folder_that_holds_itself_is_searched_once(folder):
    make(folder, "a/x.py")
    (folder / "a" / "loop").symlink_to(".")
    (folder / "a" / "up").symlink_to("..")
    found, errors = find(["."])
    assert paths(found) == ["a/x.py"]
    assert errors == []


def test_a_link_that_leads_round_is_an_error(folder):
    make(folder, "a.py")
    (folder / "b.py").symlink_to("c.py")
    (folder / "c.py").symlink_to("b.py")
    (folder / "d").symlink_to("d")
    (folder / "data").symlink_to("gone")
    found, errors = find(["."])
    assert paths(found) == ["a.py"]
    assert [error.path for error in errors] == ["b.py", "c.py", "d"]
    assert all("link" in error.message for error in errors)


def test_missing_and_odd_paths_are_errors(folder):
    make(folder, "a.py")
    (folder / "empty").mkdir()
    os.mkfifo(str(folder / "pipe"))
    found, errors = find(["gone.py", "empty", "a.py", "pipe"])
    assert paths(found) == ["a.py"]
    assert [(error.path, error.message) for error in errors] == [
        ("gone.py", "cannot be read: no such file or folder"),
        ("empty", "no Python files here"),
        ("pipe", "neither a file nor a folder"),
    ]


def test_an_unreadable_folder_is_an_error(tmp_path, ordinary_user, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(tmp_path, "a.py", "closed/b.py")
    (tmp_path / "closed").chmod(0)
    with ordinary_user():
        found, errors = find(["."])
    (tmp_path / "closed").chmod(0o755)
    assert paths(found) == ["a.py"]
    assert [str(error) for error in errors] == [
        "closed: cannot be read: permission denied; change its permissions, or those of its folder"
    ]


# Reading


@pytest.mark.parametrize(
    "data, text",
    [
        (b"", ""),
        (b"x = 1", "x = 1"),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        ("# coding: gbk\n# 注释\n".encode("gbk"), "# coding: gbk\n# 注释\n"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=latin-1 :\n# \xe9\n", None),
        (b"x = 1\ry = 2\r\n", "x = 1\ry = 2\r\n"),
    ],
)
def test_decoding(data, text):
    assert decode(data, "a.py") == (text if text is not None else data.decode("latin-1"))
    assert isinstance(parse(data, "a.py"), ast.Module)


BAD = {
    "nul": (b"x = 1\ny = '\0'\n", 2, "NUL bytes"),
    "utf16": ("x = 1\n".encode("utf-16"), 1, "NUL bytes"),
    "latin1": (b"x = 1\n# caf\xe9\n", 2, "not UTF-8: byte 0xe9"),
    "latin1 far down": (b"x = 1\n" * 5 + b"# caf\xe9\n", 6, "not UTF-8: byte 0xe9"),
    "bom": (b"\xef\xbb\xbfx = 1\n# \xe9\n", 2, "not UTF-8: byte 0xe9"),
    "lying": (b"# coding: ascii\nx = '\xc3\xa9'\n", 2, "says ascii, but byte 0xc3"),
    "lying utf-8": (b"# coding: utf-8\nx = '\xe9'\n", 2, "says utf-8, but byte 0xe9"),
    "unknown": (b"# coding: klingon\n", 1, "unknown encoding: klingon"),
    "no text": (b"# coding: rot13\n", 1, "cannot be read as rot13"),
    "bom and cookie": (b"\xef\xbb\xbf# coding: gbk\n", 1, "byte order mark"),
    "print": (b'x = 1\nprint "x"\n', 2, "Python 2 syntax: print statement"),
    "print name": (b"if x: print x\n", 1, "Python 2 syntax: print statement"),
    "exec": (b'exec "x"\n', 1, "Python 2 syntax: exec statement"),
    "except": (b"try:\n  pass\nexcept E, e:\n  pass\n", 3, "Python 2 syntax: except"),
    "raise": (b"raise E, 'x'\n", 1, "Python 2 syntax: raise with a comma"),
    "octal": (b"x = 0777\n", 1, "Python 2 syntax: octal number"),
    "long": (b"x = 10L\n", 1, "Python 2 syntax: long integer"),
    "ur": (b"x = ur'x'\n", 1, "Python 2 syntax: ur string"),
    "backquotes": (b"x = `y`\n", 1, "Python 2 syntax: backquotes"),
    "unequal": (b"x = 1 <> 2\n", 1, "Python 2 syntax: <> operator"),
    "parameters": (b"def f(a, (b, c)):\n  pass\n", 1, "Python 2 syntax: tuple parameter"),
    "lambda": (b"f = lambda (a, b): a\n", 1, "Python 2 syntax: tuple parameter"),
    "tabs": (b"if x:\n        y = 1\n\tz = 1\n", 3, "inconsistent use of tabs and spaces"),
    "syntax": (b"x = 1\nx = = 2\n", 2, "syntax error: "),
    "merge": (b"x = 1\n<<<<<<< HEAD\n", 2, "syntax error: "),
    "operators": (b"x = " + b"-" * 100000 + b"1\n", 0, "nested too deeply"),
}


@pytest.mark.parametrize("data, line, message", BAD.values(), ids=list(BAD))
def test_a_file_that_is_no_python_is_an_error_with_its_line(data, line, message):
    with pytest.raises(SourceError) as caught:
        parse(data, "a.py")
    assert message in caught.value.message
    assert (caught.value.path, caught.value.line) == ("a.py", line)
    assert caught.value.remedy


def test_nested_parentheses():
    with pytest.raises(SourceError, match="nest.*split the expression"):
        parse(b"x = " + b"(" * 10000 + b")" * 10000, "a.py")


def test_print_as_a_function_is_no_python_2():
    with pytest.raises(SourceError) as caught:
        parse(b"print('x') = 2\n", "a.py")
    assert "Python 2" not in caught.value.message


def test_warnings_about_the_users_code_are_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(b"x = '\\d'\nassert (x, 'y')\nx is 1\n", "a.py")


def test_a_file_that_vanishes(folder):
    make(folder, "a.py")
    (source,), _ = find(["a.py"])
    (folder / "a.py").unlink()
    with pytest.raises(SourceError, match="a.py: cannot be read: no such file"):
        source.read()


# Writing


def test_writing_keeps_the_mode(folder):
    make(folder, "a.py")
    (folder / "a.py").chmod(0o751)
    write("a.py", b"y = 2\r\n")
    assert (folder / "a.py").read_bytes() == b"y = 2\r\n"
    assert (folder / "a.py").stat().st_mode & 0o7777 == 0o751
    assert os.listdir(".") == ["a.py"]


def test_writing_through_a_link_leaves_the_link(folder):
    make(folder, "real/a.py")
    (folder / "a.py").symlink_to("real/a.py")
    write("a.py", b"y = 2\n")
    assert (folder / "a.py").is_symlink()
    assert (folder / "real" / "a.py").read_bytes() == b"y = 2\n"
    assert os.listdir("real") == ["a.py"]


@pytest.mark.parametrize("file_mode, folder_mode", [(0o444, 0o777), (0o666, 0o555)])
def test_what_is_read_only_stays_as_it_was(tmp_path, ordinary_user, file_mode, folder_mode):
    make(tmp_path, "sub/a.py")
    path = tmp_path / "sub" / "a.py"
    path.chmod(file_mode)
    (tmp_path / "sub").chmod(folder_mode)
    with ordinary_user(), pytest.raises(SourceError, match="cannot be written: permission denied"):
        write(str(path), b"y = 2\n")
    (tmp_path / "sub").chmod(0o755)
    assert path.read_text() == "x = 1\n"
    assert os.listdir(str(tmp_path / "sub")) == ["a.py"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(folder, monkeypatch, step):
    def fail(*_):
        raise OSError(28, "No space left on device")

    make(folder, "a.py")
    monkeypatch.setattr(sources.os, step, fail)
    with pytest.raises(SourceError, match="a.py: cannot be written: no space left"):
        write("a.py", b"y = 2\n")
    assert (folder / "a.py").read_text() == "x = 1\n"
    assert os.listdir(".") == ["a.py"]


def test_writing_does_not_bring_a_vanished_file_back(folder):
    with pytest.raises(SourceError, match="no such file"):
        write("a.py", b"y = 2\n")
    assert os.listdir(".") == []
