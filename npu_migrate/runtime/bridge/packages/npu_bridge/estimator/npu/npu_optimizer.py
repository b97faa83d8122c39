"""Stand-in for the vendor's module of this name."""

from npu_migrate.runtime.distributed_optimizer import NPUDistributedOptimizer
from npu_migrate.runtime.gradient_averaging import npu_allreduce
from npu_migrate.runtime.keras_optimizer import (
    KerasDistributeOptimizer,
    npu_distributed_optimizer_wrapper,
)
from npu_migrate.runtime.npu_optimizer import NPUOptimizer

__all__ = [
    "KerasDistributeOptimizer",
    "NPUDistributedOptimizer",
    "NPUOptimizer",
    "npu_allreduce",
    "npu_distributed_optimizer_wrapper",
]
