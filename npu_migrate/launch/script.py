"""Runs a migrated script or module in this process, as one rank.

`python -m npu_migrate.launch.script [-m] PROGRAM [ARGS]` is what each process of a job runs.
"""

import importlib.util
import os
import runpy
import sys
import traceback
from types import TracebackType
from typing import Any, List, NamedTuple, Optional, Tuple

from npu_migrate.launch.environment import ascend_variables, current_ranks

#: Precedes the exit code on a line of its own, by which a rank tells `npu-run` that it failed
#: before the other ranks fail for the loss of it.
FAILURE_MARK = "npu-run: this rank failed with exit code "


class Program(NamedTuple):
    """What to run, and its arguments: the path of a script, or the name of a module."""

    name: str
    arguments: Tuple[str, ...] = ()
    is_module: bool = False

    @property
    def command(self) -> List[str]:
        """The command that runs it as one rank."""
        kind = ["-m", self.name] if self.is_module else [os.path.abspath(self.name)]
        return [sys.executable, "-m", "npu_migrate.launch.script", *kind, *self.arguments]


def run_program(program: Program) -> int:
    """Runs a program as `python SCRIPT ARGS` would, or `python -m MODULE ARGS`.

    `npu_bridge` can be imported, and the variables of an Ascend process (`RANK_SIZE`, `RANK_ID`,
    ...) are set where they are not.

    Args:
      program: what to run.

    Returns:
      The exit code that Python would end with. An exception of the program is printed as Python
      prints it; what is wrong with the surroundings is said in one line.
    """
    try:
        _prepare()
    except (ImportError, ValueError) as error:
        print(f"npu-run: {error}", file=sys.stderr)
        return 2
    return run_as_main(program)


def run_as_main(program: Program) -> int:
    """Runs a program as Python itself would; see `run_program`."""
    sys.argv = [program.name, *program.arguments]
    script_folder = os.path.dirname(os.path.abspath(program.name))
    sys.path[0] = os.getcwd() if program.is_module else script_folder
    try:
        if not program.is_module:
            runpy.run_path(program.name, run_name="__main__")
        elif _is_found(program.name):
            runpy.run_module(program.name, run_name="__main__", alter_sys=True)
        else:
            print(f"npu-run: no module named {program.name}", file=sys.stderr)
            return 2
    except SystemExit as stop:
        return _exit_code(stop.code)
    except KeyboardInterrupt:
        return 130
    except BaseException as error:  # noqa: B036  whatever ends the program ends this process
        traceback.print_exception(type(error), error, _of_program(error.__traceback__))
        return 1
    return 0


def main(argv: List[str]) -> int:
    """Runs the program named first, with the arguments after it, and reports a failure."""
    is_module = argv[0] == "-m"
    name, *arguments = argv[1:] if is_module else argv
    code = run_program(Program(name, tuple(arguments), is_module))
    if code:
        sys.stdout.flush()
        print(f"{FAILURE_MARK}{code}", file=sys.stderr, flush=True)
    return code


def _prepare() -> None:
    ranks = current_ranks()
    if "CM_WORKER_SIZE" not in os.environ:
        for name, value in ascend_variables(ranks).items():
            os.environ.setdefault(name, value)
    from npu_migrate.runtime import install_bridge

    install_bridge()


def _is_found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError as error:
        if f"{module}.".startswith(f"{error.name}."):
            return False
        raise


def _exit_code(code: Any) -> int:
    if code is None or isinstance(code, int):
        return int(code or 0)
    print(code, file=sys.stderr)
    return 1


def _of_program(trace: Optional[TracebackType]) -> Optional[TracebackType]:
    """The part of a traceback that is the program's."""
    while trace is not None and _is_ours(trace):
        trace = trace.tb_next
    return trace


def _is_ours(trace: TracebackType) -> bool:
    names = trace.tb_frame.f_globals
    return names is globals() or names is vars(runpy)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
