"""Stand-in for the vendor's module of this name: hooks for sessions and Estimators."""

from typing import Any, Callable, Dict, List, Optional

import tensorflow.compat.v1 as tf

from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.log import log
from npu_migrate.runtime.ops_adapter import BroadcastGlobalVariablesHook


class NPUBroadcastGlobalVariablesHook(BroadcastGlobalVariablesHook):
    """Broadcasts all global variables once, when the session has been made.

    Args:
      root_rank: whose values count.
      index: number of this process; not needed here.
    """

    def __init__(self, root_rank: Optional[int] = None, index: Optional[int] = None):
        super().__init__(root_rank or 0)
        if index is not None and index != current_ranks().rank:
            log.warning("index is %d, but this is rank %d", index, current_ranks().rank)


class NPUCheckpointSaverHook(tf.train.CheckpointSaverHook):
    """Saves checkpoints every so many steps or seconds."""


class NPUOutputTensorHook(tf.train.SessionRunHook):
    """Hands the values of tensors to a function, every so many steps and at the end.

    Args:
      tensors: dict from a tag to a tensor or its name; None for none.
      dependencies: operations that run before the tensors are read.
      output_fn: called with a list of dicts from tag to value, one a step since the last call.
      output_every_n_steps: how often it is called.
    """

    def __init__(
        self,
        tensors: Optional[Dict[str, Any]],
        dependencies: Any = None,
        output_fn: Optional[Callable[[List[Dict[str, Any]]], None]] = None,
        output_every_n_steps: int = 0,
    ):
        super().__init__()
        if tensors is not None and dependencies is not None:
            with tf.control_dependencies(tf.nest.flatten(dependencies)):
                tensors = {tag: tf.identity(tensor) for tag, tensor in tensors.items()}
        self._tensors = tensors
        self._output_fn = output_fn
        self._every = output_every_n_steps
        self._outputs: List[Dict[str, Any]] = []
        self._steps = 0

    def before_run(self, run_context: Any) -> Optional[tf.train.SessionRunArgs]:
        """See base class."""
        return None if self._tensors is None else tf.train.SessionRunArgs(self._tensors)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """See base class."""
        if self._tensors is not None:
            self._outputs.append(run_values.results)
        self._steps += 1
        if self._every and self._steps % self._every == 0:
            self._call()

    def end(self, session: tf.Session) -> None:
        """See base class."""
        if self._outputs:
            self._call()

    def _call(self) -> None:
        if self._output_fn is not None:
            self._output_fn(self._outputs)
        self._outputs = []


class SetIterationsVarHook(tf.train.SessionRunHook):
    """Sets how many steps the NPU trains in each `session.run`; here it is always one."""

    def __init__(self, iterations_per_loop: Optional[int] = None):
        super().__init__()
        del iterations_per_loop
