"""Where a script sets variables of its environment."""

import ast
from typing import Collection, Iterator, List, NamedTuple, Optional

from npu_migrate.names import Index, arguments_of, key_of, literal

ENVIRON = "os.environ"
UPDATE = "os.environ.update"
SETTERS = frozenset(("os.putenv", "os.environ.setdefault", UPDATE))


class Setting(NamedTuple):
    """A variable that is set: by a name that is a string, or by a keyword of a call."""

    node: ast.expr
    name: str
    value: ast.expr


def settings(index: Index, names: Collection[str]) -> List[Setting]:
    """Where a file sets the variables of some names, and to what."""
    found = []
    for string in index.strings(names):
        name = str(literal(string))
        found += [Setting(string, name, value) for value in _value(index, string)]
    for call in index.calls_of(frozenset((UPDATE,))):
        for keyword in call.keywords:
            if keyword.arg in names:
                found.append(Setting(call, str(keyword.arg), keyword.value))
    return found


def statement_that_sets(index: Index, node: ast.expr) -> Optional[ast.stmt]:
    """The statement that does nothing but set the variable of ``Setting.node``."""
    statement = index.statement(node)
    targets = _targets(statement)
    if targets:
        return statement if len(targets) == 1 and _is_variable(index, targets[0], node) else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not _sets(index, call, *SETTERS):
        return None
    if not _sets(index, call, UPDATE):
        return statement if call.args and call.args[0] is node else None
    (first, *others) = arguments_of(call) or [call]
    in_display = isinstance(first, ast.Dict) and first.keys == [node]
    by_keyword = node is call and len(call.keywords) == 1
    return statement if not others and (in_display or by_keyword) else None


def _value(index: Index, string: ast.expr) -> Iterator[ast.expr]:
    """What the variable is set to that a string names, where it is set."""
    parent = index.parents.get(string)
    for ancestor in index.ancestors(string):
        if isinstance(ancestor, (ast.Assign, ast.AugAssign)):
            if any(_is_variable(index, target, string) for target in _targets(ancestor)):
                yield ancestor.value
            return
        if isinstance(ancestor, ast.Call):
            if not _sets(index, ancestor, *SETTERS):
                return
            if isinstance(parent, ast.Dict) and string in parent.keys:
                yield parent.values[parent.keys.index(string)]
            elif ancestor.args and ancestor.args[0] is string and len(ancestor.args) > 1:
                yield ancestor.args[1]
            return


def _targets(statement: ast.stmt) -> List[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AugAssign) else []


def _is_variable(index: Index, target: ast.expr, string: ast.expr) -> bool:
    """``os.environ['NAME']``."""
    return (
        isinstance(target, ast.Subscript)
        and key_of(target) is string
        and ENVIRON in index.resolve(target.value).names
    )


def _sets(index: Index, call: ast.Call, *names: str) -> bool:
    return not index.resolve(call.func).names.isdisjoint(names)
