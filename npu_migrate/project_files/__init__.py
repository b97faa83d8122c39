"""What stands around the scripts: how they are started, and what they are installed with.

Nothing here is rewritten, since a line that starts a job is only right on one machine. Each finding
names the line to use instead.

================== ================================================================
``examine``        one file: which of the others judge it
``shell``          the commands of a shell script, read and never run
``launching``      ``horovodrun``, ``mpirun``: the ``npu-run`` in place of them
``devices``        ``CUDA_VISIBLE_DEVICES``
``graph_rewrites`` mixed precision and XLA
``requirements``   files that list packages, and images
``packages``       packages that need a GPU
================== ================================================================
"""
