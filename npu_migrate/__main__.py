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


def _leave_current_folder_out() -> None:
    """Python looks there first, where a yaml.py or click.py is the user's and not ours."""
    if os.path.realpath(sys.path[0]) == os.getcwd() and not sys.flags.isolated:
        del sys.path[0]


if __name__ == "__main__":
    _leave_current_folder_out()
    run()
