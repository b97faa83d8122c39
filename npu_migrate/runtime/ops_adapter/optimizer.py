"""Horovod's distributed optimizer, for scripts that keep it."""

import functools
from typing import Any, Dict, Optional, Type

import tensorflow.compat.v1 as tf

from npu_migrate.runtime.distributed_optimizer import GradientAveragingOptimizer
from npu_migrate.runtime.keras_optimizer import KerasDistributeOptimizer
from npu_migrate.runtime.ops_adapter.collectives import Average, allreduce
from npu_migrate.runtime.ops_adapter.compression import Compression, Compressor
from npu_migrate.runtime.overflow.source import Gradient


def DistributedOptimizer(  # noqa: N802  Horovod's name
    optimizer: Any,
    name: Optional[str] = None,
    use_locking: bool = False,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Type[Compressor] = Compression.none,
    sparse_as_dense: bool = False,
    backward_passes_per_step: int = 1,
    op: int = Average,
    **others: Any,
) -> Any:
    """Wraps an optimizer so that gradients are averaged over the ranks.

    Args:
      optimizer: a `tf.train.Optimizer`, or a Keras optimizer, which takes none of the options.
      name: name of the optimizer.
      use_locking: ignored.
      device_dense: ignored.
      device_sparse: ignored.
      compression: how gradients are made smaller on the way.
      sparse_as_dense: whether sparse gradients are made dense first.
      backward_passes_per_step: only 1.
      op: only `Average`.
      **others: Horovod's further arguments, only with a false value.

    Raises:
      ValueError: an argument that has no counterpart on the NPU.
    """
    del use_locking, device_dense, device_sparse
    check_options(backward_passes_per_step, op, others)
    if isinstance(optimizer, tf.keras.optimizers.Optimizer):
        return KerasDistributeOptimizer(optimizer)
    return GradientAveragingOptimizer(
        optimizer,
        name or "Distributed" + type(optimizer).__name__,
        functools.partial(_average, compression=compression, sparse_as_dense=sparse_as_dense),
    )


def check_options(backward_passes_per_step: int, op: int, others: Dict[str, Any]) -> None:
    """Refuse what has no counterpart on the NPU."""
    if backward_passes_per_step != 1:
        raise ValueError(
            "backward_passes_per_step other than 1 has no counterpart on the NPU: accumulate the "
            "gradients in the script"
        )
    if op != Average:
        raise ValueError("only op=Average has a counterpart on the NPU")
    unknown = sorted(key for key, value in others.items() if value and value != 1.0)
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: no counterpart on the NPU")


def _average(gradient: Gradient, compression: Type[Compressor], sparse_as_dense: bool) -> Gradient:
    if sparse_as_dense:
        gradient = tf.convert_to_tensor(gradient)
    return allreduce(gradient, compression=compression)
