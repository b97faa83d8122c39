"""Packages that need a GPU, where a ``setup.py`` requires them."""

import ast
from typing import Iterator

from npu_migrate.migrations.context import Context
from npu_migrate.names import literal
from npu_migrate.project_files.packages import rule_of

_SETUP = frozenset(("setuptools.setup", "distutils.core.setup"))
_KEYWORDS = {"install_requires", "setup_requires", "tests_require", "extras_require"}


def run(context: Context) -> None:
    """Report what the arguments of ``setup`` require, also where a variable holds them."""
    for call in context.index.calls_of(_SETUP):
        for keyword in call.keywords:
            if keyword.arg in _KEYWORDS:
                _report(context, keyword.value)


def _report(context: Context, value: ast.expr) -> None:
    for string in _strings(context, value):
        rule, package = rule_of(str(literal(string)))
        if rule:
            context.report(rule, string, symbol=package, package=package)


def _strings(context: Context, value: ast.expr) -> Iterator[ast.expr]:
    """The strings in the lists, and the dictionaries of lists, that an argument may be."""
    for made in context.index.producers(value):
        if isinstance(made, (ast.List, ast.Tuple)):
            for item in made.elts:
                yield from _strings(context, item)
        elif isinstance(made, ast.Dict):
            for item in made.values:
                yield from _strings(context, item)
        elif isinstance(made, ast.expr) and isinstance(literal(made), str):
            yield made
