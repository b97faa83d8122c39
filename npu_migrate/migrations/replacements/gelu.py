"""Functions that compute the tanh form of GELU return the NPU's single operation for it.

They are known by what they compute, not by their names: BERT's ``gelu`` and GPT-2's, an activation
called ``act``, a lambda. One in the erf form, with other constants, or one that does anything
besides, is left alone.
"""

import ast
from typing import Callable, Dict, Mapping, Optional, Set, Tuple, Union

from npu_migrate.migrations.context import Context
from npu_migrate.migrations.replacements.polynomials import NoPolynomial, Polynomial
from npu_migrate.names import FUNCTIONS, WITHS, Binding, FunctionNode, Index, literal
from npu_migrate.plan import RemoveStatement, ReplaceExpression

UNARY_OPS = "npu_bridge.estimator.npu_unary_ops.npu_unary_ops"
GELU = "gelu"

_ON_TENSORS = ("tensorflow", "tensorflow.math", "tensorflow.nn", "tensorflow.keras.backend")
_ON_NUMBERS = ("numpy", "math")
_PI = frozenset(("numpy.pi", "math.pi"))
_SCOPES = frozenset(
    "tensorflow." + name for name in ("name_scope", "variable_scope", "keras.backend.name_scope")
)

_Value = Polynomial
_HALF = Polynomial.constant(0.5)
_ONE = Polynomial.constant(1.0)
_MINUS_ONE = Polynomial.constant(-1.0)


def run(context: Context) -> None:
    """Find the functions of a file that compute GELU."""
    if GELU not in context.rules:
        return
    functions: Dict[Union[FunctionNode, ast.Lambda], None] = {}
    for call in context.calls_matching(GELU):
        holder = _function_around(context.index, call)
        if holder is not None and not context.without(call):
            functions[holder] = None
    for function in functions:
        if isinstance(function, ast.Lambda):
            _lambda(context, function)
        else:
            _function(context, function)


def _function_around(index: Index, node: ast.AST) -> Optional[Union[FunctionNode, ast.Lambda]]:
    for ancestor in index.ancestors(node):
        if isinstance(ancestor, FUNCTIONS + (ast.Lambda,)):
            return ancestor
    return None


def _lambda(context: Context, function: ast.Lambda) -> None:
    name = _argument_of_gelu(Formula(context.index, function), function.body)
    if name:
        _replace(context, function.body, name, function.body)


def _function(context: Context, function: FunctionNode) -> None:
    returns = context.index.returns(function)
    if len(returns) != 1 or returns[0].value is None:
        return
    value = returns[0].value
    formula = Formula(context.index, function)
    name = _argument_of_gelu(formula, value)
    if not name or not _does_nothing_else(context, function, formula.steps):
        return
    removals = [
        RemoveStatement(step, comment=context.options.comments_out)
        for step in sorted(formula.steps, key=lambda step: step.lineno)
    ]
    for step in formula.steps:
        context.discard(step)
    _replace(context, value, name, function, *removals)


def _replace(
    context: Context, value: ast.expr, name: str, place: ast.AST, *removals: RemoveStatement
) -> None:
    context.discard(value)
    code = f"{context.local(UNARY_OPS, value)}.gelu({name})"
    context.report(GELU, place, ReplaceExpression(value, code), *removals)


def _does_nothing_else(context: Context, function: FunctionNode, steps: Set[ast.stmt]) -> bool:
    """Whether a function only computes what it returns."""
    return all(
        statement in steps
        or isinstance(statement, ast.Return)
        or (isinstance(statement, ast.Expr) and isinstance(literal(statement.value), str))
        or _is_scope(context, statement)
        for statement in context.index.statements(function)
    )


def _is_scope(context: Context, statement: ast.stmt) -> bool:
    return isinstance(statement, WITHS) and all(
        context.calls_to(item.context_expr, *_SCOPES) and item.optional_vars is None
        for item in statement.items
    )


def _argument_of_gelu(formula: "Formula", value: ast.expr) -> str:
    """The parameter whose GELU an expression is; empty where it is none."""
    try:
        computed = formula.value(value)
    except (NoPolynomial, RecursionError):
        return ""
    if len(computed.names) != 1:
        return ""
    (x,) = computed.names
    return x.name if isinstance(x, Binding) and computed.is_close(_gelu(x)) else ""


def _gelu(name: Binding) -> _Value:
    x = Polynomial.name(name)
    root = Polynomial.constant(0.7978845608028654)  # sqrt(2 / pi)
    inner = root * (x + Polynomial.constant(0.044715) * x.power(3))
    return _HALF * x * (_ONE + inner.applied("tanh"))


