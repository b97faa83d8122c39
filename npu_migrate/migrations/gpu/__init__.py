"""GPUs: devices, pinning, and packages that need one (NPU6xx and parts of NPU9xx)."""
