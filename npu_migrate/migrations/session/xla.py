"""XLA goes off: the NPU has a compiler of its own (NPU406 to NPU409)."""

import ast

from npu_migrate.migrations import signs
from npu_migrate.migrations.context import Context, argument, place_of, unpacks
from npu_migrate.migrations.environment import Setting, settings, statement_that_sets
from npu_migrate.migrations.session.precision_switches import is_off
from npu_migrate.names import is_none
from npu_migrate.plan import Argument, EditCall, RemoveStatement, Status

LEVEL = "global_jit_level"
OPTIONS = "tensorflow.OptimizerOptions"
SET_JIT = "tensorflow.config.optimizer.set_jit"
SCOPE = "tensorflow.xla.experimental.jit_scope"
COMPILE = frozenset(
    (
        "tensorflow.xla.experimental.compile",
        "tensorflow.contrib.compiler.xla.estimator_model_fn",
    )
)
FUNCTION = "tensorflow.function"
SWITCHES = frozenset((OPTIONS, SET_JIT, SCOPE, FUNCTION))
FLAGS = "TF_XLA_FLAGS"


def run(context: Context) -> None:
    """Switch XLA off wherever one file switches it on."""
    _levels(context)
    for call in context.index.possible_calls(SWITCHES):
        if context.without(call):
            continue
        if context.calls_to(call, SET_JIT):
            _set_jit(context, call)
        elif context.calls_to(call, SCOPE):
            _scope(context, call)
        elif context.calls_to(call, OPTIONS):
            _drop(context, call, LEVEL)
        elif context.calls_to(call, FUNCTION):
            _drop(context, call, "experimental_compile")
    if context.shows(signs.XLA_COMPILE):
        _compilations(context)
    for setting in settings(context.index, (FLAGS,)):
        if not is_off(setting.value) and not context.without(setting.node):
            _flags(context, setting)


def _compilations(context: Context) -> None:
    for chain in context.index.chains_of(COMPILE):
        if not context.without(chain):
            context.report("xla-compile", chain, symbol=context.index.resolve(chain).sole)


def _levels(context: Context) -> None:
    """``config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1``."""
    for statement in context.index.places:
        if not isinstance(statement, ast.Assign) or context.without(statement):
            continue
        (target, *others) = statement.targets
        is_level = isinstance(target, ast.Attribute) and target.attr == LEVEL
        if is_level and not others and not is_off(statement.value):
            _remove(context, "xla-jit-level", statement, f"{OPTIONS}.{LEVEL}")


def _remove(context: Context, rule: str, statement: ast.stmt, symbol: str) -> None:
    whole = _holder_of_nothing_else(context, statement)
    edit = RemoveStatement(whole, comment=context.options.comments_out)
    if context.report(rule, statement, edit, symbol=symbol):
        context.discard(whole)


def _holder_of_nothing_else(context: Context, statement: ast.stmt) -> ast.stmt:
    """The ``if FLAGS.use_xla:`` that holds only this statement, or the statement itself."""
    holder = context.index.places[statement].parent
    if not isinstance(holder, ast.If) or holder.orelse or len(holder.body) > 1:
        return statement
    around = context.index.places[holder]
    is_arm = isinstance(around.parent, ast.If) and around.block is around.parent.orelse
    calls = any(isinstance(node, ast.Call) for node in ast.walk(holder.test))
    return statement if is_arm or calls else holder


def _set_jit(context: Context, call: ast.Call) -> None:
    if is_off(argument(call, 0, "enabled")):
        return
    statement = context.index.statement(call)
    if isinstance(statement, ast.Expr) and statement.value is call:
        _remove(context, "xla-jit-level", statement, SET_JIT)
    else:
        context.report("xla-jit-level", call, status=Status.MANUAL, symbol=SET_JIT)


def _scope(context: Context, call: ast.Call) -> None:
    """The scope stays, and with it the layout of the script; it no longer compiles."""
    given = argument(call, 0, "compile_ops")
    if is_off(given):
        return
    if given is None and unpacks(call):
        context.report("xla-scope", call, status=Status.MANUAL, symbol=SCOPE)
        return
    at = place_of(call, given) if given is not None else "compile_ops"
    context.report("xla-scope", call, EditCall(call, "", (Argument(at, "False"),)), symbol=SCOPE)


def _drop(context: Context, call: ast.Call, keyword: str) -> None:
    value = argument(call, -1, keyword)
    if value is None or is_off(value) or is_none(value):
        return
    edit = EditCall(call, "", (Argument(keyword),))
    symbol = context.index.resolve(call.func).sole
    if context.report("xla-jit-level", call, edit, symbol=symbol):
        context.discard(value)


def _flags(context: Context, setting: Setting) -> None:
    statement = statement_that_sets(context.index, setting.node)
    if statement is not None:
        _remove(context, "xla-flags", statement, FLAGS)
    elif isinstance(setting.node, ast.Call):
        edit = EditCall(setting.node, "", (Argument(FLAGS),))
        context.report("xla-flags", setting.node, edit, symbol=FLAGS)
    else:
        context.report("xla-flags", setting.node, status=Status.MANUAL, symbol=FLAGS)
