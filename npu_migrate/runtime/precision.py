"""The precision in which the NPU computes, as sessions and Estimators are configured."""

import os
from typing import Any, Optional

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

from npu_migrate.precision_modes import MIXED_FLOAT16, parameter_of

_PARAMETERS = ("precision_mode", "precision_mode_v2")
_VARIABLES = (
    "TF_ENABLE_AUTO_MIXED_PRECISION",
    "TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE",
)


def set_precision_mode(config: Any, mode: Optional[str] = None) -> Any:
    """Says in which precision the NPU computes.

    Args:
      config: a `ConfigProto`, or a `RunConfig` of an Estimator; changed.
      mode: a value of the vendor's `precision_mode_v2` or `precision_mode`. Without it
        `mixed_float16`, where the script has switched TensorFlow's automatic mixed precision on: in
        the environment, in `config`, or by `tf.config.optimizer.set_experimental_options`.

    Returns:
      `config`.

    Raises:
      ValueError: a mode that the NPU does not know.
    """
    run_config = None if isinstance(config, config_pb2.ConfigProto) else config
    session_config = config if run_config is None else run_config.session_config
    if mode is None and _is_switched_on(session_config):
        mode = MIXED_FLOAT16
    if mode is None:
        return config
    parameter = parameter_of(mode)
    if run_config is None:
        _set_in_session(session_config, parameter, mode)
    elif all(hasattr(run_config, name) for name in _PARAMETERS):
        _set_in_npu_run_config(run_config, parameter, mode)
    else:
        if session_config is None:
            session_config = config_pb2.ConfigProto()
            run_config.__dict__["_session_config"] = session_config
        _set_in_session(session_config, parameter, mode)
    return config


def _set_in_session(config: config_pb2.ConfigProto, parameter: str, mode: str) -> None:
    parameters = _npu_optimizer(config).parameter_map
    for other in _PARAMETERS:
        parameters.pop(other, None)
    parameters[parameter].s = mode.encode("ascii")


def _npu_optimizer(config: config_pb2.ConfigProto) -> Any:
    """The `NpuOptimizer` of a session's configuration, added where it has none."""
    optimizers = config.graph_options.rewrite_options.custom_optimizers
    for optimizer in optimizers:
        if optimizer.name == "NpuOptimizer":
            return optimizer
    added = optimizers.add()
    added.name = "NpuOptimizer"
    return added


def _set_in_npu_run_config(run_config: Any, parameter: str, mode: str) -> None:
    """The vendor's `NPURunConfig` keeps the options of the NPU beside the session's."""
    for other in _PARAMETERS:
        setattr(run_config, other, mode if other == parameter else None)


def _is_switched_on(session_config: Optional[config_pb2.ConfigProto]) -> bool:
    options = tf.config.optimizer.get_experimental_options()
    if options.get("auto_mixed_precision"):
        return True
    if any(os.environ.get(name, "").lower() in ("1", "true") for name in _VARIABLES):
        return True
    if session_config is None:
        return False
    toggle = session_config.graph_options.rewrite_options.auto_mixed_precision
    return toggle in (RewriterConfig.ON, RewriterConfig.AGGRESSIVE)
