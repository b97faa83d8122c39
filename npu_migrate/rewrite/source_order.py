"""The expressions that belong to a statement itself, in source order, in both trees.

Both trees are read in the same way: nodes before what they contain, what they contain from left
to right, no bodies of compound statements. Neither tree lists its fields in source order
throughout, and names that are expressions in one tree only (attributes, keywords, parameters,
``True``) are made alike, so that the two sequences can be compared one by one.
"""

import ast
import sys
import unicodedata
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import libcst as cst

from npu_migrate.rewrite.nodes import is_node


class Kind(NamedTuple):
    """What two nodes must have in common to be the same: the sort of node, and its text if any."""

    name: str
    text: str = ""


STRING = Kind("string")
NUMBER = Kind("number")
ELLIPSIS = Kind("...")

# --- ast -------------------------------------------------------------------------------------

_AST_FIELDS: Dict[str, Tuple[str, ...]] = {
    "FunctionDef": ("decorator_list", "type_params", "args", "returns"),
    "AsyncFunctionDef": ("decorator_list", "type_params", "args", "returns"),
    "ClassDef": ("decorator_list", "type_params", "bases", "keywords"),
    "For": ("target", "iter"),
    "AsyncFor": ("target", "iter"),
    "While": ("test",),
    "If": ("test",),
    "With": ("items",),
    "AsyncWith": ("items",),
    "Try": ("handlers",),
    "TryStar": ("handlers",),
    "ExceptHandler": ("type",),
    "Match": ("subject", "cases"),
    "match_case": ("guard",),
    "IfExp": ("body", "test", "orelse"),
}
"""Fields to read, where they are not all fields as they are declared."""

_AST_ALIKE = {"YieldFrom": "Yield"}


def ast_expressions(statement: ast.AST) -> Iterator[Tuple[ast.AST, Kind]]:
    """The expressions of ``statement`` that have a counterpart in libcst."""
    stack = _ast_children(statement)[::-1]
    while stack:
        node = stack.pop()
        kind = _ast_kind(node)
        if kind is not None:
            yield node, kind
        stack.extend(reversed(_ast_children(node)))


def _ast_kind(node: ast.AST) -> Optional[Kind]:
    name = type(node).__name__
    if isinstance(node, ast.Name):
        return Kind("Name", node.id)
    if isinstance(node, ast.Attribute):
        return Kind("Attribute", node.attr)
    if name in ("Constant", "Num", "Str", "Bytes", "NameConstant", "Ellipsis"):
        return _constant_kind(node)
    if name in ("JoinedStr", "TemplateStr"):
        return STRING
    if isinstance(node, ast.expr) and name not in ("FormattedValue", "Interpolation", "Slice"):
        return Kind(_AST_ALIKE.get(name, name))
    return None


def _constant_kind(node: Any) -> Kind:
    """Python 3.7 has a class for each type of constant, later ones a single class."""
    name = type(node).__name__
    value = node.value if name in ("Constant", "NameConstant") else None
    if value is True or value is False or (value is None and name in ("Constant", "NameConstant")):
        return Kind("Name", str(value))
    if name == "Ellipsis" or value is ...:
        return ELLIPSIS
    if name in ("Str", "Bytes") or isinstance(value, (str, bytes)):
        return STRING
    return NUMBER


def _ast_children(node: Any) -> List[ast.AST]:
    if isinstance(node, ast.Call):
        return [node.func, *sorted(node.args + [k.value for k in node.keywords], key=_position)]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values)
        return [child for pair in pairs for child in pair if child is not None]
    if isinstance(node, ast.arguments):
        return _parameters(node)
    if isinstance(node, ast.Subscript):
        return [node.value, *_subscripts(node)]
    if type(node).__name__ in ("JoinedStr", "TemplateStr"):
        return [part for part in node.values if not isinstance(part, _TEXT)]
    if type(node).__name__ in ("FormattedValue", "Interpolation"):
        spec = [] if node.format_spec is None else _ast_children(node.format_spec)
        return [node.value, *spec]
    children: List[ast.AST] = []
    for field in _AST_FIELDS.get(type(node).__name__, node._fields):
        value = getattr(node, field, None)
        if isinstance(value, list):
            children.extend(item for item in value if isinstance(item, ast.AST))
        elif isinstance(value, ast.AST):
            children.append(value)
    return children


