"""Horovod's API for `tf.keras` over the engines of `ops_adapter`.

A script that imports `horovod.tensorflow.keras as hvd` keeps working when it imports this module
under that name. What `allreduce` and the like get are values, and so is what they return.

Source of names and meaning: Horovod 0.28, `horovod.tensorflow.keras`.
"""

from typing import Any, Dict, Optional, Sequence, Type

import tensorflow.compat.v1 as tf
from tensorflow.python.keras import backend

from npu_migrate.runtime import ops_adapter
from npu_migrate.runtime.keras_optimizer import npu_distributed_optimizer_wrapper
from npu_migrate.runtime.ops_adapter import (
    Average,
    Compression,
    Sum,
    ccl_built,
    cross_rank,
    cross_size,
    cuda_built,
    ddl_built,
    gloo_built,
    gloo_enabled,
    init,
    is_initialized,
    local_rank,
    local_size,
    mpi_built,
    mpi_enabled,
    mpi_threads_supported,
    nccl_built,
    rank,
    rocm_built,
    shutdown,
    size,
)
from npu_migrate.runtime.ops_adapter.compression import Compressor
from npu_migrate.runtime.ops_adapter.keras import callbacks
from npu_migrate.runtime.ops_adapter.optimizer import check_options

__all__ = [
    "Average",
    "Compression",
    "DistributedOptimizer",
    "Sum",
    "allgather",
    "allreduce",
    "broadcast",
    "broadcast_global_variables",
    "callbacks",
    "ccl_built",
    "cross_rank",
    "cross_size",
    "cuda_built",
    "ddl_built",
    "gloo_built",
    "gloo_enabled",
    "init",
    "is_initialized",
    "load_model",
    "local_rank",
    "local_size",
    "mpi_built",
    "mpi_enabled",
    "mpi_threads_supported",
    "nccl_built",
    "rank",
    "rocm_built",
    "shutdown",
    "size",
]


def DistributedOptimizer(  # noqa: N802  Horovod's name
    optimizer: Any,
    name: Optional[str] = None,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Type[Compressor] = Compression.none,
    sparse_as_dense: bool = False,
    backward_passes_per_step: int = 1,
    op: int = Average,
    **others: Any,
) -> Any:
    """The same Keras optimizer, which now averages its gradients over the ranks.

    Args:
      optimizer: a `tf.keras.optimizers` optimizer.
      name: ignored.
      device_dense: ignored.
      device_sparse: ignored.
      compression: ignored: gradients travel as they are.
      sparse_as_dense: ignored.
      backward_passes_per_step: only 1.
      op: only `Average`.
      **others: Horovod's further arguments, only with a false value.

    Raises:
      ValueError: an argument that has no counterpart on the NPU.
    """
    del name, device_dense, device_sparse, compression, sparse_as_dense
    check_options(backward_passes_per_step, op, others)
    return npu_distributed_optimizer_wrapper(optimizer)


def load_model(
    filepath: str,
    custom_optimizers: Optional[Sequence[Any]] = None,
    custom_objects: Optional[Dict[str, Any]] = None,
    compression: Type[Compressor] = Compression.none,
) -> Any:
    """A saved Keras model whose optimizer averages its gradients over the ranks."""
    del compression
    known = {each.__name__: each for each in custom_optimizers or ()}
    model = tf.keras.models.load_model(filepath, custom_objects={**known, **(custom_objects or {})})
    if getattr(model, "optimizer", None) is not None:
        npu_distributed_optimizer_wrapper(model.optimizer)
    return model


def allreduce(value: Any, name: Optional[str] = None, average: bool = True, **options: Any) -> Any:
    """The mean (or sum) of a value over the ranks."""
    options.setdefault("op", Average if average else Sum)
    return _run(ops_adapter.allreduce(tf.constant(value, name=name), **options))


def allgather(value: Any, name: Optional[str] = None) -> Any:
    """The values of all ranks, one after the other."""
    return _run(ops_adapter.allgather(tf.constant(value, name=name)))


def broadcast(value: Any, root_rank: int, name: Optional[str] = None) -> Any:
    """The value of one rank."""
    return _run(ops_adapter.broadcast(tf.constant(value, name=name), root_rank))


def broadcast_global_variables(root_rank: int) -> Any:
    """Gives all ranks the variables of one."""
    return _run(ops_adapter.broadcast_global_variables(root_rank))


def _run(operation: Any) -> Any:
    return backend.get_session().run(operation)
