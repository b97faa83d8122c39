"""What runs on the host, where everything of TensorFlow is supported: the functions of datasets."""

import ast
from typing import Dict, FrozenSet, Iterator, List, Optional, Set, Tuple, Union

from npu_migrate.migrations.replacements.datasets import TAKE_FUNCTIONS
from npu_migrate.names import FunctionNode, Index, arguments_of, last_name

CALLERS = (TAKE_FUNCTIONS - {"reduce"}) | {  # which is one of functools, too
    "map_and_batch",
    "parallel_interleave",
    "from_generator",
    "py_func",
    "py_function",
    "numpy_function",
}
"""Methods and functions whose arguments are called on the host."""


Function = Union[FunctionNode, ast.Lambda]


def functions_of(
    index: Index, value: ast.expr, seen: FrozenSet[ast.expr] = frozenset()
) -> Iterator[Tuple[Function, List[ast.Call]]]:
    """The functions that a value may be, each with the ``functools.partial`` calls around it."""
    if value in seen:
        return
    named = index.function_named(value)
    if named is not None:
        yield named, []
        return
    for producer in index.producers(value):
        if isinstance(producer, ast.Lambda):
            yield producer, []
        elif isinstance(producer, ast.Call) and producer.args:
            if index.resolve(producer.func).sole == "functools.partial":
                for function, inner in functions_of(index, producer.args[0], seen | {value}):
                    yield function, [*inner, producer]


class Host:
    """The functions of one file that only datasets and Python call."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._functions: Optional[Set[ast.AST]] = None

    def runs(self, node: ast.AST) -> bool:
        """Whether a node runs on the host."""
        if self._functions is None:
            self._functions = set(self._handed_over())
            while True:
                found = self._called_inside(self._functions) - self._functions
                if not found:
                    break
                self._functions |= found
        return any(ancestor in self._functions for ancestor in self.index.ancestors(node))

    def _handed_over(self) -> Iterator[ast.AST]:
        for call in self.index.calls_written(CALLERS):
            name = last_name(call.func)
            if "builtins." + name not in self.index.resolve(call.func).names:
                for value in arguments_of(call):
                    yield from (function for function, _ in functions_of(self.index, value))

    def _called_inside(self, functions: Set[ast.AST]) -> Set[ast.AST]:
        """The functions all of whose calls stand in ``functions``."""
        return {
            function
            for function, calls in self._calls().items()
            if all(any(a in functions for a in self.index.ancestors(call)) for call in calls)
        }

    def _calls(self) -> Dict[ast.AST, List[ast.Call]]:
        """The functions of the file that are called in it, with their calls."""
        found: Dict[ast.AST, List[ast.Call]] = {}
        for call in self.index.calls:
            function = self.index.function_called(call)
            if function is not None:
                found.setdefault(function, []).append(call)
        return found
