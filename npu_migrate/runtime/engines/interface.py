"""The interface of the engines."""

import abc
from typing import Optional, Tuple

import tensorflow.compat.v1 as tf

#: HCCL's name for the group of all ranks.
WORLD = "hccl_world_group"

REDUCTIONS = ("sum", "min", "max", "prod")


class Engine(abc.ABC):
    """Collective operations over all ranks. All ranks must build and run the same ones."""

    @abc.abstractmethod
    def init(self) -> None:
        """Joins the other ranks; again is harmless."""

    @abc.abstractmethod
    def shutdown(self) -> None:
        """Leaves them; without `init()` it is harmless."""

    @abc.abstractmethod
    def is_initialized(self) -> bool:
        """Whether `init()` ran, and `shutdown()` has not since."""

    @abc.abstractmethod
    def allreduce(
        self,
        tensor: tf.Tensor,
        reduction: str,
        group: str = WORLD,
        fusion: int = 1,
        fusion_id: int = -1,
    ) -> tf.Tensor:
        """Reduces a tensor elementwise over all ranks.

        Args:
          tensor: of the same shape and dtype on every rank.
          reduction: 'sum', 'min', 'max' or 'prod'.
          group: the ranks that take part.
          fusion: HCCL's: 0 keeps this reduction by itself.
          fusion_id: HCCL's.
        """

    @abc.abstractmethod
    def allgather(self, tensor: tf.Tensor, group: str = WORLD) -> tf.Tensor:
        """Concatenates the tensors of all ranks along their first dimension, in rank order."""

    @abc.abstractmethod
    def broadcast(self, tensor: tf.Tensor, root_rank: int, group: str = WORLD) -> tf.Tensor:
        """The tensor of the root rank."""

    @abc.abstractmethod
    def alltoall(
        self, tensor: tf.Tensor, splits: Optional[tf.Tensor]
    ) -> Tuple[tf.Tensor, tf.Tensor]:
        """Sends a piece of the first dimension to each rank.

        Args:
          tensor: what to divide.
          splits: int32 vector, how much each rank gets; None for equal parts.

        Returns:
          What this rank received, in rank order, and an int32 vector: how much from each.
        """


def check_reduction(reduction: str) -> None:
    """Raises ValueError for a reduction that HCCL does not know."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction {reduction!r} is none of {', '.join(REDUCTIONS)}")


def check_world(group: str) -> None:
    """Raises ValueError for a group that only HCCL could form."""
    if group != WORLD:
        raise ValueError(
            f"group {group!r}: off the NPU all ranks are in one group, {WORLD!r}; "
            "other groups work only on the NPU"
        )
