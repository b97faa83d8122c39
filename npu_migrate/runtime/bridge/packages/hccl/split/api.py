"""Stand-in for the vendor's module of this name: how the NPU cuts gradients into messages."""

from typing import List

from npu_migrate.runtime.engines import WORLD


def set_split_strategy_by_idx(idxList: List[int], group: str = WORLD) -> None:  # noqa: N803
    """Cuts by gradient number; without effect here."""
    del idxList, group


def set_split_strategy_by_size(dataSizeList: List[int], group: str = WORLD) -> None:  # noqa: N803
    """Cuts by share of the data; without effect here."""
    del dataSizeList, group
