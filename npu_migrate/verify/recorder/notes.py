"""What was seen while a graph was built: gradients, and optimizers that apply them."""

import weakref
from typing import Any, List, NamedTuple, Optional, Set, Tuple


class GradientCall(NamedTuple):
    """One call that computed gradients of trainable variables.

    Attributes:
      loss: the tensor whose gradients the script asked for, before anything scaled it; or None.
      gradients: tensors that hold the numbers of the results.
    """

    loss: Optional[Any]
    gradients: Tuple[Any, ...]


class Application(NamedTuple):
    """One call of an optimizer's `apply_gradients` that called no other.

    Attributes:
      optimizer: whose it was.
      around: optimizers whose `apply_gradients` led to it, outermost first.
      gradients: tensors that hold the numbers of the gradients.
      has_sparse: whether one of them is sparse.
      global_step: variable that the outermost call was given, or None.
      loss_scale: where the loss scale of an optimizer around can be read, or None.
      done: the operation that was returned, or None.
      created: names of variables that came into being in the call.
      operations: numbers of the graph's first operation of the call, and of the first after it.
    """

    optimizer: Any
    around: Tuple[Any, ...]
    gradients: Tuple[Any, ...]
    has_sparse: bool
    global_step: Optional[Any]
    loss_scale: Optional[Any]
    done: Optional[Any]
    created: Set[str]
    operations: Tuple[int, int]


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
