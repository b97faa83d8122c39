"""Migrates TensorFlow 1.15 training scripts from GPUs to Huawei Ascend NPUs."""

__version__ = "0.1.0"
