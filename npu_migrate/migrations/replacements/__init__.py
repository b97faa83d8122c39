"""Operations and shapes that the NPU is faster with (NPU5xx)."""
