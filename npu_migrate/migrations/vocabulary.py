"""The qualified names that the migrations reason about, by what they are."""

CONTRIB = "tensorflow.contrib.mixed_precision."
EXPERIMENTAL = "tensorflow.train.experimental."
BRIDGE = "npu_bridge.estimator.npu."
HOROVOD = "horovod.tensorflow"
HOROVOD_NAMES = ("hvd", "horovod")
"""What parameters are called that take Horovod."""
LIBRARIES = {"horovod": "Horovod", "byteps": "BytePS"}
"""Packages whose `tensorflow` module has Horovod's API, and what they are called."""
OTHER_FRAMEWORKS = frozenset(("torch", "mxnet"))
"""Modules of these packages that do not concern TensorFlow."""
ADAPTER = "npu_migrate.runtime.ops_adapter"

CONTRIB_OPTIMIZER = CONTRIB + "LossScaleOptimizer"
EXPERIMENTAL_OPTIMIZER = EXPERIMENTAL + "MixedPrecisionLossScaleOptimizer"
GRAPH_REWRITE = EXPERIMENTAL + "enable_mixed_precision_graph_rewrite"
LOSS_SCALE_OPTIMIZER = BRIDGE + "npu_loss_scale_optimizer.NPULossScaleOptimizer"
COMBINED_OPTIMIZER = BRIDGE + "npu_optimizer.NPUOptimizer"
NPU_SCALED = frozenset((LOSS_SCALE_OPTIMIZER, COMBINED_OPTIMIZER))
TO_MIGRATE = frozenset((CONTRIB_OPTIMIZER, EXPERIMENTAL_OPTIMIZER, GRAPH_REWRITE))
SCALED = TO_MIGRATE | NPU_SCALED
"""What makes an optimizer that scales the loss; the optimizer inside is the first argument."""

SCALED_BY_OBJECT = frozenset((EXPERIMENTAL_OPTIMIZER, GRAPH_REWRITE))
"""What takes a loss-scale object, whose variable is not called ``loss_scale``."""

CONTRIB_FIXED_MANAGER = CONTRIB + "FixedLossScaleManager"
CONTRIB_EXPONENTIAL_MANAGER = CONTRIB + "ExponentialUpdateLossScaleManager"
SAME_NAME = frozenset((CONTRIB_FIXED_MANAGER, CONTRIB_EXPONENTIAL_MANAGER))
"""Classes whose counterparts on the NPU are called the same."""

FIXED_MANAGER = BRIDGE + "npu_loss_scale_manager.FixedLossScaleManager"
EXPONENTIAL_MANAGER = BRIDGE + "npu_loss_scale_manager.ExponentialUpdateLossScaleManager"
CONTRIB_OFFERED = (
    "LossScaleManager",
    "FixedLossScaleManager",
    "ExponentialUpdateLossScaleManager",
    "LossScaleOptimizer",
)
"""What a star import of ``tensorflow.contrib.mixed_precision`` binds."""

FIXED_LOSS_SCALE = EXPERIMENTAL + "FixedLossScale"
DYNAMIC_LOSS_SCALE = EXPERIMENTAL + "DynamicLossScale"
LOSS_SCALES = frozenset((FIXED_LOSS_SCALE, DYNAMIC_LOSS_SCALE))

HOROVOD_OPTIMIZER = HOROVOD + ".DistributedOptimizer"
HOROVOD_OPTIMIZERS = (HOROVOD_OPTIMIZER, ADAPTER + ".DistributedOptimizer")
DISTRIBUTED_OPTIMIZER = BRIDGE + "npu_optimizer.NPUDistributedOptimizer"
DISTRIBUTED = frozenset(
    (
        *HOROVOD_OPTIMIZERS,
        DISTRIBUTED_OPTIMIZER,
        BRIDGE + "npu_optimizer.npu_distributed_optimizer_wrapper",
    )
)
"""What makes an optimizer that averages gradients over ranks; the inner one comes first."""

EAGER_SWITCHES = frozenset(
    "tensorflow." + name for name in ("enable_eager_execution", "enable_v2_behavior")
)
"""What makes a whole program run eagerly."""

EAGERLY = frozenset(("tensorflow.executing_eagerly",))
"""Questions that are always answered with no, since the NPU runs graphs."""

ALLREDUCES = frozenset(
    (
        *(m + name for m in (HOROVOD, ADAPTER) for name in (".allreduce", ".grouped_allreduce")),
        "npu_bridge.hccl.hccl_ops.allreduce",
        BRIDGE + "npu_optimizer.npu_allreduce",
    )
)
"""What reduces tensors over ranks."""

CROSS_SHARD = frozenset(
    ("tensorflow.contrib.tpu.CrossShardOptimizer", "tensorflow.tpu.CrossShardOptimizer")
)

