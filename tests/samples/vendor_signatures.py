"""Signatures of the vendor's package for TensorFlow 1.15, as its documentation has them.

A name without signature is a module or something that is not called.
"""

import inspect

_NPU = "npu_bridge.estimator.npu."
_INIT = "npu_bridge.npu_init."

_SIGNATURES = {
    _NPU + "npu_loss_scale_manager.FixedLossScaleManager": "loss_scale, enable_overflow_check=True",
    _NPU + "npu_loss_scale_manager.ExponentialUpdateLossScaleManager": (
        "init_loss_scale, incr_every_n_steps, decr_every_n_nan_or_inf=2, incr_ratio=2, "
        "decr_ratio=0.8"
    ),
    _NPU + "npu_loss_scale_optimizer.NPULossScaleOptimizer": (
        "opt, loss_scale_manager, is_distributed=False"
    ),
    _NPU + "npu_optimizer.NPUDistributedOptimizer": (
        "optimizer, is_weight_update_sharding=False, name=None"
    ),
    _NPU + "npu_optimizer.NPUOptimizer": (
        "opt, loss_scale_manager=None, is_distributed=False, is_loss_scale=False, "
        "is_tailing_optimization=False, name=None"
    ),
    _NPU + "npu_optimizer.KerasDistributeOptimizer": (
        "optimizer, name='NpuKerasOptimizer', **kwargs"
    ),
    _NPU + "npu_optimizer.npu_distributed_optimizer_wrapper": "optimizer",
    _NPU + "npu_optimizer.npu_allreduce": (
        "values, reduction='mean', fusion=1, fusion_id=-1, group='hccl_world_group'"
    ),
    _NPU + "npu_hook.NPUBroadcastGlobalVariablesHook": "root_rank=None, index=None",
    _NPU + "npu_callbacks.NPUBroadcastGlobalVariablesCallback": "root_rank",
    _NPU + "npu_strategy.NPUStrategy": "device='/cpu:0'",
    _NPU + "util.get_ranksize": "",
    "npu_bridge.estimator.npu_ops.dropout": "x, keep_prob, noise_shape=None, seed=None, name=None",
    "npu_bridge.estimator.npu_ops.initialize_system": "name=None",
    "npu_bridge.estimator.npu_ops.shutdown_system": "name=None",
    "npu_bridge.estimator.npu_unary_ops.npu_unary_ops.gelu": "x",
    _INIT + "npu_config_proto": "config_proto=None",
    _INIT + "npu_graph_options": "graph_options=None",
    _INIT + "npu_optimizer_options": "optimizer_options=None",
    _INIT + "npu_run_config_init": "run_config=None",
    _INIT + "npu_hooks_append": "hooks_list=()",
    _INIT + "npu_callbacks_append": "callbacks_list=()",
    _INIT + "set_keras_session_npu_config": "config=None",
    _INIT + "npu_clear_session": "config=None",
    _INIT + "init_resource": "config=None",
    _INIT + "shutdown_resource": "sess, shutdown",
    _INIT + "close_session": "sess",
    _INIT + "get_npu_rank_id": "",
    _INIT + "get_npu_local_rank_id": "",
    _INIT + "get_npu_rank_size": "",
    _INIT + "get_npu_local_rank_size": "",
}

UNCALLED = {
    "npu_bridge.estimator.npu_ops",
    "npu_bridge.estimator.npu_unary_ops.npu_unary_ops",
    "npu_bridge.estimator.npu.npu_convert_dropout",
    "npu_bridge.hccl.hccl_ops",
}


def signature(name):
    """The signature of a function or class, or None if the vendor has none of that name."""
    if name not in _SIGNATURES:
        return None
    scope = {}
    exec(f"def call({_SIGNATURES[name]}): pass", scope)
    return inspect.signature(scope["call"])
