"""Whether an expression needs parentheses in its new place."""

import ast
from typing import Dict, Tuple, Union

import libcst as cst

# From what binds least to what binds most.
(
    OPEN,
    NAMED,
    LAMBDA,
    CONDITIONAL,
    OR,
    AND,
    NOT,
    COMPARISON,
    BIT_OR,
    BIT_XOR,
    BIT_AND,
    SHIFT,
    SUM,
    PRODUCT,
    SIGN,
    POWER,
    AWAIT,
    PRIMARY,
) = range(18)

_OPERATORS: Dict[str, int] = {
    "Or": OR,
    "And": AND,
    "BitOr": BIT_OR,
    "BitXor": BIT_XOR,
    "BitAnd": BIT_AND,
    "LeftShift": SHIFT,
    "RightShift": SHIFT,
    "Add": SUM,
    "Subtract": SUM,
    "Power": POWER,
    "Not": NOT,
}

_EXPRESSIONS: Dict[str, int] = {
    "Tuple": OPEN,
    "Yield": OPEN,
    "GeneratorExp": OPEN,
    "NamedExpr": NAMED,
    "Lambda": LAMBDA,
    "IfExp": CONDITIONAL,
    "Comparison": COMPARISON,
    "UnaryOperation": SIGN,
    "BinaryOperation": PRODUCT,
    "Await": AWAIT,
}

_SLOTS: Dict[Tuple[str, str], int] = {
    ("Assign", "value"): OPEN,
    ("AugAssign", "value"): OPEN,
    ("Expr", "value"): OPEN,
    ("For", "iter"): OPEN,
    ("Return", "value"): OPEN,
    ("Yield", "value"): OPEN,
    ("If", "test"): NAMED,
    ("While", "test"): NAMED,
    ("IfExp", "body"): OR,
    ("IfExp", "test"): OR,
    ("CompFor", "iter"): OR,
    ("CompIf", "test"): OR,
    ("FormattedStringExpression", "expression"): CONDITIONAL,
    ("StarredElement", "value"): BIT_OR,
    ("StarredDictElement", "value"): BIT_OR,
    ("Comparison", "left"): BIT_OR,
    ("ComparisonTarget", "comparator"): BIT_OR,
    ("Await", "expression"): PRIMARY,
    ("Attribute", "value"): PRIMARY,
    ("Call", "func"): PRIMARY,
    ("Decorator", "decorator"): PRIMARY,
    ("Subscript", "value"): PRIMARY,
    ("AssignTarget", "target"): PRIMARY,
    ("Del", "target"): PRIMARY,
}
"""What the grammar takes without parentheses; ``LAMBDA`` (any plain expression) where not said."""

_BRACKETED = {
    ("Arg", "value"),
    ("Element", "value"),
    ("DictElement", "key"),
    ("DictElement", "value"),
    ("Index", "value"),
}
"""Places that mostly lie between brackets, where lines may break."""

Operation = Union[cst.UnaryOperation, cst.BooleanOperation, cst.BinaryOperation]


def fit(expression: cst.BaseExpression, parent: cst.CSTNode, field: str) -> cst.BaseExpression:
    """``expression``, in parentheses if it needs them as ``field`` of ``parent``."""
    if expression.lpar:
        return expression
    if strength(expression) < _demand(parent, field) or (
        _may_not_break(parent, field) and breaks_lines(expression)
    ):
        return in_parentheses(expression)
    if isinstance(expression, cst.Integer) and (type(parent), field) == (cst.Attribute, "value"):
        return in_parentheses(expression)
    return expression


def in_parentheses(expression: cst.BaseExpression) -> cst.BaseExpression:
    """``expression`` in one more pair of parentheses."""
    lpar = [cst.LeftParen(), *expression.lpar]
    return expression.with_changes(lpar=lpar, rpar=[*expression.rpar, cst.RightParen()])


def strength(expression: cst.CSTNode) -> int:
    """How strongly the parts of ``expression`` hold together."""
    if isinstance(expression, (cst.UnaryOperation, cst.BooleanOperation, cst.BinaryOperation)):
        return _operation_strength(expression)
    return _EXPRESSIONS.get(type(expression).__name__, PRIMARY)


def breaks_lines(expression: cst.CSTNode) -> bool:
    """Whether there is a line break in ``expression`` that no bracket of its own allows."""
    if isinstance(expression, cst.Name):
        return False
    code = cst.Module([]).code_for_node(expression)
    if "\n" not in code and "\r" not in code:
        return False
    try:
        ast.parse(code, mode="eval")
    except SyntaxError:
        return True
    return False


def _operation_strength(operation: Operation) -> int:
    kind = SIGN if isinstance(operation, cst.UnaryOperation) else PRODUCT
    return _OPERATORS.get(type(operation.operator).__name__, kind)


def _demand(parent: cst.CSTNode, field: str) -> int:
    if isinstance(parent, (cst.UnaryOperation, cst.BooleanOperation)):
        return _operation_strength(parent)
    if isinstance(parent, cst.BinaryOperation):
        own = _operation_strength(parent)
        if own == POWER:
            return AWAIT if field == "left" else SIGN
        return own if field == "left" else own + 1
    return _SLOTS.get((type(parent).__name__, field), LAMBDA)


def _may_not_break(parent: cst.CSTNode, field: str) -> bool:
    return (type(parent).__name__, field) not in _BRACKETED
