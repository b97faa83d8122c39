"""Horovod's TensorFlow API over HCCL on the NPU, over Horovod elsewhere, trivial on one process.

A script that imports `horovod.tensorflow as hvd` keeps working when it imports this module
under that name. `size()` and `rank()` read the environment and need no `init()`.

Source of names and meaning: Horovod 0.28, `horovod.tensorflow`.
"""

from npu_migrate.runtime.ops_adapter.build_questions import (
    ccl_built,
    cuda_built,
    ddl_built,
    gloo_built,
    gloo_enabled,
    mpi_built,
    mpi_enabled,
    mpi_threads_supported,
    nccl_built,
    rocm_built,
)
from npu_migrate.runtime.ops_adapter.collectives import (
    Adasum,
    Average,
    Max,
    Min,
    Product,
    Sum,
    allgather,
    allreduce,
    alltoall,
    broadcast,
    grouped_allreduce,
)
from npu_migrate.runtime.ops_adapter.compression import Compression
from npu_migrate.runtime.ops_adapter.optimizer import DistributedOptimizer
from npu_migrate.runtime.ops_adapter.ranks import (
    cross_rank,
    cross_size,
    init,
    is_homogeneous,
    is_initialized,
    local_rank,
    local_rank_op,
    local_size,
    local_size_op,
    rank,
    rank_op,
    shutdown,
    size,
    size_op,
)
from npu_migrate.runtime.ops_adapter.variables import (
    BroadcastGlobalVariablesHook,
    broadcast_global_variables,
    broadcast_variables,
)

__all__ = [
    "Adasum",
    "Average",
    "BroadcastGlobalVariablesHook",
    "Compression",
    "DistributedOptimizer",
    "Max",
    "Min",
    "Product",
    "Sum",
    "allgather",
    "allreduce",
    "alltoall",
    "broadcast",
    "broadcast_global_variables",
    "broadcast_variables",
    "ccl_built",
    "cross_rank",
    "cross_size",
    "cuda_built",
    "ddl_built",
    "gloo_built",
    "gloo_enabled",
    "grouped_allreduce",
    "init",
    "is_homogeneous",
    "is_initialized",
    "local_rank",
    "local_rank_op",
    "local_size",
    "local_size_op",
    "mpi_built",
    "mpi_enabled",
    "mpi_threads_supported",
    "nccl_built",
    "rank",
    "rank_op",
    "rocm_built",
    "shutdown",
    "size",
    "size_op",
]
