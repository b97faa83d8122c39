"""`npu-verify`: trains an original and its migration, and compares them step by step.

    workspace -> trial (a recorder in each process) -> experiment -> comparison -> reports

The recorder is the only room that knows TensorFlow; it leaves recordings, which the others read.
"""
