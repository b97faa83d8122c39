"""What is a ``tf.data.Dataset`` in one file, and what is known of its length.

Only what is made by TensorFlow is certain to be one; a parameter may be anything that has a method
of the same name.
"""

import ast
import re
from enum import Enum
from typing import Dict, Iterator, Optional, Set

from npu_migrate.migrations.context import argument, unpacks
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import Index, dotted, is_none, literal

TAKE_FUNCTIONS = frozenset(
    (
        "map",
        "map_with_legacy_function",
        "flat_map",
        "interleave",
        "filter",
        "filter_with_legacy_function",
        "reduce",
    )
)
"""Methods of a dataset that take a function."""

METHODS = TAKE_FUNCTIONS | frozenset(
    (
        "apply",
        "batch",
        "cache",
        "concatenate",
        "enumerate",
        "padded_batch",
        "prefetch",
        "repeat",
        "shard",
        "shuffle",
        "skip",
        "take",
        "unbatch",
        "window",
        "with_options",
    )
)
"""Methods of a dataset that give a dataset."""

DATASETS = ("tensorflow.data.", "tensorflow.contrib.data.")
"""How the names begin of what makes datasets, and of the transformations for ``apply``."""
MAKERS = frozenset(
    (
        "make_csv_dataset",
        "make_batched_features_dataset",
        "sample_from_datasets",
        "choose_from_datasets",
        "Counter",
    )
)
_CLASS = re.compile(r"\.\w*Dataset(V[12])?(\.|$)")
_KEEP_ENDLESS = frozenset(
    ("map", "filter", "interleave", "shuffle", "prefetch", "shard", "skip", "with_options", "cache")
)


class Certainty(Enum):
    """Whether a value is a dataset."""

    YES = "yes"
    MAYBE = "maybe"
    NO = "no"


class Datasets:
    """The datasets of one file."""

    def __init__(self, index: Index, optimizers: Optimizers) -> None:
        self.index = index
        self._optimizers = optimizers
        self._unbatched: Optional[Set[ast.Call]] = None

    def certainty(self, node: ast.expr) -> Certainty:
        """Whether an expression is a dataset."""
        known = {self._is_made_here(origin) for origin in self._origins(node)}
        if known == {True}:
            return Certainty.YES
        return Certainty.MAYBE if True in known or _sounds_like_one(node) else Certainty.NO

    def _is_made_here(self, origin: object) -> bool:
        if not isinstance(origin, ast.Call):
            return False
        names = self.index.resolve(origin.func).names
        return bool(names) and all(map(_makes_dataset, names))

    def _origins(self, node: ast.expr) -> Iterator[object]:
        """What a chain of a dataset's methods begins with."""
        for call in self.chain(node):
            if call is None or not self._is_method(call):
                yield call

    def chain(self, node: ast.expr) -> Iterator[Optional[ast.Call]]:
        """The calls that a value has come through, and ``None`` for what is no call."""
        pending, seen = [node], set()
        while pending:
            for producer in self._optimizers.producers(pending.pop()):
                if producer in seen:
                    continue
                seen.add(producer)
                yield producer if isinstance(producer, ast.Call) else None
                if isinstance(producer, ast.Call) and self._is_method(producer):
                    pending.append(producer.func.value)  # type: ignore[attr-defined]

    def _is_method(self, call: ast.Call) -> bool:
        is_method = isinstance(call.func, ast.Attribute) and call.func.attr in METHODS
        return is_method and not self.index.resolve(call.func).names

    def is_endless(self, node: ast.expr, seen: Optional[Dict[object, None]] = None) -> bool:
        """Whether a dataset is repeated without end, whatever way it has come."""
        seen = {} if seen is None else seen
        producers = [p for p in self._optimizers.producers(node) if p not in seen]
        seen.update(dict.fromkeys(producers))
        return bool(producers) and all(
            isinstance(producer, ast.Call) and self._gives_endless(producer, seen)
            for producer in producers
        )

    def _gives_endless(self, call: ast.Call, seen: Dict[object, None]) -> bool:
        if not self._is_method(call):
            return False
        assert isinstance(call.func, ast.Attribute)
        method, receiver = call.func.attr, call.func.value
        if unpacks(call):
            return False
        if method == "repeat" and _is_without_end(argument(call, 0, "count")):
            return True
        if method == "apply" and call.args and isinstance(call.args[0], ast.Call):
            applied = call.args[0]
            names = self.index.resolve(applied.func).names
            repeats = any(name.endswith(".shuffle_and_repeat") for name in names)
            return repeats and _is_without_end(argument(applied, 1, "count"))
        return method in _KEEP_ENDLESS | {"repeat"} and self.is_endless(receiver, seen)

    def is_unbatched(self, call: ast.Call) -> bool:
        """Whether the batches that a call makes are taken apart again."""
        if self._unbatched is None:
            self._unbatched = {
                earlier
                for unbatch in self.index.calls
                if isinstance(unbatch.func, ast.Attribute) and self._takes_apart(unbatch)
                for earlier in self.chain(unbatch.func.value)
                if earlier is not None
            }
        return call in self._unbatched

    def _takes_apart(self, call: ast.Call) -> bool:
        assert isinstance(call.func, ast.Attribute)
        if call.func.attr == "apply" and call.args and isinstance(call.args[0], ast.Call):
            return dotted(call.args[0].func).rpartition(".")[2] == "unbatch"
        return call.func.attr == "unbatch"


def _makes_dataset(name: str) -> bool:
    if not name.startswith(DATASETS):
        return False
    return bool(_CLASS.search(name)) or name.rpartition(".")[2] in MAKERS


def _sounds_like_one(node: ast.expr) -> bool:
    """Whether a name, or the function that is called, says that it is a dataset."""
    while isinstance(node, ast.Call):
        node = node.func
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            node = node.value
    return "dataset" in dotted(node).rpartition(".")[2].lower()


def _is_without_end(count: Optional[ast.expr]) -> bool:
    if isinstance(count, ast.UnaryOp) and isinstance(count.op, ast.USub):
        return literal(count.operand) == 1
    return count is None or is_none(count)
