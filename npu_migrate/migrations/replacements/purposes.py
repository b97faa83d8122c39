"""What a dataset is for: training, or evaluation and prediction.

A condition around it tells (``if is_training:``), then what it is handed to (``estimator.train``,
``TrainSpec``, ``model.fit``), then what the variable or function is called that holds it.
"""

import ast
import re
from typing import Dict, Iterator, Optional, Set, Tuple

from npu_migrate.migrations.paths import decided_by
from npu_migrate.migrations.replacements.datasets import METHODS
from npu_migrate.names import (
    FUNCTIONS,
    FunctionNode,
    Index,
    defaults_of,
    last_name,
    literal,
    option_name,
)

TRAINING, OTHER, UNKNOWN = "training", "evaluation", "unknown"
BY_NAME = "by name"
"""Beside a purpose: that it was told by a name alone."""

FLAGS = ("is_training", "is_train", "training", "train")
"""What variables are called that are true in training and false otherwise."""
_ACTIONS = {"do_train": TRAINING, "do_eval": OTHER, "do_predict": OTHER, "do_test": OTHER}
_TRAINING_WORDS = frozenset(("train", "training"))
_OTHER_WORDS = frozenset(
    ("eval", "evaluate", "evaluation", "valid", "validate", "validation", "val", "dev")
    + ("test", "testing", "predict", "prediction", "infer", "inference", "serving", "export")
)
_CONSUMERS = {
    "train": TRAINING,
    "fit": TRAINING,
    "TrainSpec": TRAINING,
    "evaluate": OTHER,
    "predict": OTHER,
    "EvalSpec": OTHER,
}
_ITERATORS = METHODS | {"make_one_shot_iterator", "make_initializable_iterator", "get_next"}
_PASSING = ("apply", "zip", "concatenate", "make_initializer")
"""Methods whose result is for what their arguments are for."""
_DESCRIPTIONS = ("output_types", "output_shapes", "output_classes", "element_spec")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


