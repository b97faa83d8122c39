"""The global step: where it is moved, in training functions and in optimizer classes.

A *move* is an assignment that adds one to the step. TensorFlow's own optimizers move it inside
``apply_gradients``; optimizers like BERT's leave it to the function that builds the training op.
"""

import ast
from dataclasses import dataclass
from enum import Enum
from typing import Dict, Iterator, List, Optional, Sequence, Set, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import argument, same
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.paths import Paths
from npu_migrate.names import (
    FUNCTIONS,
    WITHS,
    FunctionNode,
    Index,
    arguments_of,
    dotted,
    is_none,
    literal,
    method_name,
    parameters,
)

WRITES = frozenset(("assign", "assign_add", "assign_sub", "scatter_add", "count_up_to"))
"""Methods of a variable that write it."""

STEP_NAMES = ("global_step", "_global_step")


@dataclass(frozen=True, eq=False)
class Move:
    """A call that moves the global step outside of an optimizer."""

    call: ast.Call
    step: ast.expr
    by_one: bool = True


class Behaviour(str, Enum):
    """What a class's ``apply_gradients`` does to the global step that it is handed."""

    INHERITS = "inherits"
    MOVES = "moves"
    LEAVES = "leaves"
    HANDS_TO_BASE = "hands to base"
    HANDS_INSIDE = "hands inside"
    TAKES_NO_STEP = "takes no step"
    UNCLEAR = "unclear"


