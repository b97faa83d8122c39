"""The vendor's package on this machine: whether it is here, and what the runtime asks of it."""

import importlib
import importlib.util
from typing import Any, Optional

from npu_migrate.runtime.bridge.finder import serves


def has_vendor_bridge() -> bool:
    """Whether `npu_bridge` is the vendor's own, so that this machine has an NPU.

    The stand-in that `install_bridge()` serves does not count.
    """
    try:
        spec = importlib.util.find_spec("npu_bridge")
    except ValueError:  # someone put a bare module into sys.modules
        return True
    return spec is not None and not serves(spec)


def op_library() -> Optional[Any]:
    """The vendor's op library (`helper.get_gen_ops()`), or None off the NPU."""
    if not has_vendor_bridge():
        return None
    return importlib.import_module("npu_bridge.helper.helper").get_gen_ops()


def inf_nan_mode() -> bool:
    """Whether the NPU computes Inf and NaN as IEEE 754 says, instead of saturating.

    Versions of the vendor's package from before that mode existed can only saturate.
    """
    plugin = importlib.import_module("npu_bridge.estimator.npu.npu_plugin")
    is_enabled = getattr(plugin, "is_inf_nan_enabled", None)
    return bool(is_enabled and is_enabled())
