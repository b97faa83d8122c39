"""Runs a migrated script in this process, as one rank.

`python -m npu_migrate.launch.script SCRIPT [ARGS]` is what each process of a job runs.
"""

import os
import runpy
import sys
import traceback
from typing import Any, List, Optional, Sequence

from npu_migrate.launch.environment import ascend_variables, current_ranks

#: Precedes the exit code on a line of its own, by which a rank tells `npu-run` that it failed
#: before the other ranks fail for the loss of it.
FAILURE_MARK = "npu-run: this rank failed with exit code "


def run_script(script: str, arguments: Sequence[str]) -> int:
    """Runs a script as `python SCRIPT ARGS` would, with `npu_bridge` importable.

    The variables of an Ascend process (`RANK_SIZE`, `RANK_ID`, ...) are set where they are not.

    Args:
      script: path of the script.
      arguments: its arguments.

    Returns:
      The exit code that Python would end with. An exception of the script is printed as Python
      prints it; what is wrong with the surroundings is said in one line.
    """
    try:
        _prepare(script, arguments)
    except (ImportError, ValueError) as error:
        print(f"npu-run: {error}", file=sys.stderr)
        return 2
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        return _exit_code(stop.code)
    except KeyboardInterrupt:
        return 130
    except BaseException as error:  # noqa: B036  whatever ends the script ends this process
        traceback.print_exception(type(error), error, _of_script(error.__traceback__, script))
        return 1
    return 0


def main(argv: List[str]) -> int:
    """Runs the script named first, with the arguments after it, and reports a failure."""
    code = run_script(argv[0], argv[1:])
    if code:
        sys.stdout.flush()
        print(f"{FAILURE_MARK}{code}", file=sys.stderr, flush=True)
    return code


def _prepare(script: str, arguments: Sequence[str]) -> None:
    ranks = current_ranks()
    if "CM_WORKER_SIZE" not in os.environ:
        for name, value in ascend_variables(ranks).items():
            os.environ.setdefault(name, value)
    from npu_migrate.runtime import install_bridge

    install_bridge()
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(script))


def _exit_code(code: Any) -> int:
    if code is None or isinstance(code, int):
        return int(code or 0)
    print(code, file=sys.stderr)
    return 1


def _of_script(trace: Optional[Any], script: str) -> Optional[Any]:
    """The part of a traceback that starts in the script, or all of it when none does."""
    part = trace
    while part is not None and part.tb_frame.f_code.co_filename != script:
        part = part.tb_next
    return part or trace


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
