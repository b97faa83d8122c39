"""When a statement runs, told so that another place of the run can ask the same."""

import ast
import re
from typing import Dict, FrozenSet, Iterator, List, Optional, Tuple

from npu_migrate.facts import Condition, Reference
from npu_migrate.migrations.context import argument
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import (
    FUNCTIONS,
    Binding,
    FunctionNode,
    Index,
    Scope,
    defaults_of,
    dotted,
    key_of,
    literal,
    parameters,
)

MODES = "tensorflow.estimator.ModeKeys."
COMPARISONS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_NAME = re.compile(r"\$(\d+)")


class NotTold(Exception):
    """A condition that can't be told elsewhere."""


class Conditions:
    """The conditions under which the statements of one file run."""

    def __init__(self, index: Index, optimizers: Optimizers) -> None:
        self.index = index
        self.optimizers = optimizers

    def of(self, node: ast.AST) -> Condition:
        """The condition under which a node runs, that of its function's callers included.

        Whether a model function trains or evaluates is no condition: one session does either.
        """
        try:
            return self._joined(node, frozenset())
        except NotTold:
            return Condition(known=False)

    def _joined(self, node: ast.AST, seen: FrozenSet[ast.AST]) -> Condition:
        own = [
            self._told(test, negated) for test, negated in self._tests(node) if not self._mode(test)
        ]
        function = self.index.enclosing_function(node)
        if function is None or function in seen:
            return all_of(own)
        callers = self.optimizers.callers(self.index.qualname(function))
        around = {self._joined(call, seen | {function}) for call in callers}
        if len(around) > 1:
            raise NotTold
        return all_of([*around, *own])

    def _tests(self, node: ast.AST) -> Iterator[Tuple[ast.expr, bool]]:
        """The tests that decide whether a node runs in its function; negated where they fail."""
        inside: ast.AST = node
        for ancestor in self.index.ancestors(node):
            if isinstance(inside, ast.stmt):
                yield from self._left_before(inside)
            if isinstance(ancestor, FUNCTIONS):
                return
            if isinstance(ancestor, ast.ExceptHandler):
                raise NotTold
            if isinstance(ancestor, (ast.If, ast.IfExp)) and inside is not ancestor.test:
                arm = ancestor.body if isinstance(ancestor.body, list) else [ancestor.body]
                yield ancestor.test, not any(inside is part for part in arm)
            inside = ancestor

    def _left_before(self, statement: ast.stmt) -> Iterator[Tuple[ast.expr, bool]]:
        """``if x: return`` before a statement."""
        place = self.index.places[statement]
        for earlier in place.block[: place.position]:
            if isinstance(earlier, ast.If):
                if isinstance(earlier.body[-1], ast.Return):
                    yield earlier.test, True
                elif earlier.orelse and isinstance(earlier.orelse[-1], ast.Return):
                    yield earlier.test, False

    def _mode(self, test: ast.expr) -> bool:
        """Whether a test asks for the mode of a model function."""
        for node in ast.walk(test):
            if not isinstance(node, (ast.Name, ast.Attribute)) or node not in self.index.parents:
                continue
            for value in (node, *self._values(node)):
                chains = [n for n in ast.walk(value) if isinstance(n, ast.Attribute)]
                known = [n for n in chains if n in self.index.parents]
                if any(self.index.resolve(n).sole.startswith(MODES) for n in known):
                    return True
        return False

    def _values(self, node: ast.expr) -> List[ast.expr]:
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            return []
        return [p for p in self.optimizers.producers(node) if isinstance(p, ast.expr)]

    # The text of a test ------------------------------------------------------------------------

    def _told(self, test: ast.expr, negated: bool = False) -> Condition:
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, negated = test.operand, not negated
        references: List[Reference] = []
        text = self._text(test, references, 0)
        if negated:
            text = f"not {text}" if text.isidentifier() or _is_chain(test) else f"not ({text})"
        return Condition(text, tuple(references))

    def told(self, expression: ast.expr) -> Condition:
        """An expression, as another place may write it; raises :class:`NotTold`."""
        return self._told(expression)

    def _text(self, node: ast.expr, references: List[Reference], depth: int) -> str:
        value = literal(node)
        if value is not None or type(node).__name__ in ("Constant", "NameConstant"):
            if isinstance(value, str) and "$" in value:
                raise NotTold
            return repr(value)
        if isinstance(node, ast.Name):
            return self._name(node, references, depth)
        if isinstance(node, ast.Attribute):
            return f"{self._text(node.value, references, depth)}.{node.attr}"
        if isinstance(node, ast.Subscript):
            key = literal(key_of(node))
            if isinstance(key, str):
                return f"{self._text(node.value, references, depth)}[{key!r}]"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"not {self._part(node.operand, references, depth)}"
        if isinstance(node, ast.BoolOp):
            word = " and " if isinstance(node.op, ast.And) else " or "
            return word.join(self._part(v, references, depth) for v in node.values)
        if isinstance(node, ast.Compare):
            text = self._part(node.left, references, depth)
            for operator, right in zip(node.ops, node.comparators):
                text += f" {COMPARISONS[type(operator)]} {self._part(right, references, depth)}"
            return text
        raise NotTold

    def _part(self, node: ast.expr, references: List[Reference], depth: int) -> str:
        text = self._text(node, references, depth)
        return f"({text})" if isinstance(node, (ast.BoolOp, ast.Compare, ast.UnaryOp)) else text

    def _name(self, node: ast.Name, references: List[Reference], depth: int) -> str:
        parameter = self._parameter(node)
        handed = self._handed(parameter) if parameter is not None else []
        if parameter is not None and handed and depth < 8:
            texts = set()
            for value in handed:
                inner: List[Reference] = []
                text = self._part(value, inner, depth + 1)
                texts.add((text, tuple(inner)))
            if len(texts) > 1:
                raise NotTold
            text, found = texts.pop()
            offset = len(references)
            references += found
            return _NAME.sub(lambda match: f"${int(match.group(1)) + offset}", text)
        references.append(self.reference(node.id, node))
        return f"${len(references) - 1}"

    def _parameter(self, node: ast.Name) -> Optional[Binding]:
        bindings = self.index.bindings(node)
        if len(bindings) == 1 and bindings[0].parameter and not self.index.class_of_self(node):
            return bindings[0]
        return None

    def _handed(self, binding: Binding) -> List[ast.expr]:
        """What the calls of this file hand over for a parameter, or its default."""
        function = binding.scope.node
        if not isinstance(function, FUNCTIONS):
            return []
        reference = _of_parameter(self.index, function, binding)
        found = []
        for call in self.optimizers.callers(binding.scope.qualname):
            value = argument(call, reference.position, binding.name)
            value = value if value is not None else defaults_of(function).get(binding.name)
            if value is None:
                raise NotTold
            found.append(value)
        return found

    def reference(self, name: str, node: ast.AST) -> Reference:
        """What a name stands for where ``node`` stands."""
        index = self.index
        bindings = index.bindings_at(name, node)
        if not bindings:
            return Reference("")
        binding = bindings[0]
        function = binding.scope.node
        if len(bindings) == 1 and binding.parameter and isinstance(function, FUNCTIONS):
            parent = index.parents.get(function)
            names = parameters(function)
            if isinstance(parent, ast.ClassDef) and names and names[0] == name:
                return Reference(f"self of {index.qualname(parent)}")
            return _of_parameter(index, function, binding)
        target = self._target(bindings)
        if target:
            return Reference(target)
        lines = sorted(b.statement.lineno for b in bindings if b.statement is not None)
        return Reference(f"{binding.scope.qualname}.{name} of {lines}")

    def _target(self, bindings: List[Binding]) -> str:
        """The qualified name that all of the bindings stand for."""
        found = set()
        for binding in bindings:
            if binding.target:
                names = self.index.project.lookup(binding.target).names
                found.add(next(iter(names)) if len(names) == 1 else "")
            elif binding.value is not None and not binding.path and dotted(binding.value):
                found.add(self.index.resolve(binding.value).sole)
            else:
                found.add("")
        return self.index.canonical(found.pop()) if len(found) == 1 else ""

    # Another place ------------------------------------------------------------------------------

    def at(self, condition: Condition, place: ast.AST) -> Optional[str]:
        """Source of a condition where ``place`` stands; ``None`` where its names are not there."""
        try:
            texts = [self._visible(r, place) for r in condition.references]
        except NotTold:
            return None
        return _NAME.sub(lambda match: texts[int(match.group(1))], condition.test)

    def _visible(self, reference: Reference, place: ast.AST) -> str:
        if not reference.meaning:
            raise NotTold
        for name in self._names_at(place):
            if self.reference(name, place) == reference:
                return name
        texts = {self._argument(reference, call, place) for call in self._calls_of(reference)}
        texts = texts - {"False"} or texts
        if len(texts) != 1:
            raise NotTold
        return texts.pop()

    def _names_at(self, place: ast.AST) -> List[str]:
        names: Dict[str, None] = {}
        scope: Optional[Scope] = self.index.scope(place)
        while scope is not None:
            names.update(dict.fromkeys(scope.bindings))
            scope = scope.parent
        return list(names)

    def _calls_of(self, reference: Reference) -> List[ast.Call]:
        return self.optimizers.callers(reference.function) if reference.function else []

    def _argument(self, reference: Reference, call: ast.Call, place: ast.AST) -> str:
        """Source, at ``place``, of what a call hands over for a parameter of another file."""
        value = argument(call, reference.position, reference.parameter)
        if value is None:
            if not reference.default:
                raise NotTold
            return reference.default
        text = self.at(self.told(value), place)
        if text is None:
            raise NotTold
        return text if _is_chain(value) or literal(value) is not None else f"({text})"


