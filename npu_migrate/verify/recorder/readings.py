"""Reads numbers of a session's variables."""

import hashlib
from typing import Any, Callable, List, Optional, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from npu_migrate.verify.recorder.notes import Gradient

Run = Callable[[Any], Any]


def read(run: Run, variables: Sequence[Any]) -> List[Any]:
    """The values of variables, with nothing added to the graph.

    Args:
      run: fetches tensors.
      variables: to read.
    """
    return list(run([variable._as_graph_element() for variable in variables]))


def scalar(run: Run, source: Any) -> Optional[float]:
    """The value of a number or a variable; None for None."""
    if isinstance(source, tf.Variable):
        return float(read(run, [source])[0])
    return None if source is None else float(source)


def checksum(values: Sequence[Any]) -> str:
    """Of the bytes of arrays, in order."""
    digest = hashlib.blake2b(digest_size=16)
    for value in values:
        digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()


def norm_of_gradients(
    gradients: Optional[Sequence[Gradient]], values: Sequence[Any]
) -> Optional[float]:
    """The 2-norm of gradients; rows that a sparse one has several times are added up first.

    Args:
      gradients: dense or sparse; None if there are none to be had.
      values: of their tensors, in order.
    """
    if gradients is None:
        return None
    remaining = iter(values)
    dense = []
    for gradient in gradients:
        numbers = np.asarray(next(remaining), np.float64)
        if gradient.rows is not None:
            rows, positions = np.unique(next(remaining), return_inverse=True)
            added = np.zeros((len(rows), *numbers.shape[1:]))
            np.add.at(added, positions, numbers)
            numbers = added
        dense.append(numbers)
    return norm(dense)


def norm(values: Sequence[Any]) -> float:
    """The 2-norm of all numbers together, in float64."""
    squares = 0.0
    for value in values:
        flat = np.asarray(value, np.float64).ravel()
        squares += float(np.dot(flat, flat))
    return float(np.sqrt(squares))
