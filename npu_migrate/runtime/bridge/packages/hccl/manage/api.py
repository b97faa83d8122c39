"""Stand-in for the vendor's module of this name: ranks and groups of ranks."""

from typing import List

from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.engines import WORLD
from npu_migrate.runtime.engines.interface import check_world


def get_rank_size(group: str = WORLD) -> int:
    """How many processes train together."""
    check_world(group)
    return current_ranks().size


def get_local_rank_size(group: str = WORLD) -> int:
    """How many of them run on this machine."""
    check_world(group)
    return current_ranks().local_size


def get_rank_id(group: str = WORLD) -> int:
    """Number of this process among them."""
    check_world(group)
    return current_ranks().rank


def get_local_rank_id(group: str = WORLD) -> int:
    """Number of this process among those of this machine."""
    check_world(group)
    return current_ranks().local_rank


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """Number among all of a process of the group."""
    check_world(group)
    return group_rank_id


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """Number in the group of a process."""
    check_world(group)
    return world_rank_id


def create_group(group: str, rank_num: int, rank_ids: List[int]) -> None:
    """Forms a group of ranks; here only the one of all exists.

    Raises:
      ValueError: a group of some ranks.
    """
    if sorted(rank_ids) != list(range(current_ranks().size)) or rank_num != len(rank_ids):
        check_world(group)


def destroy_group(group: str) -> None:
    """Dissolves a group; nothing to do."""
    del group
