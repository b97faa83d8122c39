"""What carries tensors between the ranks: HCCL, Horovod, or nothing with one process."""

from npu_migrate.runtime.engines.choice import current_engine
from npu_migrate.runtime.engines.interface import WORLD, Engine

__all__ = ["Engine", "WORLD", "current_engine"]
