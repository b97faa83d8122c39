"""Strategies of ``tf.distribute`` become ``NPUStrategy``, one device a process (NPU216 to NPU218).

``NPUStrategy`` averages nothing over processes. A loop of the script's own can have that from
``NPUDistributedOptimizer``; Keras' loop divides the loss by the number of processes and shards no
data, so that several would train otherwise than one.
"""

import ast
from typing import List

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, unpacks
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.session.keras_training import compiles
from npu_migrate.names import Index, arguments_of, dotted, method_name
from npu_migrate.plan import Argument, EditCall, RemoveStatement

RULE = "distribution-strategy"
MODULES = ("tensorflow.distribute.", "tensorflow.contrib.distribute.")

METHODS = frozenset(
    """
    scope run experimental_run experimental_run_v2 reduce make_dataset_iterator
    make_input_fn_iterator experimental_distribute_dataset experimental_local_results unwrap
    experimental_make_numpy_dataset experimental_distribute_datasets_from_function
    """.split()  # noqa: SIM905
)
"""Methods of a strategy."""

WHOLE = ("make_dataset_iterator", "make_input_fn_iterator")
SHARDED = "experimental_distribute_dataset"
"""Methods that deal data out; only the last does so under ``NPUStrategy``."""

OF_CONFIGURATIONS = ("train_distribute", "eval_distribute")
"""Arguments of configurations that take a strategy."""


def run(context: Context, optimizers: Optimizers) -> None:
    """Judge every strategy that a file makes."""
    for call in context.calls_matching(RULE):
        _judge(context, optimizers, call)


def _judge(context: Context, optimizers: Optimizers, call: ast.Call) -> None:
    name = sorted(context.index.resolve(call.func).names)[0].rpartition(".")[2]
    if not context.stands(call) or _is_configured(context, optimizers, call):
        return
    if _is_of_no_use(context, call):
        _remove(context, call)
        return
    if unpacks(call) or not _is_used(context.index, optimizers, call):
        context.report("strategy-used-elsewhere", call, strategy=name)
    elif any(compiles(context.index, other) for other in context.index.calls):
        context.report("strategy-of-keras", call, strategy=name)
    else:
        positions = [Argument(position) for position in reversed(range(len(call.args)))]
        arguments = [*positions, *(Argument(str(k.arg)) for k in call.keywords)]
        edit = EditCall(call, context.local(vocabulary.STRATEGY, call), tuple(arguments))
        notes = _replicas(context, optimizers, call) + _iterators(context, optimizers, call)
        if context.report(RULE, call, edit, strategy=name, notes=notes):
            for value in [call.func, *arguments_of(call)]:
                context.discard(value)


def keeps_one(index: Index, optimizers: Optimizers) -> bool:
    """Whether a file hands a strategy on, so that it stays (NPU218)."""
    made = [
        call
        for call in index.calls
        if method_name(call).endswith("Strategy")
        and index.resolve(call.func).sole.startswith(MODULES)
    ]
    return any(
        not _configured(index, optimizers, call)
        and not _is_used(index, optimizers, call)
        and not _is_unread(index, call)
        for call in made
    )


def _is_configured(context: Context, optimizers: Optimizers, call: ast.Call) -> bool:
    """Whether a strategy is an argument of a configuration, and stays one."""
    return any(map(context.stands, _configured(context.index, optimizers, call)))


def _configured(index: Index, optimizers: Optimizers, call: ast.Call) -> List[ast.expr]:
    """The arguments of configurations that a strategy is."""
    return [
        keyword.value
        for other in index.calls
        for keyword in other.keywords
        if keyword.arg in OF_CONFIGURATIONS and call in optimizers.producers(keyword.value)
    ]


def _is_unread(index: Index, call: ast.Call) -> bool:
    statement = index.statement(call)
    bindings = index.statement_bindings(statement) if index.parents[call] is statement else ()
    return bool(bindings) and not any(index.reads(binding) for binding in bindings)


def _is_of_no_use(context: Context, call: ast.Call) -> bool:
    """Whether a strategy is bound to a name that nothing reads (any more)."""
    statement = context.index.statement(call)
    if not isinstance(statement, ast.Assign) or context.index.parents[call] not in (
        statement,
        statement.value,
    ):
        return False
    bindings = context.index.statement_bindings(statement)
    reads = [read for binding in bindings for read in context.index.reads(binding)]
    return (
        bool(bindings)
        and not any(context.is_taken(binding.name) for binding in bindings)
        and all(context.without(read) for read in reads)
    )


def _remove(context: Context, call: ast.Call) -> None:
    """Take out the assignment of a strategy whose readers have gone."""
    statement = context.index.statement(call)
    bindings = context.index.statement_bindings(statement)
    had_readers = all(context.index.reads(binding) for binding in bindings)
    if had_readers and context.index.parents[call] is statement:
        context.discard(statement)
        edit = RemoveStatement(statement, comment=context.options.comments_out)
        context.plan.edits.append(edit)


def _is_used(index: Index, optimizers: Optimizers, call: ast.Call) -> bool:
    """Whether the file itself trains under a strategy."""
    return any(
        isinstance(other.func, ast.Attribute)
        and other.func.attr in METHODS
        and call in optimizers.producers(other.func.value)
        for other in index.calls
    )


def _replicas(context: Context, optimizers: Optimizers, call: ast.Call) -> str:
    """What to say where the script asks a strategy for its number of replicas."""
    lines: List[int] = [
        chain.lineno
        for chain in context.index.chains
        if isinstance(chain, ast.Attribute)
        and chain.attr == "num_replicas_in_sync"
        and dotted(chain.value)
        and call in optimizers.producers(chain.value)
    ]
    if not lines:
        return ""
    places = ", ".join(str(line) for line in sorted(set(lines)))
    return (
        f"; num_replicas_in_sync (line {places}) counts processes now, each of which takes whole "
        "batches: a batch size must not be multiplied by it"
    )


def _iterators(context: Context, optimizers: Optimizers, call: ast.Call) -> str:
    """What to say of the iterators whose data a strategy deals out."""
    made = {
        other.func.attr: other.lineno
        for other in context.index.calls_written((*WHOLE, SHARDED))
        if isinstance(other.func, ast.Attribute) and call in optimizers.producers(other.func.value)
    }
    notes = [
        f"; {name} (line {made[name]}) gives each process all of the data: shard it by "
        "ops_adapter.size() and ops_adapter.rank()"
        for name in WHOLE
        if name in made
    ]
    if SHARDED in made and any(map(method_name, context.index.calls_written(("initialize",)))):
        notes.append("; an iterator of its data has initializer in place of initialize()")
    return "".join(notes)
