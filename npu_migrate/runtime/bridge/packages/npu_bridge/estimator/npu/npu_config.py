"""Stand-in for the vendor's module of this name: configuration of Estimators and of the NPU."""

from enum import Enum
from typing import Any

import tensorflow.compat.v1 as tf

#: Options of the vendor's RunConfig that only an NPU understands: accepted, kept, without effect.
_NPU_OPTIONS = {
    "profiling_config": None,
    "enable_data_pre_proc": True,
    "precision_mode": None,
    "enable_reduce_precision": False,
    "variable_format_optimize": None,
    "mix_compile_mode": False,
    "hcom_parallel": True,
    "graph_memory_max_size": None,
    "variable_memory_max_size": None,
    "dump_config": None,
    "stream_max_parallel_num": None,
    "is_tailing_optimization": False,
    "horovod_mode": False,
    "graph_run_mode": 1,
    "op_debug_level": None,
    "enable_scope_fusion_passes": None,
    "enable_exception_dump": 2,
    "op_select_implmode": None,
    "optypelist_for_implmode": None,
    "dynamic_input_config": None,
    "aoe_mode": None,
    "work_path": None,
    "buffer_optimize": "l2_optimize",
    "enable_small_channel": 0,
    "fusion_switch_file": None,
    "enable_compress_weight": False,
    "compress_weight_conf": None,
    "op_compiler_cache_mode": None,
    "op_compiler_cache_dir": None,
    "debug_dir": None,
    "hcom_multi_mode": False,
    "dynamic_input": None,
    "dynamic_graph_execute_mode": "dynamic_execute",
    "dynamic_inputs_shape_range": None,
    "local_rank_id": None,
    "local_device_list": None,
    "session_device_id": None,
    "distribute_config": None,
    "modify_mixlist": None,
    "op_precision_mode": None,
    "device_type": "default_device_type",
    "soc_config": None,
    "hccl_timeout": None,
    "op_wait_timeout": None,
    "op_execute_timeout": None,
    "HCCL_algorithm": None,
    "customize_dtypes": None,
    "op_debug_config": None,
    "memory_config": None,
    "experimental_config": None,
    "topo_sorting_mode": None,
    "aoe_config_file": None,
    "insert_op_file": None,
    "stream_sync_timeout": -1,
    "event_sync_timeout": -1,
    "external_weight": False,
    "deterministic": 0,
    "frozen_variable": False,
    "variable_placement": "Device",
    "jit_compile": "auto",
    "precision_mode_v2": None,
    "ac_parallel_enable": None,
    "quant_dumpable": None,
    "input_fusion_size": 131072,
    "compile_dynamic_mode": None,
    "graph_max_parallel_model_num": 1,
    "export_compile_stat": 1,
    "aicore_num": None,
    "oo_constant_folding": True,
    "input_batch_cpy": False,
    "shape_generalization_mode": "STRICT",
    "all_tensor_not_empty": False,
    "auto_multistream_parallel_mode": None,
    "oo_level": "O3",
    "optimization_switch": None,
}


class NPURunConfig(tf.estimator.RunConfig):
    """Configuration of an `NPUEstimator`; see `tf.estimator.RunConfig`.

    Args:
      iterations_per_loop: how many steps the NPU trains in each `session.run`; here always one.
      distribute: a parameter server strategy; not here.
      **npu_options: what only an NPU understands, each kept as an attribute of its name.

    Raises:
      TypeError: an option that the vendor's class does not have.
      ValueError: a value that the vendor's class refuses.
    """

    def __init__(
        self,
        iterations_per_loop: int = 1,
        profiling_config: Any = None,
        model_dir: Any = None,
        tf_random_seed: Any = None,
        save_summary_steps: int = 0,
        save_checkpoints_steps: Any = None,
        save_checkpoints_secs: Any = None,
        session_config: Any = None,
        keep_checkpoint_max: int = 5,
        keep_checkpoint_every_n_hours: int = 10000,
        log_step_count_steps: int = 100,
        distribute: Any = None,
        train_distribute: Any = None,
        eval_distribute: Any = None,
        **npu_options: Any,
    ):
        unknown = sorted(set(npu_options) - set(_NPU_OPTIONS))
        if unknown:
            raise TypeError(f"NPURunConfig has no option {', '.join(unknown)}")
        if not isinstance(iterations_per_loop, int):
            raise TypeError("iterations_per_loop must be int")
        if iterations_per_loop < 1:
            raise ValueError(f"iterations_per_loop must be positive, not {iterations_per_loop}")
        if npu_options.get("mix_compile_mode") and iterations_per_loop != 1:
            raise ValueError("mix_compile_mode needs iterations_per_loop=1")
        if distribute is not None:
            raise ValueError("distribute: parameter servers are not part of the stand-in")
        if save_checkpoints_steps is None and save_checkpoints_secs is None:
            save_checkpoints_steps = 100
        self.iterations_per_loop = iterations_per_loop
        options = dict(_NPU_OPTIONS, profiling_config=profiling_config, **npu_options)
        for name, value in options.items():
            setattr(self, name, value)
        super().__init__(
            model_dir=model_dir,
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            save_checkpoints_steps=save_checkpoints_steps,
            save_checkpoints_secs=save_checkpoints_secs,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            train_distribute=train_distribute,
            eval_distribute=eval_distribute,
        )


class _Options:
    """Options that only an NPU understands, kept as they are."""

    def __init__(self, *args: Any, **kwargs: Any):
        self.args = args
        self.kwargs = kwargs


class ProfilingConfig(_Options):
    """What the NPU measures."""


class DumpConfig(_Options):
    """What the NPU writes out for debugging."""


class MemoryConfig(_Options):
    """How the NPU uses its memory."""


class ExperimentalConfig(_Options):
    """What the vendor tries out."""


class GraphMemoryOptimizeConfig(_Options):
    """How the NPU saves memory."""


class DynamicInputConfig(_Options):
    """Which shapes the inputs may have."""


class NpuExecutePlacement(Enum):
    """Where an operation may run on an NPU."""

    ALL = "all"
    CUBE = "cube"
    VECTOR = "vector"
    TAISHAN = "taishan"
    DVPP = "dvpp"
    HOST = "host"
