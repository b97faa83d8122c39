"""Packages that need a GPU, by their names."""

import re
from typing import Tuple

TENSORFLOW, HOROVOD, CUDA = "tensorflow-gpu-package", "horovod-package", "cuda-package"
"""The names of their rules."""

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_CUDA = re.compile(
    r"(nvidia-.+|cupy(-.+)?|pycuda|pynvml|py3nvml|nvtx|tensorrt|cudatoolkit|cudnn|nccl|gputil|gpustat"
    r"|cuda-(toolkit|runtime|nvcc))$"
)


def rule_of(requirement: str) -> Tuple[str, str]:
    """The rule that concerns a requirement, and the name of its package; or nothing."""
    match = _NAME.match(requirement)
    name = match.group().rstrip(".-") if match else ""
    plain = re.sub(r"[-_.]+", "-", name).lower()
    if plain in ("tensorflow-gpu", "tf-nightly-gpu"):
        return TENSORFLOW, name
    if plain in ("horovod", "nvidia-horovod", "byteps"):
        return HOROVOD, name
    return (CUDA, name) if _CUDA.match(plain) else ("", name)
