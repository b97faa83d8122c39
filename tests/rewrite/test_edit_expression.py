"""Expressions replaced, wrapped, and taken out of lists."""

import ast

import pytest
from snippet import Snippet

from npu_migrate.plan import DropElement, EditCall, ReplaceExpression
from npu_migrate.rewrite import RewriteError, rewrite

REPLACED = [
    # source, expression, code, expected
    ("y = tf.float16\n", "tf.float16", "tf.float32", "y = tf.float32\n"),
    ("y = a.b\n", "a.b", "f($it)", "y = f(a.b)\n"),
    ("y = a * b\n", "a", "c + d", "y = (c + d) * b\n"),
    ("y = a + b\n", "a", "c * d", "y = c * d + b\n"),
    ("y = a - b\n", "b", "c - d", "y = a - (c - d)\n"),
    ("y = a - b\n", "a", "c - d", "y = c - d - b\n"),
    ("y = a ** b\n", "a", "-c", "y = (-c) ** b\n"),
    ("y = a ** b\n", "b", "-c", "y = a ** -c\n"),
    ("y = a.b\n", "a", "c or d", "y = (c or d).b\n"),
    ("y = a.b\n", "a", "1", "y = (1).b\n"),
    ("y = a and b\n", "b", "c or d", "y = a and (c or d)\n"),
    ("y = a and b\n", "b", "not c", "y = a and not c\n"),
    ("y = not a\n", "a", "b < c", "y = not b < c\n"),
    ("y = a < b\n", "a", "not c", "y = (not c) < b\n"),
    ("f(a)\n", "a", "b if c else d", "f(b if c else d)\n"),
    ("f(a)\n", "a", "(yield)", "f((yield))\n"),
    ("y = [a]\n", "a", "b, c", "y = [(b, c)]\n"),
    ("y = a\n", "a", "b, c", "y = b, c\n"),
    ("y = a if b else c\n", "b", "d if e else f", "y = a if (d if e else f) else c\n"),
    ("y = a if b else c\n", "c", "d if e else f", "y = a if b else d if e else f\n"),
    ("y = lambda: a\n", "a", "b if c else d", "y = lambda: b if c else d\n"),
    ("y = a and b and c\n", "a and b and c", "f($it)", "y = f(a and b and c)\n"),
    ("y = (a + b) * c\n", "a + b", "f($it)", "y = f(a + b) * c\n"),
    ("y = (a, b)\n", "(a, b)", "f($it)", "y = f((a, b))\n"),
    ("y = (\n    a.b  # why\n)\n", "a.b", "f($it)", "y = (\n    f(a.b)  # why\n)\n"),
    ("f(a +\n  b)\n", "a + b", "g($it)", "f(g(a +\n  b))\n"),
    ("f(a +\n  b)\n", "a + b", "not $it", "f(not (a +\n  b))\n"),
    ("y = f(a +\n  b)\n", "f(a + b)", "$arg", "y = (a +\n  b)\n"),
    ("y = f(a +\n  b)\n", "f(a + b)", "g($arg)", "y = g(a +\n  b)\n"),
    ("y = f(a)\n", "f(a)", "$arg if $arg else g($arg)", "y = a if a else g(a)\n"),
    ("y = f'{a!r:>{b}}'\n", "b", "f($it)", "y = f'{a!r:>{f(b)}}'\n"),
    ("if a:\n    pass\n", "a", "not $it", "if not a:\n    pass\n"),
    ("with a() as b, c() as d:\n    pass\n", "c()", "e", "with a() as b, e as d:\n    pass\n"),
    ("for a in b:\n    c\n", "b", "d, e", "for a in d, e:\n    c\n"),
    (
        "@a\ndef f(x=b, *, y: c = d) -> e:\n    b\n",
        "c",
        "C",
        "@a\ndef f(x=b, *, y: C = d) -> e:\n    b\n",
    ),
    ("class A(b):\n    b\n", "b", "B", "class A(B):\n    b\n"),
    (
        "try:\n    pass\nexcept a as b:\n    pass\n",
        "a",
        "A",
        "try:\n    pass\nexcept A as b:\n    pass\n",
    ),
    ("x[a, b:c]\n", "b", "B", "x[a, B:c]\n"),
    ("assert a, b\n", "b", "c", "assert a, c\n"),
    ("# coding: utf-8\nµ = µ.b\n", "µ.b", "c", "# coding: utf-8\nµ = c\n"),
]


@pytest.mark.parametrize(("source", "text", "code", "expected"), REPLACED)
def test_replaced(source: str, text: str, code: str, expected: str) -> None:
    s = Snippet(source)
    node = s.expr(text)
    parts = {"it": node}
    if "$arg" in code:
        parts["arg"] = node.args[0]
    assert s.edited(ReplaceExpression(node, code, parts)) == expected