class Formula:
    """What an expression of a function computes from its parameters.

    ``steps`` collects the assignments of the function that it goes through.
    """

    def __init__(self, index: Index, function: Union[FunctionNode, ast.Lambda]) -> None:
        self._index = index
        self._function = function
        self.steps: Set[ast.stmt] = set()

    def value(self, node: ast.expr) -> _Value:
        """The polynomial of an expression."""
        number = literal(node)
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            return Polynomial.constant(float(number))
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._named(node)
        if isinstance(node, ast.BinOp):
            operation = _OPERATORS.get(type(node.op))
            if operation is not None:
                return operation(self.value(node.left), self.value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return _MINUS_ONE * self.value(node.operand)
        if isinstance(node, ast.Call):
            return self._called(node)
        raise NoPolynomial(type(node).__name__)

    def _named(self, node: ast.expr) -> _Value:
        if self._index.resolve(node).sole in _PI:
            return Polynomial.constant(3.141592653589793)
        bindings = self._index.bindings(node) if isinstance(node, ast.Name) else []
        if len(bindings) != 1:
            raise NoPolynomial("a name with several values")
        binding = bindings[0]
        if binding.parameter and binding.scope.node is self._function:
            return Polynomial.name(binding)
        if binding.value is None or binding.augmented or binding.iterates or binding.path:
            raise NoPolynomial("a name without a value")
        if binding.scope.node is self._function:
            if not isinstance(binding.statement, ast.Assign) or len(binding.statement.targets) > 1:
                raise NoPolynomial("a name bound in passing")
            self.steps.add(binding.statement)
            return self.value(binding.value)
        constant = self.value(binding.value)
        if constant.value is None:
            raise NoPolynomial("a value from outside")
        return constant

    def _called(self, call: ast.Call) -> _Value:
        name = self._index.resolve(call.func).sole
        module, _, function = name.rpartition(".")
        takes_type = function in _TYPED
        operands = call.args[:1] if takes_type else call.args
        operation = _FUNCTIONS.get((function, len(operands)))
        keywords = {keyword.arg for keyword in call.keywords}
        if operation is None or not keywords <= ({"dtype"} if takes_type else set()):
            raise NoPolynomial(f"a call of {name}")
        arguments = [self.value(operand) for operand in operands]
        are_numbers = all(argument.value is not None for argument in arguments)
        if module in _ON_NUMBERS or takes_type:
            known = are_numbers and module in _ON_NUMBERS + _ON_TENSORS
        else:
            known = module in _ON_TENSORS
        if not known:
            raise NoPolynomial(f"a call of {name}")
        return operation(*arguments)


def _quotient(left: _Value, right: _Value) -> _Value:
    if not right.value:
        raise NoPolynomial("a division by what is no number")
    return left * Polynomial.constant(1.0 / right.value)


def _to_power(base: _Value, exponent: _Value) -> _Value:
    if exponent.value is None:
        raise NoPolynomial("a power of what is no number")
    return base.power(exponent.value)


def _difference(left: _Value, right: _Value) -> _Value:
    return left + _MINUS_ONE * right


def _sum(left: _Value, right: _Value) -> _Value:
    return left + right


def _product(left: _Value, right: _Value) -> _Value:
    return left * right


def _itself(value: _Value) -> _Value:
    return value


def _sigmoid(value: _Value) -> _Value:
    """It is a hyperbolic tangent, moved and stretched."""
    return _HALF + _HALF * (_HALF * value).applied("tanh")


_Operation = Callable[..., _Value]

_OPERATORS: Mapping[type, _Operation] = {
    ast.Add: _sum,
    ast.Sub: _difference,
    ast.Mult: _product,
    ast.Div: _quotient,
    ast.Pow: _to_power,
}

_FUNCTIONS: Mapping[Tuple[str, int], _Operation] = {
    ("add", 2): _sum,
    ("subtract", 2): _difference,
    ("multiply", 2): _product,
    ("divide", 2): _quotient,
    ("truediv", 2): _quotient,
    ("true_divide", 2): _quotient,
    ("div", 2): _quotient,
    ("pow", 2): _to_power,
    ("power", 2): _to_power,
    ("square", 1): lambda value: value.power(2),
    ("sqrt", 1): lambda value: value.power(0.5),
    ("negative", 1): lambda value: _MINUS_ONE * value,
    ("tanh", 1): lambda value: value.applied("tanh"),
    ("sigmoid", 1): _sigmoid,
    ("constant", 1): _itself,
    ("cast", 1): _itself,
    ("convert_to_tensor", 1): _itself,
}
"""What functions compute, by their names and the number of operands."""

_TYPED = ("constant", "cast")
"""Functions of a number and of the type that it gets."""
