"""Parentheses come where the meaning needs them, and nowhere else."""

import ast
import sys
from itertools import product
from typing import Any

import libcst as cst
import pytest

from npu_migrate.rewrite.templates import expression

PARTS = [
    "a",
    "a.b",
    "a(b)",
    "a[b]",
    "1",
    "'a'",
    "'a' 'b'",
    "-a",
    "not a",
    "a + b",
    "a - b",
    "a * b",
    "a ** b",
    "a | b",
    "a << b",
    "a < b",
    "a in b",
    "a and b",
    "a or b",
    "a if b else c",
    "lambda: a",
    "lambda a, b: a",
    "[a]",
    "{a: b}",
    "[a for a in b]",
    "a(\n  b)",
]

PLACES = [
    "$x",
    "f($x)",
    "f(k=$x)",
    "f(*$x)",
    "f(**$x)",
    "$x.m",
    "$x()",
    "$x[0]",
    "m[$x]",
    "m[$x:]",
    "[$x]",
    "[*$x]",
    "($x, 1)",
    "{$x: 1}",
    "{1: $x}",
    "{**$x}",
    "-$x",
    "not $x",
    "$x + 1",
    "1 + $x",
    "$x - 1",
    "1 - $x",
    "$x * 1",
    "1 * $x",
    "$x ** 1",
    "1 ** $x",
    "$x | 1",
    "1 | $x",
    "1 >> $x",
    "$x < 1",
    "1 < $x",
    "1 < $x < 2",
    "$x and y",
    "y and $x",
    "$x or y",
    "y or $x",
    "$x if y else z",
    "y if $x else z",
    "y if z else $x",
    "lambda: $x",
    "lambda k=$x: k",
    "[$x for y in z]",
    "[y for y in $x]",
    "[y for y in z if $x]",
    "{$x: y for y in z}",
]


class Flattened(ast.NodeTransformer):
    """``a and (b and c)`` means what ``a and b and c`` means."""

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        values = []
        for value in node.values:
            same = isinstance(value, ast.BoolOp) and isinstance(value.op, type(node.op))
            values.extend(value.values if same else [value])  # type: ignore[attr-defined]
        return ast.BoolOp(node.op, values)


def meaning(code: str) -> str:
    try:
        return ast.dump(Flattened().visit(ast.parse(code, mode="eval")))
    except SyntaxError:
        return "none"


@pytest.mark.parametrize("place", PLACES)
def test_parentheses(place: str) -> None:
    for part, with_them in product(PARTS, (False, True)):
        given = f"({part})" if with_them else part
        filled = expression(place, {"x": cst.parse_expression(given)})
        code = cst.Module([]).code_for_node(filled)
        assert meaning(code) == meaning(place.replace("$x", f"({part})"))
        plain = place.replace("$x", given)
        if sys.version_info >= (3, 9):  # older ones take `if lambda: a` in a comprehension
            assert code == plain or meaning(plain) != meaning(code)
