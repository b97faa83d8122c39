"""Stand-in for the vendor's module of this name: one device a process."""

from typing import Any

from tensorflow.python.distribute import distribute_lib, one_device_strategy

from npu_migrate.launch.environment import current_ranks


class NPUExtended(one_device_strategy.OneDeviceExtended):
    """What the strategy does."""

    @property
    def _num_replicas_in_sync(self) -> int:
        return current_ranks().size

    def _experimental_distribute_dataset(self, dataset: Any) -> Any:
        ranks = current_ranks()
        return dataset.shard(ranks.size, ranks.rank)


class NPUStrategy(distribute_lib.StrategyV1):
    """Trains on one device a process; each process reads its share of a dataset.

    Args:
      device: only "/cpu:0".

    Raises:
      ValueError: another device.
    """

    def __init__(self, device: str = "/cpu:0"):
        if device != "/cpu:0":
            raise ValueError('device can only be "/cpu:0"')
        super().__init__(NPUExtended(self, device))
