"""The tensor that somebody names as the loss, and what to say where it is none."""

import difflib
from typing import Any, Iterator, List, Optional, Sequence, Set

import tensorflow.compat.v1 as tf

from npu_migrate.verify.recorder.closure import is_unconditional

_MOST = 3
"""Names that are told instead."""


def named_tensor(graph: Any, name: str) -> Optional[Any]:
    """The tensor of a name, which may leave out its number; None without such a one."""
    try:
        found = graph.as_graph_element(name if ":" in name else f"{name}:0")
    except (KeyError, ValueError):
        return None
    return found if isinstance(found, tf.Tensor) else None


def why_not_named(graph: Any, name: str, needed: Set[Any], found: Sequence[Any]) -> str:
    """Why a name is not that of the loss, and what to do about it.

    Args:
      graph: of the training.
      name: that is no name of the loss.
      needed: operations of the run that trains.
      found: the losses where none is named.
    """
    sentences = [f"{_why(named_tensor(graph, name), name)}."]
    near = _near(name, sorted(_candidates(needed)))
    if near:
        sentences.append(f"Near it are {', '.join(near)}.")
    if found:
        sentences.append(f"Without --loss, {found[0].name} is taken.")
    return " ".join(sentences)


def _why(tensor: Optional[Any], name: str) -> str:
    if tensor is None:
        return f"there is no tensor {name} in the graph"
    if is_unconditional(tensor.op):
        return f"no step computes {name}"
    return f"{name} is computed in a branch or in a loop only"


def _candidates(needed: Set[Any]) -> Iterator[str]:
    """The tensors of a run that may be a loss."""
    for operation in needed:
        for tensor in operation.outputs:
            if tensor.dtype.is_floating and tensor.shape.rank == 0 and is_unconditional(operation):
                yield tensor.name


def _near(name: str, candidates: List[str]) -> List[str]:
    """Those under a scope of that name, or else those that are written alike."""
    plain = name.partition(":")[0].lower()
    within = [each for each in candidates if plain in each.partition(":")[0].lower().split("/")]
    alike = difflib.get_close_matches(name, candidates, _MOST)
    return list(dict.fromkeys([*sorted(within, key=len), *alike]))[:_MOST]
