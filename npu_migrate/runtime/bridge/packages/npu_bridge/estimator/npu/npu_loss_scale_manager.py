"""Stand-in for the vendor's module of this name."""

from npu_migrate.runtime.managers import (
    ExponentialUpdateLossScaleManager,
    FixedLossScaleManager,
)

__all__ = ["ExponentialUpdateLossScaleManager", "FixedLossScaleManager"]
