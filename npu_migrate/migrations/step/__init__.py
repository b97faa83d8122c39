"""The global step (NPU3xx): where it moves, and how the move gets into the optimizer."""
