"""Profiles of hypothesis: short and alike each time; ``HYPOTHESIS_PROFILE=long`` searches."""

import os

from hypothesis import HealthCheck, Phase, settings

COMMON = {
    "deadline": None,
    "suppress_health_check": (HealthCheck.too_slow, HealthCheck.data_too_large),
    "phases": (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
}

settings.register_profile("short", max_examples=120, **COMMON)
settings.register_profile("long", max_examples=5000, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))