class Steps:
    """The uses and moves of the global step in one file."""

    def __init__(self, index: Index, optimizers: Optimizers) -> None:
        self.index = index
        self.optimizers = optimizers
        self.paths = Paths(index)
        self._moves: Optional[List[Tuple[ast.AST, Move]]] = None

    # In training functions --------------------------------------------------------------------

    def regions(self) -> List[ast.AST]:
        """The functions (outermost) and the module body that use optimizers or move the step."""
        found: Dict[ast.AST, None] = {}
        for call in (*self.optimizers.uses(), *(move.call for move in self.moves())):
            region = self.index.region(call)
            if not self.is_apply_gradients(region):
                found[region] = None
        return list(found)

    def is_apply_gradients(self, node: ast.AST) -> bool:
        """Whether a function is the ``apply_gradients`` of a class."""
        return (
            isinstance(node, FUNCTIONS)
            and node.name == "apply_gradients"
            and isinstance(self.index.parents.get(node), ast.ClassDef)
        )

    def moves(self, region: Optional[ast.AST] = None) -> List[Move]:
        """The calls that move the global step outside of optimizer classes."""
        if self._moves is None:
            self._moves = list(self._find_moves())
        return [move for owner, move in self._moves if region is None or owner is region]

    def _find_moves(self) -> Iterator[Tuple[ast.AST, Move]]:
        for call in self.index.possible_calls(vocabulary.ASSIGNMENTS, WRITES):
            step = self._assigned(call)
            owner = self.index.region(call)
            if step is None or self.is_apply_gradients(owner):
                continue
            if self.is_step(step, owner):
                amount = self._amount(call, step)
                if amount:
                    yield owner, Move(call, step, amount == "one")

    def _assigned(self, call: ast.Call) -> Optional[ast.expr]:
        """The variable that ``x.assign(...)``, ``tf.assign_add(x, ...)`` and the like write."""
        function: ast.expr = call.func
        if isinstance(function, ast.Name):
            bound = [b.value for b in self.index.bindings(function) if b.value is not None]
            function = bound[0] if len(bound) == 1 else function
        names = self.index.resolve(function).names
        if names & vocabulary.ASSIGNMENTS:
            return argument(call, 0, "ref")
        if isinstance(function, ast.Attribute) and function.attr in WRITES and not names:
            return function.value
        return None

    def _amount(self, call: ast.Call, step: ast.expr) -> str:
        """By how much an assignment moves the step: ``one``, ``other`` or not at all."""
        value = self.new_value(call)
        if value is None:
            return ""
        names = self.index.resolve(call.func).names
        method = method_name(call)
        if vocabulary.ASSIGN_ADD in names or (method == "assign_add" and not names):
            return "one" if self._is_one(value) else "other"
        if vocabulary.ASSIGN not in names and method != "assign":
            return "other"
        increments = self._increments(value, step, set())
        if not increments:
            return ""
        return "one" if all(map(self._is_one, increments)) else "other"

    def _is_one(self, value: ast.expr) -> bool:
        if literal(value) == 1:
            return True
        if not isinstance(value, ast.Call) or not value.args or literal(value.args[0]) != 1:
            return False
        return bool(
            self.index.resolve(value.func).names & {"tensorflow.constant", "tensorflow.cast"}
        )

    def new_value(self, call: ast.Call) -> Optional[ast.expr]:
        """What an assignment assigns or adds."""
        names = self.index.resolve(call.func).names
        position = 1 if names & vocabulary.ASSIGNMENTS else 0
        return argument(call, position, "value", "delta", "limit", "ref")

    def _increments(self, value: ast.AST, step: ast.expr, seen: Set[ast.AST]) -> List[ast.expr]:
        """What a value adds to the step, on every way that it is computed."""
        if value in seen:
            return []
        seen.add(value)
        found: List[ast.expr] = []
        for node in ast.walk(value):
            found += self._added(node, step)
            if isinstance(node, ast.Name) and node in self.index.parents:
                for binding in self.index.bindings(node):
                    if binding.value is not None:
                        found += self._increments(binding.value, step, seen)
        return found

    def _added(self, node: ast.AST, step: ast.expr) -> List[ast.expr]:
        """``x`` of ``step + x``."""
        sides: List[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = [node.left, node.right]
        elif isinstance(node, ast.Call):
            if self.index.resolve(node.func).names & {"tensorflow.add", "tensorflow.assign_add"}:
                sides = node.args[:2]
        if len(sides) != 2:
            return []
        left, right = map(self._uncast, sides)
        if self._same_step(left, step):
            return [right]
        return [left] if self._same_step(right, step) else []

    def _uncast(self, node: ast.expr) -> ast.expr:
        """``x`` of ``tf.cast(x, ...)`` and ``tf.identity(x)``."""
        if isinstance(node, ast.Call) and node.args:
            if self.index.resolve(node.func).names & {"tensorflow.cast", "tensorflow.identity"}:
                return self._uncast(node.args[0])
        return node

    def _same_step(self, node: ast.expr, step: ast.expr) -> bool:
        return same(node, step) or self.is_step_value(node)

    def is_step(self, node: ast.expr, region: ast.AST) -> bool:
        """Whether an expression is the global step."""
        if self.is_step_value(node):
            return True
        return any(same(node, handed) for handed in self._handed_steps(region))

    def is_step_value(self, node: ast.expr) -> bool:
        """Whether an expression is the global step by its name or by where it comes from."""
        name = node.attr if isinstance(node, ast.Attribute) else dotted(node)
        if name in STEP_NAMES:
            return not self._is_other_variable(node)
        return any(
            isinstance(producer, ast.Call) and self._makes_step(producer)
            for producer in self.index.producers(node)
        )

    def _is_other_variable(self, node: ast.expr) -> bool:
        """Whether a node is a variable that is named something else."""
        for producer in self.index.producers(node):
            if isinstance(producer, ast.Call) and not self._makes_step(producer):
                named = [k.value for k in producer.keywords if k.arg == "name"]
                named += producer.args[:1]
                makes = self.index.resolve(producer.func).names & vocabulary.VARIABLES
                if makes and any(isinstance(literal(value), str) for value in named):
                    return True
        return False

    def _makes_step(self, call: ast.Call) -> bool:
        """Whether a call gives the global step: a getter, or a variable of that name."""
        names = self.index.resolve(call.func).names
        if names & vocabulary.STEP_GETTERS:
            return True
        named = any(k.arg == "name" and literal(k.value) in STEP_NAMES for k in call.keywords)
        first = bool(call.args) and literal(call.args[0]) in STEP_NAMES
        return bool(names & vocabulary.VARIABLES) and (named or first)

    def _handed_steps(self, region: ast.AST) -> List[ast.expr]:
        steps = [handed_step(use) for use in self.optimizers.uses(region)]
        return [step for step in steps if step is not None]

    # In optimizer classes ---------------------------------------------------------------------

    def apply_gradients(self, node: ast.ClassDef) -> Optional[FunctionNode]:
        """A class's own ``apply_gradients``."""
        for statement in node.body:
            if isinstance(statement, FUNCTIONS) and statement.name == "apply_gradients":
                return statement
        return None

    def parameter(self, function: FunctionNode) -> str:
        """The name under which ``apply_gradients`` takes the step."""
        names = parameters(function)
        if "global_step" in names + [argument.arg for argument in function.args.kwonlyargs]:
            return "global_step"
        return names[2] if len(names) > 2 else ""

    def behaviour(self, node: ast.ClassDef) -> Behaviour:
        """What a class does to the step, as far as the class itself tells."""
        function = self.apply_gradients(node)
        if function is None:
            bound = "apply_gradients" in self.index.scopes[node].bindings
            return Behaviour.UNCLEAR if bound else Behaviour.INHERITS
        step = self.parameter(function)
        if self._is_handed_to_unknown(function, step):
            return Behaviour.UNCLEAR
        moves = self.class_moves(function)
        handed = self._hands_on(function)
        if moves or handed is not None:
            acts: List[ast.Call] = [*moves, *self._handing_calls(function)]
            if not self._on_every_path(acts, function, step):
                return Behaviour.UNCLEAR
            return Behaviour.MOVES if moves or handed is None else handed
        if not step:
            return Behaviour.TAKES_NO_STEP
        if self.is_rebound(function, step):
            return Behaviour.UNCLEAR
        returns = self.index.returns(function)
        return Behaviour.LEAVES if any(map(self.hands_back, returns)) else Behaviour.UNCLEAR

    def _on_every_path(self, acts: Sequence[ast.Call], function: FunctionNode, step: str) -> bool:
        """Whether each ``return`` of an update has seen the step moved or handed on."""
        granted = [
            node
            for node in ast.walk(function)
            if isinstance(node, ast.If) and _asks_for(node.test, step)
        ]
        returns = [r for r in self.index.returns(function) if self.hands_back(r)]
        return all(
            any(self.paths.always_with(act, r, acts, granted) for act in acts) for r in returns
        )

    def _is_handed_to_unknown(self, function: FunctionNode, step: str) -> bool:
        """Whether the step goes to a helper that might move it."""
        for name in self.index.reads_of(step) if step else ():
            call = self.index.parents[name]
            if isinstance(call, ast.keyword):
                call = self.index.parents[call]
            if not isinstance(call, ast.Call) or name is call.func:
                continue
            if not self.index.inside(name, function):
                continue
            if method_name(call) == "apply_gradients":
                continue
            names = self.index.resolve(call.func).names
            if not names or not all(n.startswith(("tensorflow.", "builtins.")) for n in names):
                return True
        return False

    def is_rebound(self, function: FunctionNode, name: str) -> bool:
        """Whether a function binds one of its parameters anew, or deletes it."""
        bindings = self.index.scopes[function].bindings.get(name, [])
        if any(not binding.parameter for binding in bindings):
            return True
        return any(
            isinstance(target, ast.Name) and target.id == name
            for statement in self.index.statements(function)
            if isinstance(statement, ast.Delete)
            for target in statement.targets
        )

    def hands_back(self, statement: ast.Return) -> bool:
        """Whether a ``return`` hands back the update, and not just that there is none."""
        value = statement.value
        if value is None or is_none(value):
            return False
        if not isinstance(value, ast.Call):
            return True
        if self.index.resolve(value.func).sole != vocabulary.NO_OP:
            return True
        return isinstance(self.index.places[statement].parent, WITHS)

    def class_moves(self, function: FunctionNode) -> List[ast.Call]:
        """The calls in an ``apply_gradients`` that move the step."""
        step = self.parameter(function)
        found = []
        for call in self._calls_in(function):
            assigned = self._assigned(call)
            if assigned is None:
                continue
            if dotted(assigned) == step or self.is_step_value(assigned):
                if self._amount(call, assigned):
                    found.append(call)
        return found

    def _handing_calls(self, function: FunctionNode) -> List[ast.Call]:
        return [call for call, _ in self._handing(function)]

    def _hands_on(self, function: FunctionNode) -> Optional[Behaviour]:
        """Who is handed the step, where somebody is."""
        return next((to for _, to in self._handing(function)), None)

    def _handing(self, function: FunctionNode) -> Iterator[Tuple[ast.Call, Behaviour]]:
        step = self.parameter(function)
        keywords = function.args.kwarg.arg if function.args.kwarg else ""
        rest = function.args.vararg.arg if function.args.vararg else ""
        for call in self._calls_in(function):
            if not isinstance(call.func, ast.Attribute) or call.func.attr != "apply_gradients":
                continue
            if not self._hands(call, step, rest, keywords):
                continue
            is_base = self.optimizers.is_super(call.func.value) or self._is_class(call.func.value)
            yield call, Behaviour.HANDS_TO_BASE if is_base else Behaviour.HANDS_INSIDE

    def inner_of(self, node: ast.ClassDef) -> List[str]:
        """The classes of the optimizers that a class makes itself and hands the step to."""
        function = self.apply_gradients(node)
        found: Dict[str, None] = {}
        for call in self._calls_in(function) if function is not None else ():
            if isinstance(call.func, ast.Attribute) and call.func.attr == "apply_gradients":
                for origin in self.optimizers.origins(call.func.value):
                    if origin.name:
                        found[origin.name] = None
        return list(found)

    def _hands(self, call: ast.Call, step: str, rest: str, keywords: str) -> bool:
        for value in arguments_of(call):
            if isinstance(value, ast.Starred):
                value = value.value
            name = dotted(value)
            if name and name in (step, rest, keywords):
                return True
        return False

    def _is_class(self, node: ast.expr) -> bool:
        """Whether ``node`` names a class (``Base.apply_gradients(self, ...)``)."""
        names = self.index.resolve(node).names
        return bool(names) and not dotted(node).startswith("self.")

    def _calls_in(self, function: FunctionNode) -> List[ast.Call]:
        return [c for c in self.index.calls if self.index.inside(c, function)]

    def reads(self, function: FunctionNode) -> List[ast.expr]:
        """The reads of the step in ``apply_gradients``, or in its class, that enter the update."""
        step = self.parameter(function)
        owner = self.index.parents[function]
        reads: List[ast.expr] = [
            name for name in self.index.reads_of(step) if self.index.inside(name, function)
        ]
        reads += [
            call
            for call in self.index.calls_of(vocabulary.STEP_GETTERS)
            if self.index.inside(call, owner)
        ]
        return [read for read in reads if self._enters_the_update(read)]

    def _enters_the_update(self, read: ast.expr) -> bool:
        parent = self.index.parents[read]
        if isinstance(parent, ast.Compare) and isinstance(parent.ops[0], (ast.Is, ast.IsNot)):
            return False
        if isinstance(parent, (ast.If, ast.While, ast.Assert)):
            return False
        holder: ast.AST = parent.value if isinstance(parent, ast.keyword) else parent
        call = self.index.parents[parent] if isinstance(parent, ast.keyword) else parent
        if isinstance(call, ast.Call) and method_name(call) == "apply_gradients":
            return False
        return not isinstance(holder, ast.FormattedValue)


def handed_step(use: ast.Call) -> Optional[ast.expr]:
    """The global step that ``apply_gradients`` or ``minimize`` is handed."""
    step = argument(use, 1, "global_step")
    return step if step is not None and not is_none(step) else None


def _asks_for(test: ast.expr, step: str) -> bool:
    """Whether a test asks whether there is a step at all."""
    if isinstance(test, ast.Name):
        return test.id == step
    return (
        isinstance(test, ast.Compare)
        and dotted(test.left) == step
        and isinstance(test.ops[0], ast.IsNot)
        and is_none(test.comparators[0])
    )