def all_of(conditions: List[Condition]) -> Condition:
    """The condition that holds where all of several do."""
    texts: List[str] = []
    references: List[Reference] = []
    held = list(dict.fromkeys(c for c in conditions if c.test))
    for condition in held:
        offset = len(references)
        text = _NAME.sub(lambda m, offset=offset: f"${int(m.group(1)) + offset}", condition.test)  # type: ignore[misc]
        is_part = len(held) > 1 and re.search(r" (or|if) ", text)
        texts.append(f"({text})" if is_part else text)
        references += condition.references
    return Condition(" and ".join(texts), tuple(references))


def never_holds(text: str) -> bool:
    """Whether the source of a condition shows that it never holds."""
    return "False" in text.split(" and ")


def _of_parameter(index: Index, function: FunctionNode, binding: Binding) -> Reference:
    names = parameters(function)
    position = (
        names.index(binding.name) - index.is_method(function) if binding.name in names else -1
    )
    qualname = binding.scope.qualname
    value = defaults_of(function).get(binding.name)
    default = repr(literal(value)) if value is not None else ""
    return Reference(f"{qualname}({binding.name})", qualname, position, binding.name, default)


def _is_chain(node: ast.expr) -> bool:
    return bool(dotted(node)) or isinstance(node, ast.Subscript)