_TEXT = ast.Constant if sys.version_info >= (3, 8) else ast.Str
"""The literal parts of an f-string."""


def _position(node: ast.expr) -> Tuple[int, int]:
    return (node.lineno, node.col_offset)


def _parameters(node: ast.arguments) -> List[ast.AST]:
    positional = getattr(node, "posonlyargs", []) + node.args
    missing: List[Optional[ast.expr]] = [None] * (len(positional) - len(node.defaults))
    parameters = list(zip(positional, missing + list(node.defaults)))
    if node.vararg is not None:
        parameters.append((node.vararg, None))
    parameters.extend(zip(node.kwonlyargs, node.kw_defaults))
    if node.kwarg is not None:
        parameters.append((node.kwarg, None))
    found = [part for arg, default in parameters for part in (arg.annotation, default)]
    return [part for part in found if part is not None]


def _subscripts(node: ast.Subscript) -> List[ast.AST]:
    """``ast`` does not tell ``x[a, b]`` from ``x[(a, b)]``: that tuple counts in neither tree."""
    index: Any = node.slice
    if type(index).__name__ == "Index":
        index = index.value
    return _ast_children(index) if isinstance(index, ast.Tuple) else [index]


# --- libcst ----------------------------------------------------------------------------------

_CST_FIELDS: Dict[str, Tuple[str, ...]] = {
    # simple statements
    "AnnAssign": ("target", "annotation", "value"),
    "Assert": ("test", "msg"),
    "Assign": ("targets", "value"),
    "AssignTarget": ("target",),
    "AugAssign": ("target", "value"),
    "Del": ("target",),
    "Expr": ("value",),
    "Raise": ("exc", "cause"),
    "Return": ("value",),
    "TypeAlias": ("name", "type_parameters", "value"),
    # compound statements
    "ClassDef": ("decorators", "type_parameters", "bases", "keywords"),
    "FunctionDef": ("decorators", "type_parameters", "params", "returns"),
    "Decorator": ("decorator",),
    "For": ("target", "iter"),
    "If": ("test",),
    "Match": ("subject", "cases"),
    "MatchCase": ("guard",),
    "Try": ("handlers",),
    "TryStar": ("handlers",),
    "ExceptHandler": ("type",),
    "ExceptStarHandler": ("type",),
    "While": ("test",),
    "With": ("items",),
    "WithItem": ("item", "asname"),
    "AsName": ("name",),
    # parameters
    "Annotation": ("annotation",),
    "Param": ("annotation", "default"),
    "Parameters": ("posonly_params", "params", "star_arg", "kwonly_params", "star_kwarg"),
    "ParamSpec": ("default",),
    "TypeParam": ("param", "default"),
    "TypeParameters": ("params",),
    "TypeVar": ("bound",),
    # expressions
    "Arg": ("value",),
    "Attribute": ("value",),
    "Await": ("expression",),
    "BinaryOperation": ("left", "right"),
    "BooleanOperation": ("left", "right"),
    "Call": ("func", "args"),
    "CompFor": ("target", "iter", "ifs", "inner_for_in"),
    "CompIf": ("test",),
    "Comparison": ("left", "comparisons"),
    "ComparisonTarget": ("comparator",),
    "ConcatenatedString": ("left", "right"),
    "Dict": ("elements",),
    "DictComp": ("key", "value", "for_in"),
    "DictElement": ("key", "value"),
    "Element": ("value",),
    "FormattedString": ("parts",),
    "FormattedStringExpression": ("expression", "format_spec"),
    "From": ("item",),
    "GeneratorExp": ("elt", "for_in"),
    "IfExp": ("body", "test", "orelse"),
    "Index": ("value",),
    "Lambda": ("params", "body"),
    "List": ("elements",),
    "ListComp": ("elt", "for_in"),
    "NamedExpr": ("target", "value"),
    "Set": ("elements",),
    "SetComp": ("elt", "for_in"),
    "Slice": ("lower", "upper", "step"),
    "StarredDictElement": ("value",),
    "StarredElement": ("value",),
    "Subscript": ("value", "slice"),
    "SubscriptElement": ("slice",),
    "TemplatedString": ("parts",),
    "TemplatedStringExpression": ("expression", "format_spec"),
    "Tuple": ("elements",),
    "UnaryOperation": ("expression",),
    "Yield": ("value",),
}
"""Where expressions lie in each class, in source order. Other classes hold none."""

