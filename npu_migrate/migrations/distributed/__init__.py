"""Distribution (NPU2xx): Horovod, BytePS, strategies, and the order of averaging and scaling."""
