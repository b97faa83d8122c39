"""The interface behind which overflows are detected."""

import abc
import contextlib
from typing import Any, ContextManager, List, Optional, Sequence, Tuple, Union

import tensorflow.compat.v1 as tf

Gradient = Union[tf.Tensor, tf.IndexedSlices, None]
GradsAndVars = List[Tuple[Gradient, Any]]


class OverflowSource(abc.ABC):
    """Where one loss-scaling optimizer learns that an overflow happened."""

    #: Whether this is a status register: ranks know only of their own overflows and must sum them,
    #: and a manager may say that it is not to be looked at.
    is_register = True

    @abc.abstractmethod
    def status(self, gradients: Sequence[Gradient]) -> tf.Tensor:
        """Reads, after all gradients, whether an overflow happened, and resets it.

        Args:
          gradients: dense, sparse or None.

        Returns:
          An int32 tensor of this process alone; all zero means that there was no overflow.
        """

    def observing(self) -> ContextManager[None]:
        """A context in which the gradients that this source judges are computed."""
        return contextlib.nullcontext()

    def as_computed(
        self, grads_and_vars: GradsAndVars, unscale: Optional[tf.Tensor] = None
    ) -> GradsAndVars:
        """The gradients as the device hands them on; only a simulated device changes them.

        Args:
          grads_and_vars: gradients fresh from back-propagation.
          unscale: the factor, a float32 scalar, by which they were multiplied since.
        """
        del unscale
        return grads_and_vars


def values_of(gradients: Sequence[Gradient]) -> List[tf.Tensor]:
    """The tensors that hold the numbers of the gradients that are not None."""
    return [
        gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
        for gradient in gradients
        if gradient is not None
    ]
