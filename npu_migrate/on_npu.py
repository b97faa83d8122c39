"""How much of a script is on the NPU already: the places that use what the NPU's packages offer.

What only went, such as a device or a step that moved, leaves no trace, so this is no count of
what was migrated; it tells how far a project is from run to run.
"""

import re
from collections import Counter
from typing import Mapping

from npu_migrate.names import Index

_PACKAGES = ("npu_bridge.", "npu_migrate.runtime.", "hccl.", "npu_device.")
_AS_WHOLE = ("npu_migrate.runtime.ops_adapter", "hccl.")
"""What takes the place of a whole library: all its uses in a file are one place."""

_FAMILIES = {
    "loss scaling": r"loss_?scale|NPUOptimizer|float_status|finite|global_norm|PrecisionTrainer",
    "distribution": r"ops_adapter|hccl|distribute|strategy|broadcast|allreduce|rank",
    "replacements": r"dropout|gelu|unary_ops|dynamic_rnn|npu_rnn",
    "session": r"npu|session",
}
"""Family -> what is said in names that its rules lead to; the first that fits holds."""
_PATTERNS = {family: re.compile(words, re.IGNORECASE) for family, words in _FAMILIES.items()}


def places_on_npu(index: Index) -> Mapping[str, int]:
    """The number of such places in a script, by family."""
    found: Counter[str] = Counter()
    as_whole = set()
    for chain in index.chains:
        resolution = index.resolve(chain)
        name = next((name for name in resolution.names if name.startswith(_PACKAGES)), "")
        last = name.rpartition(".")[2]
        # A star import may give any name; then the name itself must speak of the NPU.
        family = _family(last if resolution.unknown else name)
        whole = next((module for module in _AS_WHOLE if name.startswith(module)), "")
        if not name or (resolution.unknown and not family) or whole in as_whole:
            continue
        found[family or "session"] += 1
        if whole:
            as_whole.add(whole)
    return found


def _family(name: str) -> str:
    """By the end of a name first: its module may be shared, as ``npu_optimizer`` is."""
    last = name.rpartition(".")[2]
    for text in (last, name):
        for family, pattern in _PATTERNS.items():
            if family != "session" and pattern.search(text):
                return family
    return "session" if _PATTERNS["session"].search(last) else ""
