"""What becomes of calls: callee, arguments, layout."""

import ast
from typing import Sequence

import pytest
from snippet import Snippet

from npu_migrate.plan import Argument, EditCall
from npu_migrate.rewrite import rewrite

ADD = [Argument("k", "1")]

CASES = [
    ("x = a.b.f( 1,2 )\n", ["g"], "x = g( 1,2 )\n"),
    ("f()\n", ADD, "f(k=1)\n"),
    ("f(a)\n", ADD, "f(a, k=1)\n"),
    ("f(a, b,)\n", ADD, "f(a, b, k=1,)\n"),
    ("f(a, *b)\n", ADD, "f(a, *b, k=1)\n"),
    ("f(a, **b)\n", ADD, "f(a, k=1, **b)\n"),
    ("f(**b)\n", ADD, "f(k=1, **b)\n"),
    ("f(x for x in y)\n", ADD, "f((x for x in y), k=1)\n"),
    ("f(\n    a,\n    b,  # of b\n)\n", ADD, "f(\n    a,\n    b,  # of b\n    k=1,\n)\n"),
    ("f(\n    a,\n    b\n)\n", ADD, "f(\n    a,\n    b, k=1\n)\n"),
    ("f(\n    a  # of a\n    ,\n)\n", ADD, "f(\n    a  # of a\n    ,\n    k=1,\n)\n"),
    ("f(a,\n  b)\n", ADD, "f(a,\n  b, k=1)\n"),
    ("f(\n    a,\n    **b\n)\n", ADD, "f(\n    a,\n    k=1,\n    **b\n)\n"),
    ("f(a)\n", [Argument(1, "b")], "f(a, b)\n"),
    ("f(k=2)\n", [Argument(0, "b")], "f(b, k=2)\n"),
    ("f()\n", [Argument("k", "x if y else z")], "f(k=x if y else z)\n"),
    ("f(k = 2)\n", [Argument("k", "3")], "f(k = 3)\n"),
    ("f(k = 2)\n", [Argument("k", rename="long")], "f(long = 2)\n"),
    ("f(k = 2)\n", [Argument("k", "g($it)", rename="long")], "f(long = g(2))\n"),
    ("f(a + b, 1)\n", [Argument(0, "$it * 2")], "f((a + b) * 2, 1)\n"),
    ("f(a, 1)\n", [Argument(1, rename="n")], "f(a, n=1)\n"),
    ("f(a, b)\n", [Argument(0)], "f(b)\n"),
    ("f(a, b)\n", [Argument(1)], "f(a)\n"),
    ("f(a)\n", [Argument(0)], "f()\n"),
    ("f( a, k=2 )\n", [Argument("k")], "f( a )\n"),
    ("f(a, k=2, **z)\n", [Argument("k")], "f(a, **z)\n"),
    ("f(a, b, c)\n", [Argument(0), Argument(1), Argument(2)], "f()\n"),
    ("f(\n    a,\n    b,\n    c,\n)\n", [Argument(1)], "f(\n    a,\n    c,\n)\n"),
    ("f(\n    a,\n    b,\n    c,\n)\n", [Argument(0)], "f(\n    b,\n    c,\n)\n"),
    ("f(\n    a,\n    b,\n    c,\n)\n", [Argument(2)], "f(\n    a,\n    b,\n)\n"),
    ("f(\n    a,\n    b\n)\n", [Argument(1)], "f(\n    a\n)\n"),
    ("f(\n    a,  # of a\n    b\n)\n", [Argument(1)], "f(\n    a,  # of a\n)\n"),
    ("f(\n    a,  # of a\n    b,\n)\n", [Argument(0)], "f(\n    b,\n)\n"),
    ("f(a,\n  b,\n  c)\n", [Argument(0)], "f(b,\n  c)\n"),
    ("f(a,\n  b,\n  c)\n", [Argument(2)], "f(a,\n  b)\n"),
    ("f(a, b,\n  c)\n", [Argument(1)], "f(a,\n  c)\n"),
    ("f(\n    a,\n    # of c\n    c,\n)\n", [Argument(0)], "f(\n    # of c\n    c,\n)\n"),
    ("f(\n    a,\n)\n", [Argument(0)], "f()\n"),
    ("f(a, k=2)\n", [Argument("gone"), Argument(7)], "f(a, k=2)\n"),
    ("f(a, b)\n", [Argument(0), Argument("k", "1"), Argument(1, "g($it)")], "f(g(b), k=1)\n"),
]


@pytest.mark.parametrize(("source", "change", "expected"), CASES)
def test_call(source: str, change: Sequence[object], expected: str) -> None:
    s = Snippet(source)
    call = next(node for node in ast.walk(s.tree) if isinstance(node, ast.Call))
    callee = "".join(one for one in change if isinstance(one, str))
    arguments = tuple(one for one in change if isinstance(one, Argument))
    assert s.edited(EditCall(call, callee, arguments)) == expected


def test_parts_come_from_anywhere_with_their_layout_and_their_own_edits() -> None:
    s = Snippet("opt = make( lr )\nrun(opt)\n")
    wrap = EditCall(s.expr("run(opt)"), "", (Argument(0, "w($it, $o)", parts={"o": s.expr("lr")}),))
    assert s.edited(wrap) == "opt = make( lr )\nrun(w(opt, lr))\n"
    make = EditCall(s.expr("make(lr)"), "build")
    wrap = EditCall(s.expr("run(opt)"), "", (Argument("o", "$o", parts={"o": s.expr("make(lr)")}),))
    assert s.edited(wrap, make) == "opt = build( lr )\nrun(opt, o=build( lr ))\n"


def test_calls_within_calls() -> None:
    s = Snippet("f(g(h(x)), y)\n")
    edits = [
        EditCall(s.expr("f(g(h(x)), y)"), "F", (Argument("z", "1"),)),
        EditCall(s.expr("h(x)"), "H"),
        EditCall(s.expr("g(h(x))"), "G", (Argument(0, "[$it]"),)),
    ]
    assert s.edited(*edits) == "F(G([H(x)]), y, z=1)\n"


def test_two_edits_of_a_call_are_both_done() -> None:
    s = Snippet("f(a, b)\n")
    call = s.expr("f(a, b)")
    edits = EditCall(call, "g", (Argument(0),)), EditCall(call, "", (Argument(1, "c"),))
    assert s.edited(*edits) == "g(c)\n"


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        ("f(a, b)\n", [Argument(0, rename="x")]),  # a positional argument after a keyword
        ("f(a, x=b)\n", [Argument(0, rename="x")]),
        ("f(*a)\n", [Argument(0, "b")]),
        ("f(*a)\n", [Argument(1, "b")]),
        ("f()\n", [Argument("k", "g($it)")]),
        ("f()\n", [Argument("k", "not ( python")]),
    ],
)
def test_what_makes_no_sense_fails(source: str, arguments: Sequence[Argument]) -> None:
    s = Snippet(source + "other()\n")
    edits = [EditCall(s.expr(source), "", tuple(arguments)), EditCall(s.expr("other()"), "done")]
    result = rewrite(s.source.encode(), s.tree, edits)
    assert result.failed == (edits[0],)
    assert result.data.decode() == source + "done()\n"