RANK_COUNT = frozenset(
    (
        HOROVOD + ".size",
        ADAPTER + ".size",
        BRIDGE + "util.get_ranksize",
        "npu_bridge.npu_init.get_npu_rank_size",
        "hccl.manage.api.get_rank_size",
    )
)

RANK_QUESTIONS = {
    "hccl.manage.api.get_rank_id": "rank",
    "hccl.manage.api.get_rank_size": "size",
    "hccl.manage.api.get_local_rank_id": "local_rank",
    "hccl.manage.api.get_local_rank_size": "local_size",
    "npu_bridge.npu_init.get_npu_rank_id": "rank",
    "npu_bridge.npu_init.get_npu_rank_size": "size",
    "npu_bridge.npu_init.get_npu_local_rank_id": "local_rank",
    "npu_bridge.npu_init.get_npu_local_rank_size": "local_size",
}
"""What asks HCCL, and the function of ``ops_adapter`` that asks the environment."""

SESSIONS = frozenset(("tensorflow.Session", "tensorflow.InteractiveSession"))
SET_PRECISION_MODE = "npu_migrate.runtime.set_precision_mode"

STRATEGY = BRIDGE + "npu_strategy.NPUStrategy"
BROADCAST_HOOK = BRIDGE + "npu_hook.NPUBroadcastGlobalVariablesHook"

RUN_CONFIG_INIT = "npu_bridge.npu_init.npu_run_config_init"
CONFIG_PROTO = "npu_bridge.npu_init.npu_config_proto"
NPU_RUN_CONFIG = BRIDGE + "npu_config.NPURunConfig"
NPU_ESTIMATOR = BRIDGE + "npu_estimator.NPUEstimator"
KERAS_SESSION = "npu_bridge.npu_init.set_keras_session_npu_config"
KERAS_SESSIONS = frozenset((KERAS_SESSION, "tensorflow.keras.backend.set_session"))
"""What gives Keras the session that it runs in."""
CLOSE_SESSION = "npu_bridge.npu_init.close_session"
MODEL_TO_ESTIMATOR = "tensorflow.keras.estimator.model_to_estimator"
MODEL_TO_NPU_ESTIMATOR = BRIDGE + "keras_to_npu.model_to_npu_estimator"

TENSORFLOW = ("tensorflow", "tensorflow.compat.v1")
"""The modules that have all of the API that new code uses."""

TRAIN_OPTIMIZERS = ("tensorflow.train.", "tensorflow.contrib.")


def is_optimizer(name: str) -> bool:
    """Whether a qualified name is a class of optimizers that TensorFlow 1 trains with."""
    return name.startswith(TRAIN_OPTIMIZERS) and name.endswith("Optimizer")


TRAINING_FUNCTIONS = {
    "tensorflow.contrib.training.create_train_op": (1, "optimizer"),
    "tensorflow.contrib.slim.learning.create_train_op": (1, "optimizer"),
    "tensorflow.contrib.layers.optimize_loss": (3, "optimizer"),
}
"""Functions that give a training op, and where they take the optimizer that they train with."""


KERAS_OPTIMIZERS = ("tensorflow.keras.optimizers.", "tensorflow.keras.optimizer_v2.")


def is_keras_optimizer(name: str) -> bool:
    """Whether a qualified name is a class of Keras' optimizers, or a function that gives one."""
    return name.startswith(KERAS_OPTIMIZERS)


GRADIENTS = "tensorflow.gradients"
STEP_GETTERS = frozenset(
    "tensorflow.train." + name
    for name in ("get_global_step", "get_or_create_global_step", "create_global_step")
)
VARIABLES = frozenset(("tensorflow.Variable", "tensorflow.get_variable"))
GROUP = "tensorflow.group"
COND = "tensorflow.cond"
CONDS = frozenset((COND, "tensorflow.case", "tensorflow.switch_case"))
CONTROL_DEPENDENCIES = "tensorflow.control_dependencies"
ASSIGN = "tensorflow.assign"
ASSIGN_ADD = "tensorflow.assign_add"
ASSIGNMENTS = frozenset(
    (
        ASSIGN,
        ASSIGN_ADD,
        "tensorflow.assign_sub",
        "tensorflow.scatter_add",
        "tensorflow.count_up_to",
    )
)
"""What writes the variable that is its first argument."""
IDENTITY = "tensorflow.identity"
GLOBAL_NORM = "tensorflow.global_norm"
NO_OP = "tensorflow.no_op"
FINITE_CHECKS = frozenset("tensorflow." + name for name in ("is_finite", "is_nan", "is_inf"))

ITERATORS = frozenset(
    (
        "builtins.zip",
        "builtins.map",
        "builtins.filter",
        "builtins.reversed",
        "builtins.iter",
        "builtins.enumerate",
        "itertools.chain",
        "itertools.starmap",
        "itertools.islice",
        "itertools.izip",
        "six.iteritems",
        "six.moves.zip",
        "six.moves.map",
        "six.moves.filter",
    )
)
"""What gives an iterator that is empty after one walk."""
