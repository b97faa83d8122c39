"""Stand-in for the vendor's module of this name."""

from npu_migrate.runtime.loss_scale_optimizer import NPULossScaleOptimizer

__all__ = ["NPULossScaleOptimizer"]
