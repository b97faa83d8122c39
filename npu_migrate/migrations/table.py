"""Rules without judgement: another callee, other keywords, or just a message."""

import ast
from typing import Iterable, Iterator, List, Tuple

from npu_migrate.migrations.context import Context, unpacks
from npu_migrate.plan import Argument, EditCall, ReplaceExpression, Status
from npu_migrate.rules import Rule


class Table:
    """The names that no migration judges, with their rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = {name: rule for rule in rules if not rule.migration for name in rule.match}
        self.last = frozenset(name.rpartition(".")[2] for name in self.rules)
        self.words = frozenset(name.encode("utf-8") for name in self.last)


def run(context: Context, table: Table) -> None:
    """Carry out every rule of a table on one file."""
    if table.words.isdisjoint(context.text.words):
        return
    imported = {name for name, target in _imported(context) if target in table.rules}
    sought = table.last | imported
    for chain in context.index.chains:
        node = chain
        while isinstance(node, ast.Attribute):
            if node.attr in sought:
                _judge(context, table, node)
            node = node.value
        if isinstance(node, ast.Name) and node.id in sought:
            _judge(context, table, node)


def _judge(context: Context, table: Table, node: ast.expr) -> None:
    names = context.index.resolve(node).names
    rules = {table.rules[name].name for name in names if name in table.rules}
    if len(rules) == 1 and names <= set(table.rules):
        _apply(context, node, context.rules[rules.pop()])


def _imported(context: Context) -> Iterator[Tuple[str, str]]:
    """The local names of imports, with what they stand for."""
    for statement in context.index.imports:
        for binding in context.index.statement_bindings(statement):
            yield binding.name, context.index.canonical(binding.target)


def _apply(context: Context, node: ast.expr, rule: Rule) -> None:
    resolution = context.index.resolve(node)
    symbol = sorted(resolution.names)[0]
    assumed = resolution.assumed or resolution.unknown
    parent = context.index.parents.get(node)
    call = parent if isinstance(parent, ast.Call) and parent.func is node else None
    if not rule.target:
        context.report(rule.name, call or node, symbol=symbol, assumed=assumed)
        return
    if call is not None and unpacks(call) and (rule.arguments or rule.positional):
        context.report(rule.name, call, symbol=symbol, status=Status.MANUAL, assumed=assumed)
        return
    local = context.local(rule.target, node)
    context.discard(node)
    edit = (
        EditCall(call, local, tuple(_arguments(call, rule)))
        if call is not None
        else ReplaceExpression(node, local)
    )
    context.report(rule.name, call or node, edit, symbol=symbol, assumed=assumed)


def _arguments(call: ast.Call, rule: Rule) -> List[Argument]:
    changes: List[Argument] = []
    for position in range(len(call.args) - 1, -1, -1):
        name = rule.positional[position] if position < len(rule.positional) else ""
        if name in rule.arguments and rule.arguments[name] is None:
            changes.append(Argument(position))
    for keyword in call.keywords:
        if keyword.arg is not None and keyword.arg in rule.arguments:
            changes.append(Argument(keyword.arg, rename=rule.arguments[keyword.arg] or ""))
    return changes
