"""Reads numbers of a session's variables."""

import hashlib
import zlib
from typing import Any, Callable, List, Optional, Sequence, Tuple

import numpy as np
import tensorflow.compat.v1 as tf

from npu_migrate.verify.recorder.notes import Gradient

Run = Callable[..., Any]
"""Fetches from a session; a second argument feeds it."""

_PARTS = 16
_SIGNS = np.random.RandomState(1).choice([-1.0, 1.0], 65521)


def read(run: Run, variables: Sequence[Any]) -> List[Any]:
    """The values of variables, with nothing added to the graph; none is an empty array.

    Args:
      run: fetches tensors.
      variables: to read.
    """
    tensors = [variable._as_graph_element() for variable in variables]
    try:
        return list(run(tensors))
    except tf.errors.FailedPreconditionError:
        return [_value(run, tensor) for tensor in tensors]


def _value(run: Run, tensor: Any) -> Any:
    try:
        return run([tensor])[0]
    except tf.errors.FailedPreconditionError:
        return np.zeros(0, np.float32)


def scalar(run: Run, source: Any) -> Optional[float]:
    """The value of a number, a variable or what is computed of variables.

    None for None, and where a variable has no value yet.
    """
    if isinstance(source, tf.Variable):
        value = read(run, [source])[0]
        return float(value) if np.size(value) else None
    if isinstance(source, tf.Tensor):
        return float(run([source])[0])
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


def change(
    before: Optional[Sequence[Any]], after: Sequence[Any]
) -> Tuple[Optional[float], Tuple[float, ...]]:
    """Norm and parts of what was added to arrays, see `Step`; nothing where it is no number."""
    if before is None or any(np.size(a) != np.size(b) for a, b in zip(before, after)):
        return None, ()
    added = [_flat(new) - _flat(old) for old, new in zip(before, after)]
    size = norm(added)
    if not np.isfinite(size):
        return None, ()
    parts = np.zeros(_PARTS)
    for at, numbers in enumerate(added):
        padded = np.zeros(-(-numbers.size // _PARTS) * _PARTS)
        padded[: numbers.size] = numbers * np.resize(np.roll(_SIGNS, at), numbers.size)
        parts += padded.reshape(-1, _PARTS).sum(0)
    return size, tuple(map(float, parts))


def shaken(value: Any, name: str) -> Any:
    """An array whose numbers are changed in their last bit, each up or down."""
    if not np.issubdtype(np.asarray(value).dtype, np.floating):
        return value
    signs = np.random.RandomState(zlib.crc32(name.encode())).choice([-1, 1], np.shape(value))
    return np.nextafter(value, (signs * np.inf).astype(np.asarray(value).dtype))


def _flat(value: Any) -> Any:
    return np.asarray(value, np.float64).ravel()


def norm(values: Sequence[Any]) -> float:
    """The 2-norm of all numbers together, in float64."""
    squares = 0.0
    for value in values:
        flat = _flat(value)
        squares += float(np.dot(flat, flat))
    return float(np.sqrt(squares))
