"""What runs on the host, where everything of TensorFlow is supported: the functions of datasets."""

import ast
from typing import Dict, Iterator, List, Optional, Set

from npu_migrate.names import Index, arguments_of, last_name

CALLERS = frozenset(
    (
        "map",
        "flat_map",
        "filter",
        "interleave",
        "map_and_batch",
        "parallel_interleave",
        "from_generator",
        "py_func",
        "py_function",
        "numpy_function",
    )
)
"""Methods and functions whose arguments are called on the host."""


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
        for call in self.index.calls:
            name = last_name(call.func)
            if name in CALLERS and "builtins." + name not in self.index.resolve(call.func).names:
                for value in arguments_of(call):
                    yield from self._functions_of(value)

    def _functions_of(self, value: ast.expr) -> Iterator[ast.AST]:
        """The function that a value is, also behind ``functools.partial``."""
        if isinstance(value, ast.Call):
            if "functools.partial" in self.index.resolve(value.func).names and value.args:
                yield from self._functions_of(value.args[0])
            return
        function = self.index.function_named(value)
        if function is not None:
            yield function
        for producer in self.index.producers(value):
            if isinstance(producer, ast.Lambda):
                yield producer

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
