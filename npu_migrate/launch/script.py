"""Runs a migrated script in this process, as one rank.

`python -m npu_migrate.launch.script SCRIPT [ARGS]` is what each process of a job runs.
"""

import os
import runpy
import sys
from typing import List, Sequence

from npu_migrate.launch.environment import ascend_variables, current_ranks


def run_script(script: str, arguments: Sequence[str]) -> None:
    """Runs a script as `python SCRIPT ARGS` would, with `npu_bridge` importable.

    The variables of an Ascend process (`RANK_SIZE`, `RANK_ID`, ...) are set where they are not.

    Args:
      script: path of the script.
      arguments: its arguments.

    Raises:
      ImportError: TensorFlow 1.15 is missing.
    """
    from npu_migrate.runtime import install_bridge

    if "CM_WORKER_SIZE" not in os.environ:
        for name, value in ascend_variables(current_ranks()).items():
            os.environ.setdefault(name, value)
    install_bridge()
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")


def main(argv: List[str]) -> None:
    """Runs the script named first, with the arguments after it."""
    run_script(argv[0], argv[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
