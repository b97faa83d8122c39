"""What was seen while a graph was built: gradients, and optimizers that apply them."""

import weakref
from typing import Any, List, NamedTuple, Optional, Set, Tuple


class Gradient(NamedTuple):
    """Where the numbers of a gradient are.

    Attributes:
      values: a tensor.
      rows: of a sparse gradient, which rows its values are; or None.
    """

    values: Any
    rows: Optional[Any] = None


class GradientCall(NamedTuple):
    """One call that computed gradients of trainable variables.

    Attributes:
      loss: the tensor whose gradients the script asked for, before anything scaled it.
      gradients: tensors that hold the numbers of the results.
      is_asked: whether an optimizer was asked for them, which may have scaled the loss then.
    """

    loss: Any
    gradients: Tuple[Any, ...]
    is_asked: bool


class Application(NamedTuple):
    """One call of an optimizer's `apply_gradients` that called no other.

    Attributes:
      optimizer: whose it was.
      around: optimizers whose `apply_gradients` led to it, outermost first.
      gradients: those that are there.
      global_step: variable that the outermost call was given, or None.
      loss_scale: number, variable or tensor of the outermost optimizer that has one; or None.
      done: the operation that was returned, or None.
      created: names of variables that came into being in the call.
      operations: numbers of the graph's last operations before and after the call.
      context: of control flow, in which the script made the outermost call; or None.
    """

    optimizer: Any
    around: Tuple[Any, ...]
    gradients: Tuple[Gradient, ...]
    global_step: Optional[Any]
    loss_scale: Optional[Any]
    done: Optional[Any]
    created: Set[str]
    operations: Tuple[int, int]
    context: Optional[Any] = None

    def made(self, operation: Any) -> bool:
        """Whether the call made an operation."""
        first, last = self.operations
        return bool(first < operation._id <= last)


class GraphNotes:
    """The calls of one graph, in order."""

    def __init__(self) -> None:
        self.gradient_calls: List[GradientCall] = []
        self.applications: List[Application] = []


class Notes:
    """The notes of all graphs."""

    def __init__(self) -> None:
        self._graphs: weakref.WeakKeyDictionary[Any, GraphNotes] = weakref.WeakKeyDictionary()

    def of(self, graph: Any) -> GraphNotes:
        """The notes of a graph."""
        return self._graphs.setdefault(graph, GraphNotes())
