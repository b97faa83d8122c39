"""Chooses how overflows are detected, by what the machine has."""

from typing import Optional

from npu_migrate.runtime import vendor
from npu_migrate.runtime.overflow.gradient_finiteness import GradientFiniteness
from npu_migrate.runtime.overflow.npu_float_status import NpuFloatStatus
from npu_migrate.runtime.overflow.saturation import SimulatedSaturation
from npu_migrate.runtime.overflow.source import OverflowSource
from npu_migrate.runtime.overflow_mode import OverflowMode, overflow_mode


def choose_overflow_source() -> OverflowSource:
    """A new source for one optimizer in the current graph.

    On an NPU that saturates it is the register. On an NPU with Inf and NaN, and elsewhere, it is
    the finiteness of the gradients; elsewhere in saturation mode, the default, what an NPU would
    make of them is simulated as well.
    """
    if vendor.has_vendor_bridge():
        return npu_register() or GradientFiniteness()
    if overflow_mode() is OverflowMode.SATURATION:
        return SimulatedSaturation()
    return GradientFiniteness()


def npu_register() -> Optional[NpuFloatStatus]:
    """The register of an NPU that saturates; None on any other machine."""
    library = vendor.op_library()
    if library is None or vendor.inf_nan_mode():
        return None
    return NpuFloatStatus(library)
