"""What migrated scripts run on: loss scaling, overflow detection and collectives.

Needs TensorFlow 1.15. On a machine without NPU, `install_bridge()` makes the vendor's packages
`npu_bridge` and `hccl` importable, so that a migrated script runs there too.
"""

from npu_migrate.runtime.tensorflow_version import require_tensorflow_1_15

require_tensorflow_1_15()

from npu_migrate.runtime import ops_adapter  # noqa: E402
from npu_migrate.runtime.bridge.install import install_bridge  # noqa: E402
from npu_migrate.runtime.distributed_optimizer import NPUDistributedOptimizer  # noqa: E402
from npu_migrate.runtime.dynamic_loss_scale import (  # noqa: E402
    DynamicLossScaleManager,
    StaticLossScaleManager,
)
from npu_migrate.runtime.global_norm import grad_global_norm  # noqa: E402
from npu_migrate.runtime.keras_optimizer import (  # noqa: E402
    KerasDistributeOptimizer,
    npu_distributed_optimizer_wrapper,
)
from npu_migrate.runtime.loss_scale_optimizer import NPULossScaleOptimizer  # noqa: E402
from npu_migrate.runtime.managers import (  # noqa: E402
    ExponentialUpdateLossScaleManager,
    FixedLossScaleManager,
)
from npu_migrate.runtime.mixed_precision_trainer import MixedPrecisionTrainer  # noqa: E402
from npu_migrate.runtime.npu_optimizer import NPUOptimizer  # noqa: E402
from npu_migrate.runtime.overflow import GradientFiniteness, NpuFloatStatus  # noqa: E402
from npu_migrate.runtime.precision import set_precision_mode  # noqa: E402

__all__ = [
    "DynamicLossScaleManager",
    "ExponentialUpdateLossScaleManager",
    "FixedLossScaleManager",
    "GradientFiniteness",
    "KerasDistributeOptimizer",
    "MixedPrecisionTrainer",
    "NPUDistributedOptimizer",
    "NPULossScaleOptimizer",
    "NPUOptimizer",
    "NpuFloatStatus",
    "StaticLossScaleManager",
    "grad_global_norm",
    "install_bridge",
    "npu_distributed_optimizer_wrapper",
    "ops_adapter",
    "set_precision_mode",
]
