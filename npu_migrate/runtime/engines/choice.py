"""Chooses the engine, by how many processes there are and what the machine has."""

import functools
import os
from typing import Type

from npu_migrate.launch.environment import current_ranks, launcher_ranks
from npu_migrate.runtime import vendor
from npu_migrate.runtime.engines.hccl import HcclEngine
from npu_migrate.runtime.engines.horovod import HorovodEngine
from npu_migrate.runtime.engines.interface import Engine
from npu_migrate.runtime.engines.single_process import SingleProcessEngine


def current_engine() -> Engine:
    """The engine of this process, as the environment stands now.

    Raises:
      RankEnvironmentError: the environment contradicts itself.
      RuntimeError: it speaks of several processes, but nothing here connects them.
      ImportError: Horovod is needed and not installed.
    """
    size = current_ranks().size
    if size == 1:
        return _only(SingleProcessEngine)
    if vendor.has_vendor_bridge():
        return _only(HcclEngine)
    if launcher_ranks(os.environ) is None:
        raise RuntimeError(
            f"RANK_SIZE or CM_WORKER_SIZE speaks of {size} processes, but this machine has no NPU "
            f"and no launcher started them: start the script with npu-run -np {size}, or unset it"
        )
    return _only(HorovodEngine)


@functools.lru_cache(maxsize=None)
def _only(kind: Type[Engine]) -> Engine:
    return kind()
