"""The stand-in for the vendor's packages, for machines without an NPU."""

import os
from typing import Optional

from npu_migrate.runtime import overflow_mode as modes
from npu_migrate.runtime.bridge.finder import install_finder
from npu_migrate.runtime.log import log
from npu_migrate.runtime.vendor import has_vendor_bridge


def install_bridge(overflow_mode: Optional[str] = None) -> bool:
    """Makes `npu_bridge` and `hccl` importable where the vendor's package is not installed.

    Args:
      overflow_mode: 'saturation' or 'inf_nan', how overflows behave from now on; by default as the
        variable NPU_MIGRATE_OVERFLOW_MODE says, and saturation without it.

    Returns:
      True if the stand-in serves them now, False if the vendor's own package is here, which is
      then left alone.

    Raises:
      ValueError: there is no such overflow mode.
    """
    if has_vendor_bridge():
        return False
    if overflow_mode is not None:
        os.environ[modes.VARIABLE] = modes.OverflowMode(overflow_mode).value
    mode = modes.overflow_mode()
    install_finder()
    log.info("npu_bridge is served by the stand-in of npu-migrate, overflow mode %s", mode.value)
    return True
