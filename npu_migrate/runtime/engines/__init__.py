"""What carries tensors between the ranks: HCCL, Horovod, or nothing with one process."""

from npu_migrate.runtime.engines.choice import engine
from npu_migrate.runtime.engines.engine import WORLD, Engine

__all__ = ["Engine", "WORLD", "engine"]