class Purposes:
    """What the datasets of one file are for."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def of(self, node: ast.AST) -> Set[str]:
        """What a value is for, as far as the file tells; it may be for several things."""
        return self._of(node, set())

    def _of(self, node: ast.AST, seen: Set[ast.AST]) -> Set[str]:
        if node in seen:
            return set()
        seen.add(node)
        around = self.around(node)
        if around:
            return {around}
        parent = self.index.parents.get(node)
        if isinstance(parent, ast.Attribute):
            if parent.attr in _DESCRIPTIONS:
                return set()
            call = self.index.parents.get(parent)
            is_method = isinstance(call, ast.Call) and parent.attr in _ITERATORS
            return self._of(call, seen) if is_method and call is not None else {UNKNOWN}
        if isinstance(parent, ast.keyword):
            call = self.index.parents[parent]
            by_keyword = _named(parent.arg or "") or (parent.arg == "validation_data" and OTHER)
            return {by_keyword} if by_keyword else self._handed(call, seen)
        if isinstance(parent, ast.Call):
            return self._of(parent, seen) if parent.func is node else self._handed(parent, seen)
        if isinstance(parent, (ast.Tuple, ast.List, ast.IfExp, ast.Lambda)):
            return self._of(parent, seen)
        if isinstance(parent, ast.Assign):
            return self._assigned(parent, seen)
        if isinstance(parent, (ast.Return, ast.Yield)):
            function = self.index.enclosing_function(node)
            return self._of_function(function, seen) if function is not None else {UNKNOWN}
        return {UNKNOWN}

    def _handed(self, call: ast.AST, seen: Set[ast.AST]) -> Set[str]:
        """What the argument of a call is for."""
        if not isinstance(call, ast.Call):
            return {UNKNOWN}
        names = self.index.resolve(call.func).names
        last = last_name(call.func)
        if last in _CONSUMERS:
            return {_CONSUMERS[last]}
        passes = last in _PASSING or "functools.partial" in names
        if passes or any(name.startswith("tensorflow.data.") for name in names):
            return self._of(call, seen)
        return {UNKNOWN}

    def _assigned(self, statement: ast.Assign, seen: Set[ast.AST]) -> Set[str]:
        """What a variable is for: by its uses, and by what it is called."""
        names = [last_name(target) for target in statement.targets]
        return _with_name(self._used(statement, seen), names[0])

    def _used(self, statement: ast.stmt, seen: Set[ast.AST]) -> Set[str]:
        """What the reads of all that a statement binds are for."""
        found: Set[str] = set()
        for binding in self.index.statement_bindings(statement):
            for read in self.index.reads(binding):
                found |= self._of(read, seen)
        return found

    def _of_function(self, function: FunctionNode, seen: Set[ast.AST]) -> Set[str]:
        """What the result of a function is for: by who takes it, and by what it is called."""
        if function in seen:
            return set()
        seen.add(function)
        return _with_name(self._used(function, seen), function.name)

    def around(self, node: ast.AST) -> str:
        """What the conditions say under which a node runs; empty where they say nothing."""
        said = (self._arm(test, holds) for test, holds in decided_by(self.index, node))
        return next(filter(None, said), "")

    def _arm(self, test: ast.expr, holds: bool) -> str:
        """What it says that a condition holds, or that it does not."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._arm(test.operand, not holds)
        if isinstance(test, ast.BoolOp):
            if isinstance(test.op, ast.And) is not holds:
                return ""
            return next(filter(None, (self._arm(value, holds) for value in test.values)), "")
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._compared(test, holds)
        name = option_name(test).lstrip("_").lower()
        if name in FLAGS:
            return TRAINING if holds else OTHER
        return _ACTIONS.get(name, "") if holds else ""

    def _compared(self, test: ast.Compare, holds: bool) -> str:
        if not isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
            return ""
        is_equal = isinstance(test.ops[0], ast.Eq) is holds
        for side in (test.left, test.comparators[0]):
            mode = self._mode(side)
            if mode == TRAINING:
                return TRAINING if is_equal else OTHER
            if mode == OTHER and is_equal:
                return OTHER
        return ""

    def _mode(self, side: ast.expr) -> str:
        word = literal(side)
        if not isinstance(word, str):
            name = self.index.resolve(side).sole
            word = name.rpartition(".")[2].lower() if ".ModeKeys." in name else ""
        return _named(word)

    # A variable that tells --------------------------------------------------------------------

    def flag(self, node: ast.AST) -> Optional[Tuple[str, Dict[str, ast.expr]]]:
        """Code for whether it is training, that may stand at a node; with parts of the file."""
        for function in self._functions(node):
            for name, default in defaults_of(function).items():
                certain = name.startswith("is_") or isinstance(literal(default), bool)
                if name in FLAGS and certain and self._is_parameter(name, function, node):
                    return name, {}
        for test in self._tests(node):
            names = [n for n in ast.walk(test) if isinstance(n, ast.Name)]
            if all(self.index.bindings_at(n.id, node) == self.index.bindings(n) for n in names):
                return "$training", {"training": test}
        return None

    def _functions(self, node: ast.AST) -> Iterator[FunctionNode]:
        return (a for a in self.index.ancestors(node) if isinstance(a, FUNCTIONS))

    def _is_parameter(self, name: str, function: FunctionNode, node: ast.AST) -> bool:
        bindings = self.index.bindings_at(name, node)
        scope = self.index.scopes[function]
        return len(bindings) == 1 and bindings[0].parameter and bindings[0].scope is scope

    def _tests(self, node: ast.AST) -> Iterator[ast.expr]:
        """The conditions of the function around a node that are true in training alone."""
        for function in self._functions(node):
            for inner in ast.walk(function):
                if isinstance(inner, (ast.If, ast.IfExp)) and _is_plain(inner.test):
                    arms = self._arm(inner.test, True), self._arm(inner.test, False)
                    if arms == (TRAINING, OTHER):
                        yield inner.test


def _is_plain(test: ast.expr) -> bool:
    """Whether an expression only reads and compares, so that it may stand elsewhere."""
    return not any(
        isinstance(inner, (ast.Call, ast.BoolOp, ast.Lambda)) for inner in ast.walk(test)
    )


def _named(name: str) -> str:
    """What a name says that something is for; empty where it says nothing, or both."""
    words = {word.lower() for word in _WORD.findall(name)}
    is_training, is_other = bool(words & _TRAINING_WORDS), bool(words & _OTHER_WORDS)
    if is_training is is_other:
        return ""
    return TRAINING if is_training else OTHER


def _with_name(found: Set[str], name: str) -> Set[str]:
    """What the uses of a thing and its name say together."""
    named = _named(name)
    if not named:
        return found or {UNKNOWN}
    return (found - {UNKNOWN}) | {named} | (set() if named in found else {BY_NAME})
