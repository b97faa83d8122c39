"""`npu-run`: start a migrated script, on one process or on several.

Nothing in this package imports TensorFlow, so the command starts and complains quickly.
"""