def test_what_is_carried_along_is_edited_too() -> None:
    s = Snippet("y = outer(inner(a), b)\n")
    outer, inner = s.expr("outer(inner(a), b)"), s.expr("inner(a)")
    edits = [
        ReplaceExpression(outer, "$i or $b", parts={"i": inner, "b": s.expr("b")}),
        ReplaceExpression(inner, "$a + 1", parts={"a": s.expr("a")}),
        ReplaceExpression(s.expr("b"), "B"),
    ]
    assert s.edited(*edits) == "y = a + 1 or B\n"


def test_an_edited_call_can_be_wrapped_in_any_order_of_the_edits() -> None:
    s = Snippet("y = f(a)\n")
    call = s.expr("f(a)")
    edits = [ReplaceExpression(call, "w($it)", parts={"it": call}), EditCall(call, "g")]
    assert s.edited(*edits) == s.edited(*edits[::-1]) == "y = w(g(a))\n"


def test_two_wrappers_nest_in_their_order() -> None:
    s = Snippet("y = a\n")
    node = s.expr("a")
    wrap = [ReplaceExpression(node, f"{name}($it)", parts={"it": node}) for name in ("f", "g")]
    assert s.edited(*wrap) == "y = g(f(a))\n"


def test_the_same_edit_twice_is_done_once() -> None:
    s = Snippet("y = a\n")
    node = s.expr("a")
    wrap = [ReplaceExpression(node, "f($it)", parts={"it": node}) for _ in range(2)]
    assert s.edited(*wrap) == "y = f(a)\n"


def test_contradicting_replacements_fail_with_their_statement() -> None:
    s = Snippet("y = a, c\nz = b\n")
    edits = [
        ReplaceExpression(s.expr("a"), "A"),
        ReplaceExpression(s.expr("a"), "B"),
        ReplaceExpression(s.expr("c"), "C"),
        ReplaceExpression(s.expr("b"), "B"),
    ]
    result = rewrite(s.source.encode(), s.tree, edits)
    assert result.data == b"y = a, c\nz = B\n"
    assert result.failed == tuple(edits[:3])


DROPPED = [
    ("y = [a, b]\n", "a", "y = [b]\n"),
    ("y = [a, b]\n", "b", "y = [a]\n"),
    ("y = [a]\n", "a", "y = []\n"),
    ("y = (a, b)\n", "a", "y = (b,)\n"),
    ("y = (a, b)\n", "b", "y = (a,)\n"),
    ("y = (a,)\n", "a", "y = ()\n"),
    ("y = a,\n", "a", "y = ()\n"),
    ("y = a, b\n", "b", "y = a,\n"),
    ("f(a, [b])\n", "b", "f(a)\n"),
    ("f(a, [[b]], c)\n", "b", "f(a, c)\n"),
    ("f(a, k=[b])\n", "b", "f(a)\n"),
    ("f(a, k=b)\n", "b", "f(a)\n"),
    ("f(a, *[b])\n", "b", "f(a)\n"),
    ("y = [\n    a,\n    b,\n]\n", "b", "y = [\n    a,\n]\n"),
    ("y = [\n    a,\n    b\n]\n", "b", "y = [\n    a\n]\n"),
    ("y = [\n    a,\n    b\n]\n", "a", "y = [\n    b\n]\n"),
    ("y = [\n    a\n]\n", "a", "y = []\n"),
    ("y = {a, b}\n", "b", "y = {a}\n"),
    ("f({a})\n", "a", "f()\n"),
]


@pytest.mark.parametrize(("source", "text", "expected"), DROPPED)
def test_dropped(source: str, text: str, expected: str) -> None:
    s = Snippet(source)
    assert s.edited(DropElement(s.expr(text))) == expected


def test_an_unpacked_argument_is_dropped() -> None:
    s = Snippet("f(a, *b)\n")
    assert s.edited(DropElement(s.expr("f(a, *b)").args[1])) == "f(a)\n"


@pytest.mark.parametrize(
    ("source", "text", "code"),
    [
        ("y = f'{a}'\n", "a", "b['c']"),  # the string's own quotes
        ("y = a\n", "a", "b +"),
        ("y = f(a)\n", "a", "g($call)"),  # would contain itself
    ],
)
def test_what_can_not_be_placed_is_left_alone(source: str, text: str, code: str) -> None:
    s = Snippet(source)
    parts = {"call": s.expr("f(a)")} if "$call" in code else {}
    edit = ReplaceExpression(s.expr(text), code, parts)
    result = rewrite(source.encode(), s.tree, [edit])
    assert (result.data.decode(), result.failed) == (source, (edit,))


def test_nothing_to_drop_from() -> None:
    s = Snippet("y = a\n")
    edit = DropElement(s.expr("a"))
    assert rewrite(s.source.encode(), s.tree, [edit]).failed == (edit,)


def test_a_node_of_another_tree_fails() -> None:
    s = Snippet("y = a\n")
    edit = ReplaceExpression(ast.Name("a", ast.Load()), "b")
    assert rewrite(s.source.encode(), s.tree, [edit]).failed == (edit,)


def test_a_result_that_would_not_parse_is_refused() -> None:
    s = Snippet("y = a\n")
    with pytest.raises(RewriteError, match="would not parse"):
        s.edited(ReplaceExpression(s.expr("y"), "f()"))
