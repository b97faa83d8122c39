"""Small questions about nodes of ``ast``, alike on every Python."""

import ast
import builtins
from typing import Dict, List, Optional, Sequence, Tuple, Union

FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef]
ImportNode = Union[ast.Import, ast.ImportFrom]

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
WITHS = (ast.With, ast.AsyncWith)
TRIES: Tuple[type, ...] = (ast.Try,) + ((ast.TryStar,) if hasattr(ast, "TryStar") else ())
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
BUILTINS = frozenset(dir(builtins))


def dotted(node: ast.AST) -> str:
    """``a.b.c`` for a chain of attributes on a name, an empty string for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    path = ""
    while isinstance(node, ast.Attribute):
        path = f".{node.attr}{path}"
        node = node.value
    return node.id + path if isinstance(node, ast.Name) else ""


def is_none(node: Optional[ast.AST]) -> bool:
    """Whether the node is the literal ``None``."""
    return type(node).__name__ in ("Constant", "NameConstant") and node.value is None  # type: ignore[union-attr]


def literal(node: Optional[ast.AST]) -> object:
    """The value of a literal number, string, ``True``... (``None`` for anything else)."""
    attribute = _LITERALS.get(type(node).__name__)
    return getattr(node, attribute) if attribute else None


_LITERALS = {"Constant": "value", "Num": "n", "Str": "s", "Bytes": "s", "NameConstant": "value"}
"""Literal nodes; Python 3.7 has one class for each kind."""


def element(node: ast.expr, path: Tuple[int, ...]) -> Optional[ast.expr]:
    """The part of a tuple or list display at ``path``; ``None`` where it is no display."""
    for position in path:
        if not isinstance(node, (ast.Tuple, ast.List)) or position >= len(node.elts):
            return None
        if any(isinstance(item, ast.Starred) for item in node.elts):
            return None
        node = node.elts[position]
    return node


def positional(arguments: ast.arguments) -> List[ast.arg]:
    return list(getattr(arguments, "posonlyargs", [])) + list(arguments.args)


def parameters(function: ast.AST) -> List[str]:
    """The names of a function's positional parameters, in order."""
    return [argument.arg for argument in positional(function.args)]  # type: ignore[attr-defined]


def defaults_of(function: ast.AST) -> Dict[str, Optional[ast.expr]]:
    """The parameters of a function that calls can name, each with its default."""
    arguments: ast.arguments = function.args  # type: ignore[attr-defined]
    names = parameters(function)
    required = len(names) - len(arguments.defaults)
    found: Dict[str, Optional[ast.expr]] = dict.fromkeys(names[:required])
    found.update(zip(names[required:], arguments.defaults))
    found.update(
        (a.arg, default) for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults)
    )
    return found


def last_name(node: ast.AST) -> str:
    """``c`` of ``a.b.c`` and of ``f().c``, an empty string for what has no name."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def option_name(node: ast.AST) -> str:
    """The option that is read: ``x`` of ``x``, ``args.x``, ``args['x']`` and ``args.get('x')``."""
    if isinstance(node, ast.Subscript):
        name = literal(key_of(node))
    elif isinstance(node, ast.Call):
        name = literal(node.args[0]) if method_name(node) == "get" and node.args else None
    else:
        name = last_name(node)
    return name if isinstance(name, str) else ""


def method_name(call: ast.Call) -> str:
    """The method that a call calls, as it is written; an empty string where it calls none."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def arguments_of(call: ast.Call) -> List[ast.expr]:
    """The values of all arguments of a call."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def key_of(subscript: ast.Subscript) -> ast.AST:
    """What stands in the brackets of ``a[key]``; before Python 3.9 a node of its own wraps it."""
    inner: ast.AST = subscript.slice
    is_wrapped = type(inner).__name__ == "Index"
    return inner.value if is_wrapped else inner  # type: ignore[attr-defined]


def leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether a block never falls through to what follows it."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and leaves(last.body) and leaves(last.orelse)
    if isinstance(last, WITHS):
        return leaves(last.body)
    return isinstance(last, LEAVES)


def last_line(statement: ast.stmt) -> int:
    """The line on which a statement ends, as far as its nodes tell on Python 3.7."""
    end = getattr(statement, "end_lineno", None)
    return end or max(getattr(node, "lineno", 0) for node in ast.walk(statement))


def main_block(tree: ast.Module) -> Optional[List[ast.stmt]]:
    """The body of ``if __name__ == "__main__":``."""
    for statement in tree.body:
        if isinstance(statement, ast.If) and isinstance(statement.test, ast.Compare):
            sides = [statement.test.left, *statement.test.comparators]
            names = [side.id for side in sides if isinstance(side, ast.Name)]
            if names == ["__name__"] and "__main__" in map(literal, sides):
                return statement.body
    return None
