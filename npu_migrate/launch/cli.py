"""The `npu-run` command."""

import argparse
import importlib.util
import os
import sys
from typing import List, Optional

import npu_migrate
from npu_migrate.launch.ascend_job import JobDescriptionError, JobRequest, rank_environments
from npu_migrate.launch.horovod_job import HorovodMissing, run_with_horovod
from npu_migrate.launch.job import Failure, Interrupted, run_ranks
from npu_migrate.launch.script import Program, run_program

_DESCRIPTION = """\
Runs a migrated script. On an Ascend machine, with the vendor's npu_bridge, one process a device.
Elsewhere the stand-in of npu-migrate plays the NPU: one process in place, or several with Horovod.
"""

_EPILOG = """\
exit code: that of the script; of several processes, that of the first that failed;
2 for wrong usage or a missing package; 130 after Ctrl-C
"""


_NOTEBOOK = (
    "{} is a notebook: run it in Jupyter, with npu_migrate.runtime.install_bridge() in its first "
    "cell where there is no NPU"
)


def main(argv: Optional[List[str]] = None) -> int:
    """Runs a migrated script or module.

    Args:
      argv: arguments of the command, by default those of this process.

    Returns:
      Exit code.
    """
    options = _parser().parse_args(argv)
    program = Program(options.script, tuple(options.arguments), options.is_module)
    if not program.is_module and not os.path.isfile(program.name):
        return _complain(f"no such script: {program.name}")
    if program.name.endswith(".ipynb"):
        return _complain(_NOTEBOOK.format(program.name))
    if options.overflow_mode is not None:
        os.environ["NPU_MIGRATE_OVERFLOW_MODE"] = options.overflow_mode
    try:
        if importlib.util.find_spec("npu_bridge") is not None:
            return _run_on_npus(options, program)
        return _run_with_stand_in(options, program)
    except (JobDescriptionError, HorovodMissing) as error:
        return _complain(str(error))
    except Interrupted:
        print("npu-run: interrupted; all processes were ended", file=sys.stderr)
        return 130


def _run_on_npus(options: argparse.Namespace, program: Program) -> int:
    if options.hosts is not None:
        return _complain(
            "-H is for machines without NPU: with several Ascend machines, start npu-run on each, "
            "with --rank-table or the CM_ variables"
        )
    request = JobRequest(options.processes, options.rank_table, options.server, options.first_rank)
    is_one_process = request == JobRequest(request.processes) and request.processes in (None, 1)
    if is_one_process and "CM_WORKER_SIZE" not in os.environ:
        return run_program(program)
    return _exit_code(run_ranks(program.command, rank_environments(request)))


def _run_with_stand_in(options: argparse.Namespace, program: Program) -> int:
    for option in ("rank_table", "server", "first_rank"):
        if getattr(options, option) is not None:
            return _complain(
                f"--{option.replace('_', '-')} is for Ascend machines, but npu_bridge is not "
                "installed here"
            )
    processes = options.processes or _slots(options.hosts)
    if processes == 1 and options.hosts is None:
        return run_program(program)
    return _exit_code(run_with_horovod(program.command, processes, options.hosts))


def _slots(hosts: Optional[str]) -> int:
    if hosts is None:
        return 1
    try:
        return sum(int(host.rsplit(":", 1)[1]) for host in hosts.split(","))
    except (IndexError, ValueError):
        raise JobDescriptionError(f"-H must be host:processes,..., not {hosts!r}") from None


def _exit_code(failure: Optional[Failure]) -> int:
    return 0 if failure is None else failure.exit_code


def _complain(message: str) -> int:
    print(f"npu-run: {message}", file=sys.stderr)
    return 2


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="npu-run",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "-np", "--processes", type=_positive, metavar="N", help="processes (default: 1)"
    )
    parser.add_argument(
        "-H", "--hosts", metavar="HOST:N,...", help="without NPU: machines and processes on each"
    )
    parser.add_argument(
        "--overflow-mode",
        choices=("saturation", "inf_nan"),
        help="without NPU: how the stand-in's overflows behave (default: saturation)",
    )
    parser.add_argument(
        "--rank-table", metavar="FILE", help="on NPUs: the job's rank table, for several machines"
    )
    parser.add_argument(
        "--server", metavar="ID", help="on NPUs: server_id of this machine in the rank table"
    )
    parser.add_argument(
        "--first-rank",
        type=int,
        metavar="R",
        help="on NPUs, with CM_ variables and several machines: rank of the first process here",
    )
    parser.add_argument("--version", action="version", version=npu_migrate.__version__)
    parser.add_argument(
        "-m",
        dest="is_module",
        action="store_true",
        help="SCRIPT is the name of a module, as for python -m",
    )
    parser.add_argument("script", metavar="SCRIPT", help="the migrated script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGS", help="its arguments")
    return parser


if __name__ == "__main__":
    sys.exit(main())
