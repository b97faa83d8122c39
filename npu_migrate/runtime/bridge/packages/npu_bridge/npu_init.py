"""Stand-in for the vendor's module of this name: everything a script needs, in one import.

Like the vendor's it has no `__all__`: `import *` brings every public name, the imported ones too.
"""

# ruff: noqa: F401

import os
from typing import Any, List, Tuple

import tensorflow as tf
from hccl.manage.api import (
    create_group,
    destroy_group,
    get_local_rank_id,
    get_local_rank_size,
    get_rank_id,
    get_rank_size,
)
from hccl.split.api import set_split_strategy_by_idx, set_split_strategy_by_size
from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig
from tensorflow.python.client import session
from tensorflow.python.keras import backend
from tensorflow.python.training import session_run_hook

from npu_bridge.estimator import npu_ops
from npu_bridge.estimator.npu import keras_to_npu, npu_scope, npu_strategy, util
from npu_bridge.estimator.npu.npu_callbacks import NPUBroadcastGlobalVariablesCallback
from npu_bridge.estimator.npu.npu_config import (
    DumpConfig,
    DynamicInputConfig,
    MemoryConfig,
    NPURunConfig,
    ProfilingConfig,
)
from npu_bridge.estimator.npu.npu_estimator import NPUEstimator, NPUEstimatorSpec
from npu_bridge.estimator.npu.npu_hook import (
    NPUBroadcastGlobalVariablesHook,
    NPUCheckpointSaverHook,
    NPUOutputTensorHook,
)
from npu_bridge.estimator.npu.npu_loss_scale_manager import (
    ExponentialUpdateLossScaleManager,
    FixedLossScaleManager,
)
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import (
    KerasDistributeOptimizer,
    NPUDistributedOptimizer,
    NPUOptimizer,
    npu_allreduce,
    npu_distributed_optimizer_wrapper,
)
from npu_bridge.estimator.npu_unary_ops import npu_unary_ops
from npu_bridge.hccl import hccl_ops


def npu_hooks_append(hooks_list: Any = ()) -> List[Any]:
    """The list of hooks with one more, that broadcasts rank 0's variables; of a tuple a new one."""
    hooks = hooks_list if isinstance(hooks_list, list) else []
    hooks.append(NPUBroadcastGlobalVariablesHook(0, int(os.getenv("RANK_ID", "0"))))
    return hooks


def npu_callbacks_append(callbacks_list: Any = ()) -> List[Any]:
    """The list of Keras callbacks with one that broadcasts the variables of rank 0."""
    callbacks = callbacks_list if isinstance(callbacks_list, list) else []
    callbacks.append(NPUBroadcastGlobalVariablesCallback(0))
    return callbacks


def npu_config_proto(
    config_proto: Any = None,
) -> config_pb2.ConfigProto:
    """A session configuration that runs on the NPU, and on a CPU where there is none.

    Args:
      config_proto: changed and returned; by default a new one.
    """
    is_given = isinstance(config_proto, config_pb2.ConfigProto)
    config = config_proto if is_given else config_pb2.ConfigProto()
    rewrite = config.graph_options.rewrite_options
    if all(optimizer.name != "NpuOptimizer" for optimizer in rewrite.custom_optimizers):
        rewrite.custom_optimizers.add().name = "NpuOptimizer"
        rewrite.memory_optimization = RewriterConfig.OFF
    rewrite.remapping = RewriterConfig.OFF
    config.allow_soft_placement = True
    config.log_device_placement = False
    npu_optimizer_options(config.graph_options.optimizer_options)
    return config


def npu_graph_options(
    graph_options: Any = None,
) -> config_pb2.GraphOptions:
    """Graph options with XLA's compiler off."""
    is_given = isinstance(graph_options, config_pb2.GraphOptions)
    options = graph_options if is_given else config_pb2.GraphOptions()
    npu_optimizer_options(options.optimizer_options)
    return options


def npu_optimizer_options(optimizer_options: Any = None) -> config_pb2.OptimizerOptions:
    """Optimizer options with XLA's compiler off."""
    is_given = isinstance(optimizer_options, config_pb2.OptimizerOptions)
    options = optimizer_options if is_given else config_pb2.OptimizerOptions()
    options.global_jit_level = config_pb2.OptimizerOptions.OFF
    return options


def npu_run_config_init(run_config: Any = None) -> tf.estimator.RunConfig:
    """An Estimator configuration whose sessions run on the NPU.

    Args:
      run_config: changed and returned; by default a new one.
    """
    is_given = isinstance(run_config, tf.estimator.RunConfig)
    config = run_config if is_given else tf.estimator.RunConfig()
    config.__dict__["_session_config"] = npu_config_proto(config.session_config)
    return config


def set_keras_session_npu_config(
    config: Any = None,
) -> session.Session:
    """Makes Keras use a new session that runs on the NPU, and returns it."""
    keras_session = session.Session(config=npu_config_proto(config))
    backend.set_session(keras_session)
    return keras_session


def npu_clear_session(config: Any = None) -> None:
    """Clears Keras's session and gives it a new one that runs on the NPU."""
    backend.clear_session()
    set_keras_session_npu_config(config)


def init_resource(
    config: Any = None,
) -> Tuple[session.Session, tf.Operation]:
    """Joins the other ranks, after which the `get_npu_...` functions know theirs.

    Returns:
      A session, and the operation to hand to `shutdown_resource`.
    """
    util.global_dict_init()
    initialize = npu_ops.initialize_system()
    shutdown = npu_ops.shutdown_system()
    npu_session = session.Session(config=npu_config_proto(config))
    npu_session.run(initialize)
    util.set_value("npu_rank_id", get_rank_id())
    util.set_value("npu_local_rank_id", get_local_rank_id())
    util.set_value("npu_rank_size", get_rank_size())
    util.set_value("npu_local_rank_size", get_local_rank_size())
    return npu_session, shutdown


def shutdown_resource(sess: session.Session, npu_shutdown: tf.Operation) -> None:
    """Leaves the other ranks."""
    sess.run(npu_shutdown)


def close_session(sess: session.Session) -> None:
    """Closes a session."""
    sess.close()


def get_npu_rank_id() -> int:
    """Number of this process among all; 0 before `init_resource`."""
    return util.get_value("npu_rank_id", 0)


def get_npu_local_rank_id() -> int:
    """Number of this process on this machine; 0 before `init_resource`."""
    return util.get_value("npu_local_rank_id", 0)


def get_npu_rank_size() -> int:
    """How many processes train together; 1 before `init_resource`."""
    return util.get_value("npu_rank_size", 1)


def get_npu_local_rank_size() -> int:
    """How many of them run on this machine; 1 before `init_resource`."""
    return util.get_value("npu_local_rank_size", 1)


class NpuEmptyHook(session_run_hook.SessionRunHook):
    """A hook that does nothing, for ranks that need none."""


def npu_keras_optimizer(opt: Any) -> KerasDistributeOptimizer:
    """A Keras optimizer that averages gradients over the ranks."""
    return KerasDistributeOptimizer(opt)


def npu_tf_optimizer(opt: Any) -> NPUDistributedOptimizer:
    """A `tf.train` optimizer that averages gradients over the ranks."""
    return NPUDistributedOptimizer(opt)
