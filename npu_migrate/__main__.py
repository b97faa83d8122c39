"""The process of ``npu-migrate``, which is also ``python -m npu_migrate``."""

import gc
import os
import sys


def run() -> None:
    """Run the command line, and leave what it holds to the system, which is faster.

    A process that lives for one run never has to look for what it could let go of.
    """
    gc.disable()
    from npu_migrate.cli import main

    status = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(status)  # tells what is wrong with the stream
    os._exit(status)


if __name__ == "__main__":
    run()
