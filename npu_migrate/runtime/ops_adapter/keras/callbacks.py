"""Horovod's callbacks for Keras.

Source of names and meaning: Horovod 0.28, `horovod.tensorflow.keras.callbacks`.
"""

from typing import Any, Callable, Dict, Optional, Union

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.keras import backend

from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.log import log
from npu_migrate.runtime.ops_adapter.collectives import allreduce
from npu_migrate.runtime.ops_adapter.variables import broadcast_variables

Logs = Optional[Dict[str, Any]]


class BroadcastGlobalVariablesCallback(tf.keras.callbacks.Callback):
    """Broadcasts the variables of Keras's session, after the first batch.

    Args:
      root_rank: whose values count.
      device: ignored.
    """

    def __init__(self, root_rank: int, device: str = ""):
        super().__init__()
        del device
        self._root_rank = root_rank
        self._done = False

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """See base class."""
        self.broadcast()

    def broadcast(self) -> None:
        """Broadcast them once."""
        if self._done:
            return
        self._done = True
        if current_ranks().size > 1:
            session = backend.get_session()  # initialises the variables
            variables = backend.get_graph().get_collection(tf.GraphKeys.GLOBAL_VARIABLES)
            variables = sorted(variables, key=lambda var: var.name)  # the same order on every rank
            ready = [var for var in variables if getattr(var, "_keras_initialized", False)]
            session.run(broadcast_variables(ready, self._root_rank))


class MetricAverageCallback(tf.keras.callbacks.Callback):
    """Averages what an epoch logs over the ranks; it stands before callbacks that read it."""

    def __init__(self, device: str = ""):
        super().__init__()
        del device
        self._values: Any = None
        self._mean: Any = None

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """See base class."""
        if not logs or current_ranks().size == 1:
            return
        names = sorted(logs)  # the same order on every rank
        if self._values is None:
            self._values = tf.placeholder(tf.float32, [None])
            self._mean = allreduce(self._values)
        local = np.array([logs[name] for name in names], np.float32)
        mean = backend.get_session().run(self._mean, {self._values: local})
        logs.update(zip(names, mean))


class LearningRateScheduleCallback(tf.keras.callbacks.Callback):
    """Multiplies the learning rate that training began with, from epoch to epoch or batch to batch.

    Args:
      initial_lr: what is multiplied; by default the rate of the optimizer.
      multiplier: a function of the epoch, or a number to whose power it decays.
      start_epoch: the first epoch in which the rate is set.
      end_epoch: the first in which it is no longer.
      staircase: whether it stays the same throughout an epoch.
      momentum_correction: whether the momentum of the batch in which the rate changes follows it.
      steps_per_epoch: by default those of the training.
    """

    def __init__(
        self,
        initial_lr: Optional[float] = None,
        multiplier: Union[float, Callable[[float], float]] = 1.0,
        start_epoch: int = 0,
        end_epoch: Optional[int] = None,
        staircase: bool = True,
        momentum_correction: bool = True,
        steps_per_epoch: Optional[int] = None,
    ):
        super().__init__()
        self.initial_lr = initial_lr
        self.start_epoch = start_epoch
        self.end_epoch = end_epoch
        self.staircase = staircase
        self.momentum_correction = momentum_correction
        self.steps_per_epoch = steps_per_epoch
        self.current_epoch = 0
        self._multiplier = multiplier
        self._momentum: Optional[float] = None

    def multiplier(self, epoch: float) -> float:
        """What the initial rate is multiplied by; an epoch may have begun in part."""
        if callable(self._multiplier):
            return self._multiplier(epoch)
        return self._multiplier ** (epoch - self.start_epoch)

    def on_train_begin(self, logs: Logs = None) -> None:
        """See base class."""
        if self.initial_lr is None:
            self.initial_lr = backend.get_value(self.model.optimizer.lr)
        if not self.staircase and not self.steps_per_epoch:
            self.steps_per_epoch = self._steps_of_training()

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """See base class."""
        self.current_epoch = epoch

    def on_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """See base class."""
        has_ended = self.end_epoch is not None and self.current_epoch >= self.end_epoch
        if self.current_epoch < self.start_epoch or has_ended:
            return
        if not self.staircase:
            assert self.steps_per_epoch is not None
            self._set_rate(self.current_epoch + batch / self.steps_per_epoch)
        elif batch == 0:
            self._set_rate(self.current_epoch)

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """See base class."""
        if self._momentum is not None:
            backend.set_value(self.model.optimizer.momentum, self._momentum)
            self._momentum = None

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """See base class."""
        if logs is not None:
            logs["lr"] = backend.get_value(self.model.optimizer.lr)

    def _set_rate(self, epoch: float) -> None:
        optimizer = self.model.optimizer
        assert self.initial_lr is not None
        before = backend.get_value(optimizer.lr)
        rate = self.initial_lr * self.multiplier(epoch)
        backend.set_value(optimizer.lr, rate)
        if self.momentum_correction and hasattr(optimizer, "momentum"):
            self._momentum = backend.get_value(optimizer.momentum)
            backend.set_value(optimizer.momentum, self._momentum * rate / before)

    def _steps_of_training(self) -> int:
        steps, samples = self.params.get("steps"), self.params.get("samples")
        if steps:
            return int(steps)
        if samples and self.params.get("batch_size"):
            return int(samples // self.params["batch_size"])
        raise ValueError(f"{type(self).__name__} needs steps_per_epoch")


class LearningRateWarmupCallback(LearningRateScheduleCallback):
    """Lets the rate grow from that of one rank to that of all, which is the initial one.

    Args:
      initial_lr: the rate that is reached; by default that of the optimizer.
      warmup_epochs: how many epochs it takes.
      momentum_correction: see `LearningRateScheduleCallback`.
      steps_per_epoch: see `LearningRateScheduleCallback`.
      verbose: whether rank 0 tells when it is reached.
    """

    def __init__(
        self,
        initial_lr: Optional[float] = None,
        warmup_epochs: int = 5,
        momentum_correction: bool = True,
        steps_per_epoch: Optional[int] = None,
        verbose: int = 0,
    ):
        super().__init__(
            initial_lr,
            end_epoch=warmup_epochs,
            staircase=False,
            momentum_correction=momentum_correction,
            steps_per_epoch=steps_per_epoch,
        )
        self.warmup_epochs = warmup_epochs
        self.verbose = verbose

    def multiplier(self, epoch: float) -> float:
        """See base class; an epoch counts as done once its last batch begins."""
        assert self.steps_per_epoch is not None
        share = (epoch + 1.0 / self.steps_per_epoch) / self.warmup_epochs
        ranks = current_ranks().size
        return (1 + share * (ranks - 1)) / ranks

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """See base class."""
        super().on_epoch_end(epoch, logs)
        if self.verbose and epoch == self.warmup_epochs - 1 and current_ranks().rank == 0:
            rate = backend.get_value(self.model.optimizer.lr)
            log.info("epoch %d: the learning rate has grown to %g", epoch + 1, rate)
