"""What the NPU does not do, or what can not be decided (NPU9xx)."""
