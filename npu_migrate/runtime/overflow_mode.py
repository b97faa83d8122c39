"""How the stand-in treats overflows: as an NPU that saturates, or as one with Inf and NaN."""

import os
from enum import Enum

VARIABLE = "NPU_MIGRATE_OVERFLOW_MODE"


class OverflowMode(Enum):
    """The two ways in which NPUs compute.

    SATURATION: an overflow becomes the largest finite number and raises a status register; the
      Atlas training series computes like this.
    INF_NAN: an overflow becomes Inf, as on CPUs and GPUs; the default of newer series.
    """

    SATURATION = "saturation"
    INF_NAN = "inf_nan"


def overflow_mode() -> OverflowMode:
    """The mode in force, from the variable NPU_MIGRATE_OVERFLOW_MODE; saturation by default."""
    text = os.environ.get(VARIABLE, OverflowMode.SATURATION.value)
    try:
        return OverflowMode(text)
    except ValueError:
        modes = " or ".join(mode.value for mode in OverflowMode)
        raise ValueError(f"{VARIABLE} is {text!r}, but must be {modes}") from None
