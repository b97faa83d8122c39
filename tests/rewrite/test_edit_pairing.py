"""Every expression of real code is paired with the text that it came from."""

import ast
import glob
import os
import sys
import sysconfig
from pathlib import Path
from typing import Tuple

import libcst as cst
import pytest
from snippet import dump

from npu_migrate.rewrite.document import Document
from npu_migrate.rewrite.errors import CannotPlace
from npu_migrate.rewrite.pairing import Owners, Pairing
from npu_migrate.rewrite.source_order import ast_expressions

FILES = sorted(
    path
    for pattern in ("*.py", "email/*.py", "unittest/*.py", "asyncio/*.py", "test/test_*.py")
    for path in glob.glob(os.path.join(sysconfig.get_paths()["stdlib"], pattern))
    if os.path.getsize(path) < 20000
)[::3]


def check(data: bytes, path: str = "") -> int:
    """Compare what the text of each counterpart means with the node that it is to be."""
    try:
        tree = ast.parse(data)
    except SyntaxError:
        return 0
    owners = Owners(tree)
    pairing = Pairing(Document(data, tree), owners)
    checked = 0
    for statement in (node for node in ast.walk(tree) if isinstance(node, ast.stmt)):
        for node, kind in ast_expressions(statement):
            code = cst.Module([]).code_for_node(pairing.expression(node))
            if kind.name != "Starred":
                text = ast.parse(f"({code}\n)", mode="eval").body
                assert dump(text) == dump(node), f"{path}:{statement.lineno}"
                checked += 1
    return checked


def test_the_standard_library() -> None:
    assert sum(check(Path(path).read_bytes(), path) for path in FILES) > 50000


TRICKY = [
    "f(a=1, *b, **c)(d, *e, f=g)",
    "x = a if b else c if d else e",
    "x = lambda a, b=c, *d, e, f=g, **h: i if j else k",
    "@a.b(c)\ndef f(a: b = c, *d: e, f: g = h, **i: j) -> k: l",
    "@a\nclass b(c.d, e, *f, metaclass=g(h), **i): j",
    "{a: b, **c, d: e}",
    "{a for b in c if d if e for f in g}",
    "{a: b for c, d in e}",
    "x[a], x[a, b], x[(a, b)], x[(a, b),], x[a:b, c], x[a:b:c], x[()], x[:, (a, b)]",
    "a and b and c or d and (e and f) and not (g or h)",
    "a < b < c in d is not e",
    "x = 'a' f'{b!r:>{c}}' 'd' f'{e}' + b'f' b'g'",
    "x = f'{a[b]}{{c}}' % (d, e)",
    "x: a.b = c",
    "a, *b = *c, d",
    "for a, b in c, d: e\nelse: f",
    "async def f():\n async for a in b: await c\n async with d as e, f: yield g",
    "async def f(): return [h async for h in i]",
    "try: a\nexcept b as c: d\nexcept (e, f): g\nelse: h\nfinally: i",
    "def f(): x = yield from (yield a)",
    "assert a, b\ndel c.d, e[f]\nraise g from h",
    "global a\nfrom b import c as d\nimport e.f as g",
    "True, None, ..., 1, 1.5, 2j, -1, ~a, 'b' 'c'",
    "\N{MATHEMATICAL ITALIC SMALL X} = \N{MICRO SIGN}.\N{MICRO SIGN}",
    "if a: b\nelif c: d\nelse:\n if e: f",
    "print(*(a), **(b))",
]

NEWER = [
    ((3, 8), "if (a := b): c\ndef f(a, b=c, /, d=e): f"),
    ((3, 10), "match a.b:\n case c.d(e, f=g) if h.i: j\n case [k, *l] | m: n"),
    ((3, 11), "try: a\nexcept* b as c: d"),
    ((3, 9), "with (a as b, c(d) as e): f"),
    ((3, 11), "x[*a]"),
    ((3, 12), "def f[T: a.b](c: T) -> d: e\nclass g[*U, **V](h): i\ntype j[T] = k[T]"),
]


@pytest.mark.parametrize("source", TRICKY)
def test_tricky(source: str) -> None:
    assert check(source.encode()) or source.startswith("global")


@pytest.mark.parametrize(("since", "source"), NEWER)
def test_newer_syntax(since: Tuple[int, int], source: str) -> None:
    if sys.version_info < since:
        pytest.skip(f"syntax of Python {since[0]}.{since[1]}")
    assert check(source.encode())


def test_what_can_not_be_told_apart_is_not_guessed() -> None:
    tree = ast.parse("x[a, b]")
    index = next(node for node in ast.walk(tree) if isinstance(node, ast.Tuple))
    owners = Owners(tree)
    with pytest.raises(CannotPlace):
        Pairing(Document(b"x[a, b]", tree), owners).expression(index)


def test_a_tree_of_other_text_is_noticed() -> None:
    tree = ast.parse("a(b)\nc")
    pairing = Pairing(Document(b"a(b, b)\nc", tree), Owners(tree))
    with pytest.raises(CannotPlace):
        pairing.expression(tree.body[0].value.args[0])  # type: ignore[attr-defined]
    pairing = Pairing(Document(b"a(b)", tree), Owners(tree))
    with pytest.raises(CannotPlace):
        pairing.statement(tree.body[0])
