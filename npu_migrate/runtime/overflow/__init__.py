"""Overflow detection: one interface, and a source for each kind of machine."""

from npu_migrate.runtime.overflow.choice import choose_overflow_source
from npu_migrate.runtime.overflow.gradient_finiteness import GradientFiniteness
from npu_migrate.runtime.overflow.npu_float_status import NpuFloatStatus
from npu_migrate.runtime.overflow.saturation import SimulatedSaturation
from npu_migrate.runtime.overflow.source import OverflowSource

__all__ = [
    "GradientFiniteness",
    "NpuFloatStatus",
    "OverflowSource",
    "SimulatedSaturation",
    "choose_overflow_source",
]
