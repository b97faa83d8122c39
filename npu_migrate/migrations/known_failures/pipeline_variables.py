"""Variables that an input pipeline reads (NPU703)."""

import ast
from typing import Iterator, NamedTuple, Set, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context
from npu_migrate.migrations.known_failures.pipelines import Pipelines
from npu_migrate.migrations.optimizers import Producer
from npu_migrate.names import arguments_of

KERAS_ZEROS = frozenset(
    f"{module}.{name}"
    for module in ("tensorflow.keras.backend", "keras.backend")
    for name in ("zeros", "ones", "eye", "variable")
)
"""Functions of Keras that make a variable, though not all look like it."""

MAKERS = vocabulary.VARIABLES | vocabulary.STEP_GETTERS | KERAS_ZEROS


class Part(NamedTuple):
    """A part of a file that belongs to an input pipeline."""

    node: ast.AST
    assumed: bool
    """It is a dataset by its name alone."""


def run(context: Context, pipelines: Pipelines) -> None:
    """Report each variable that a dataset's function or argument reads."""
    reported: Set[Tuple[ast.AST, Producer]] = set()
    for part in _parts(context, pipelines):
        for read in _reads(part.node):
            for producer in pipelines.values(read) if read in context.index.parents else ():
                if (part.node, producer) in reported or not _is_variable(context, producer):
                    continue
                reported.add((part.node, producer))
                symbol = context.index.resolve(producer.func).sole  # type: ignore[union-attr]
                context.report(
                    "variable-in-input-pipeline", read, symbol=symbol, assumed=part.assumed
                )


def _parts(context: Context, pipelines: Pipelines) -> Iterator[Part]:
    for function in dict.fromkeys(mapped.function for mapped in pipelines.mapped):
        yield Part(function, assumed=False)
    for call in context.index.calls:
        if pipelines.makes_dataset(call):
            arguments = arguments_of(call)
            assumed = pipelines.is_assumed(call)
            for value in arguments:
                if not isinstance(value, ast.Lambda):
                    yield Part(value, assumed)


def _reads(part: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(part):
        is_name = isinstance(node, (ast.Name, ast.Attribute))
        if isinstance(node, ast.Call) or (is_name and isinstance(node.ctx, ast.Load)):  # type: ignore[attr-defined]
            yield node  # type: ignore[misc]


def _is_variable(context: Context, producer: Producer) -> bool:
    return isinstance(producer, ast.Call) and context.is_named(producer.func, MAKERS)
