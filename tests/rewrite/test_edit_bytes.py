"""Encodings, newlines and whitespace; files that libcst can't take as a whole."""

import ast
import subprocess
import sys
from typing import Callable, Sequence

import pytest

from npu_migrate.plan import (
    AddImport,
    Edit,
    InsertStatements,
    MoveStatement,
    RemoveStatement,
    ReplaceExpression,
)
from npu_migrate.rewrite import RewriteError, rewrite

Edits = Callable[[ast.Module], Sequence[Edit]]


def edited(data: bytes, edits: Edits) -> bytes:
    tree = ast.parse(data)
    result = rewrite(data, tree, edits(tree))
    assert result.failed == ()
    return result.data


def block_before(number: int) -> Edits:
    return lambda tree: [InsertStatements(tree.body[number], "if new:\n    old()  # why")]


def without(number: int, comment: bool = True) -> Edits:
    return lambda tree: [RemoveStatement(tree.body[number], comment)]


CASES = {
    "byte order mark": (
        b"\xef\xbb\xbfa\n",
        block_before(0),
        b"\xef\xbb\xbfif new:\n    old()  # why\na\n",
    ),
    "encoding": (
        "# coding: gbk\n# \u6ce8\u91ca\nx = '\u6ce8'\ny\n".encode("gbk"),
        block_before(1),
        "# coding: gbk\n# \u6ce8\u91ca\nx = '\u6ce8'\nif new:\n    old()  # why\ny\n".encode("gbk"),
    ),
    "carriage returns and line feeds": (
        b"if a:\r\n  b  \r\n\r\nc\r\n",
        block_before(1),
        b"if a:\r\n  b  \r\n\r\nif new:\r\n  old()  # why\r\nc\r\n",
    ),
    "a comment made of lines with carriage returns": (
        b"if a:\r\n  b  \r\nc\r\n",
        without(0),
        b"# if a:\r\n#   b  \r\nc\r\n",
    ),
    "tabs": (b"if a:\n\tb\nc\n", block_before(1), b"if a:\n\tb\nif new:\n\told()  # why\nc\n"),
    "no newline at the end": (b"a\nb", block_before(1), b"a\nif new:\n    old()  # why\nb"),
    "nothing left at the end": (b"a\nb", without(1, comment=False), b"a"),
    "a comment at the end": (b"a\nb", without(1), b"a\n# b"),
    "mixed newlines": (b"a\r\nb\nc\r\n", without(1), b"a\r\n# b\nc\r\n"),
    "mixed newlines, deleted": (b"a\r\nb\nc\r\n", without(1, comment=False), b"a\r\nc\r\n"),
    "a lone carriage return": (b"a\rb\r\nc\n", without(1), b"a\r# b\r\nc\n"),
    "a lone carriage return at the edited line": (b"a\rb\r\nc\n", without(0), b"# a\rb\r\nc\n"),
    "form feeds": (
        b"a\n\x0cb\n\x0c\n# of c\nc\n",
        block_before(1),
        b"a\n\x0cif new:\n    old()  # why\nb\n\x0c\n# of c\nc\n",
    ),
    "form feeds elsewhere": (
        b"a\n\x0c\n@b\nclass c:\n\t'''\n\t'''\n# of d\nd; e\n\x0c\n",
        without(1),
        b"a\n\x0c\n# @b\n# class c:\n# \t'''\n# \t'''\n# of d\nd; e\n\x0c\n",
    ),
    "one of two on a line, beside a form feed": (
        b"a\n\x0c\nb; c\nd\n",
        without(2),
        b"a\n\x0c\n# c\nb\nd\n",
    ),
    "a tab behind a space": (
        b"def f():\n\t with x:\n\t\t pass\na\n",
        without(1),
        b"def f():\n\t with x:\n\t\t pass\n# a\n",
    ),
    "an import below a docstring, beside a form feed": (
        b"'''a\nb'''\n\x0c\nc\n",
        lambda tree: [AddImport("a", "b")],
        b"'''a\nb'''\n\nfrom a import b\n\x0c\nc\n",
    ),
    "parts of another statement, beside a form feed": (
        b"a = b\n\x0c\nc = d\n",
        lambda tree: [ReplaceExpression(tree.body[0].value, "f($d)", {"d": tree.body[1].value})],
        b"a = f(d)\n\x0c\nc = d\n",
    ),
    "a move across a form feed": (
        b"a\n\x0c\nb\nc\n",
        lambda tree: [MoveStatement(tree.body[2], tree.body[0])],
        b"c\na\n\x0c\nb\n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bytes(name: str) -> None:
    data, edits, expected = CASES[name]
    assert edited(data, edits) == expected


@pytest.mark.parametrize("data", [b"", b"\n", b"# only\n", b"\xef\xbb\xbf", b"a\rb\n", b"\x0ca\n"])
def test_without_edits_nothing_changes(data: bytes) -> None:
    assert rewrite(data, ast.parse(data), []).data == data


def test_a_file_without_statements_has_no_place_for_an_import() -> None:
    edit = AddImport("a", "b")
    result = rewrite(b"# only\n", ast.parse(b"# only\n"), [edit])
    assert (result.data, result.failed) == (b"# only\n", (edit,))


def test_a_statement_that_libcst_can_not_take_is_named() -> None:
    data = b"a\ndef f():\n\t with x:\n\t\t pass\n"
    with pytest.raises(RewriteError, match="line 2"):
        edited(data, without(1))


def test_a_file_of_carriage_returns_alone_is_refused() -> None:
    data = b"a\rb\r"
    with pytest.raises(RewriteError, match="without line feeds"):
        edited(data, without(1))


def test_a_lone_carriage_return_inside_a_statement_is_named() -> None:
    data = b"a\nif b:\r  c\n"
    with pytest.raises(RewriteError, match="carriage return"):
        edited(data, without(1))


def test_a_statement_nested_too_deeply_does_not_hold_up_the_others() -> None:
    data = b"x = " + b" + ".join([b"a"] * 600) + b"\ny = 1\n"
    assert edited(data, without(1)) == data.replace(b"y", b"# y")
    with pytest.raises(RewriteError, match="nested too deeply"):
        edited(data, without(0))


def test_what_the_encoding_does_not_have_is_refused() -> None:
    data = b"# coding: latin-1\na\n"
    with pytest.raises(RewriteError, match="iso-8859-1"):
        edited(data, lambda tree: [InsertStatements(tree.body[0], "x = '\u6ce8'")])


def test_libcst_is_not_imported_before_the_first_edit() -> None:
    code = "import sys, npu_migrate.rewrite; sys.exit('libcst' in sys.modules)"
    assert subprocess.call([sys.executable, "-c", code]) == 0