_AST_NAMES = {
    "Await": "Await",
    "BinaryOperation": "BinOp",
    "BooleanOperation": "BoolOp",
    "Call": "Call",
    "Comparison": "Compare",
    "Dict": "Dict",
    "DictComp": "DictComp",
    "GeneratorExp": "GeneratorExp",
    "IfExp": "IfExp",
    "Lambda": "Lambda",
    "List": "List",
    "ListComp": "ListComp",
    "NamedExpr": "NamedExpr",
    "Set": "Set",
    "SetComp": "SetComp",
    "StarredElement": "Starred",
    "Subscript": "Subscript",
    "Tuple": "Tuple",
    "UnaryOperation": "UnaryOp",
    "Yield": "Yield",
}

_STRINGS = ("SimpleString", "FormattedString", "TemplatedString", "ConcatenatedString")
_NUMBERS = ("Integer", "Float", "Imaginary")


def cst_expressions(
    statement: cst.CSTNode, parents: Dict[int, cst.CSTNode]
) -> Iterator[Tuple[cst.CSTNode, Kind]]:
    """The expressions of ``statement`` that have a counterpart in ``ast``.

    ``parents`` learns, by identity, which node holds which.
    """
    stack = [statement]
    while stack:
        node = stack.pop()
        if node is not statement:
            kind = _cst_kind(node, parents[id(node)], parents)
            if kind is not None:
                yield node, kind
        children = _cst_children(node)
        for child in children:
            parents[id(child)] = node
        stack.extend(reversed(children))


def _cst_children(node: cst.CSTNode) -> List[cst.CSTNode]:
    children: List[cst.CSTNode] = []
    for field in _CST_FIELDS.get(type(node).__name__, ()):
        value = getattr(node, field, None)
        if is_node(value):
            children.append(value)
        elif isinstance(value, (list, tuple)):
            children.extend(value)
    return children


def _cst_kind(
    node: cst.CSTNode, parent: cst.CSTNode, parents: Dict[int, cst.CSTNode]
) -> Optional[Kind]:
    name = type(node).__name__
    if isinstance(node, cst.Name):
        return Kind("Name", _identifier(node.value))
    if isinstance(node, cst.Attribute):
        return Kind("Attribute", _identifier(node.attr.value))
    if isinstance(node, (cst.Arg, cst.Index)):
        return Kind("Starred") if getattr(node, "star", None) == "*" else None
    if name in _STRINGS:
        return None if isinstance(parent, cst.ConcatenatedString) else STRING
    if name in _NUMBERS:
        return NUMBER
    if isinstance(node, cst.Ellipsis):
        return ELLIPSIS
    if isinstance(node, cst.Tuple) and _is_whole_subscript(parent, parents):
        return None
    if isinstance(node, cst.BooleanOperation) and _continues(node, parent):
        return None
    return Kind(_AST_NAMES[name]) if name in _AST_NAMES else None


def _identifier(text: str) -> str:
    """``ast`` has identifiers as Python compares them (PEP 3131)."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _is_whole_subscript(parent: cst.CSTNode, parents: Dict[int, cst.CSTNode]) -> bool:
    if not isinstance(parent, cst.Index):
        return False
    element = parents[id(parent)]
    subscript = parents[id(element)]
    assert isinstance(element, cst.SubscriptElement) and isinstance(subscript, cst.Subscript)
    return len(subscript.slice) == 1 and not isinstance(element.comma, cst.Comma)


def _continues(node: cst.BooleanOperation, parent: cst.CSTNode) -> bool:
    """``a and b`` of ``a and b and c``, which is one node with three operands in ``ast``."""
    return (
        isinstance(parent, cst.BooleanOperation)
        and parent.left is node
        and not node.lpar
        and type(parent.operator) is type(node.operator)
    )
