"""Several processes without NPU: Horovod's launcher starts them, Gloo connects them."""

import importlib.util
import re
import subprocess
import sys
from typing import Callable, List, Optional

from npu_migrate.launch.job import Failure, FirstFailure, ending_together, explain
from npu_migrate.launch.output import RankOutput

_RANK_LINE = re.compile(r"\[(\d+)\]<(stdout|stderr)>:(.*)", re.DOTALL)
_EXIT_LINE = re.compile(r"Process (\d+) exit with status code (\d+)\.")


class HorovodMissing(Exception):
    """Horovod is not installed."""


def run_with_horovod(command: List[str], processes: int, hosts: Optional[str]) -> Optional[Failure]:
    """Runs a command in several processes, and ends all when one fails.

    Args:
      command: what each rank runs.
      processes: how many ranks.
      hosts: where, as `host1:slots,host2:slots`; by default all here.

    Returns:
      The first failure, or None if all ranks ended well. Rank -1 stands for the launcher.

    Raises:
      HorovodMissing: Horovod is not installed.
      Interrupted: the job was asked to end, and has.
    """
    if not is_installed():
        raise HorovodMissing(
            "several processes without an NPU need Horovod: pip install 'npu-migrate[distributed]'"
        )
    output, first = RankOutput(), FirstFailure()
    said: List[str] = []
    handle = line_handler(first, output.line, said.append)
    with ending_together() as start:
        launcher = start(launcher_command(command, processes, hosts), {}, handle, handle)
        _wait(launcher, first)
    failure = first.get()
    if failure is not None:
        explain(failure, output)
    elif launcher.returncode:
        failure = Failure(-1, launcher.returncode)
        _explain_launcher(said)
    return failure


def line_handler(
    first: FirstFailure,
    on_rank: Callable[[int, str, bool], None],
    on_launcher: Callable[[str], None],
) -> Callable[[str], None]:
    """A function that takes the lines which Horovod's launcher prints.

    Args:
      first: learns of failures.
      on_rank: gets each line of a rank, with its number and whether it went to standard error.
      on_launcher: gets each line that the launcher itself says.
    """

    def handle(text: str) -> None:
        line = _RANK_LINE.match(text)
        exited = _EXIT_LINE.match(text)
        if line is None:
            on_launcher(text)
            if exited is not None:
                first.exited(int(exited.group(1)), int(exited.group(2)))
            return
        rank, is_error, text = int(line.group(1)), line.group(2) == "stderr", line.group(3)
        if not first.is_mark(rank, text):
            on_rank(rank, text, is_error)

    return handle


def is_installed() -> bool:
    """Whether Horovod can be imported."""
    return importlib.util.find_spec("horovod") is not None


def launcher_command(
    command: List[str],
    processes: int,
    hosts: Optional[str] = None,
    python: Optional[str] = None,
) -> List[str]:
    """The command that starts Horovod's launcher, with an interpreter that has Horovod."""
    where = ["-H", hosts or f"localhost:{processes}"]
    start_horovod = [python or sys.executable, "-m", "horovod.runner.launch"]
    return [*start_horovod, "--gloo", "-np", str(processes), *where, *command]


def _wait(launcher: "subprocess.Popen[str]", first: FirstFailure) -> None:
    while launcher.poll() is None and not first.is_overdue():
        try:
            launcher.wait(0.2)
        except subprocess.TimeoutExpired:
            continue


def _explain_launcher(said: List[str]) -> None:
    lines = "".join(f"    {line}\n" for line in said[-10:])
    print(f"npu-run: Horovod's launcher failed and said:\n{lines}", file=sys.stderr, end="")
