"""The precision modes that the NPU's compiler knows, by the parameter that takes them."""

PRECISION_MODE_V2 = (
    "fp16",
    "origin",
    "cube_fp16in_fp32out",
    "mixed_float16",
    "mixed_bfloat16",
)
PRECISION_MODE = (
    "force_fp32",
    "force_fp16",
    "allow_fp32_to_fp16",
    "must_keep_origin_dtype",
    "allow_mix_precision",
    "allow_mix_precision_fp16",
    "allow_mix_precision_bf16",
)
MIXED_FLOAT16 = "mixed_float16"
"""What TensorFlow's automatic mixed precision is on the NPU."""


def parameter_of(mode: str) -> str:
    """The parameter of the ``NpuOptimizer`` that takes a mode; it takes one of the two only."""
    if mode in PRECISION_MODE_V2:
        return "precision_mode_v2"
    if mode in PRECISION_MODE:
        return "precision_mode"
    known = ", ".join((*PRECISION_MODE_V2, *PRECISION_MODE))
    raise ValueError(f"unknown precision mode {mode!r}; known are {known}")
