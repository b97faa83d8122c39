"""Launchers of several processes, and the line with ``npu-run`` that takes their place."""

import re
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from npu_migrate.project_files.finding import Found
from npu_migrate.project_files.shell import Command, Script, Word

RULE = "launched-by-horovod-or-mpi"

_LAUNCHER = re.compile(
    r"(?:\S*/)?(horovodrun|mpirun(?:\.\w+)?|mpiexec(?:\.\w+)?|orterun|prun|bpslaunch|srun)$"
)
_SLURM = "srun"
_RESERVED = {"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time"}
_WRAPPERS = {
    *("time", "nohup", "exec", "sudo", "env", "command", "eval", "stdbuf", "nice", "ionice"),
    *("timeout", "numactl", "taskset", "nvprof", "nsys", "setsid"),
}
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")
_VARIABLE = re.compile(r"\"?\$\{?(\w+)\}?\"?$")
_BEGINS_WITH = re.compile(r"([A-Za-z_]\w*)=\"\$\{?(\w+)\}?\s")
_PYTHON = re.compile(r"(?:\S*/)?python[\d.]*$|\"?\$\{?\w*python\w*\}?\"?$", re.IGNORECASE)
_PROGRAM = re.compile(r"(?:ba|z|k)?sh$|\"?\$\{?\w+|\S*\.(?:sh|bash)$")

_COUNT = {"-np", "--np", "-n", "--n", "-c", "--num-proc"}
_TASKS = {"-n", "--ntasks", "--ntasks-per-node"}
_NODES = {"-N", "--nodes"}
_JOINED = re.compile(r"-[nN]\d+$")
_BATCH = re.compile(r"#SBATCH[ \t]+(-n|-N|--ntasks|--ntasks-per-node|--nodes)[ \t=]*(\d+)")
_HOSTS = {"-H", "-host", "--host", "-hosts", "--hosts"}
_HOST_FILES = {"-hostfile", "--hostfile", "-machinefile", "--machinefile", "-f"}
_PAIRS = {"-mca", "--mca", "-gmca", "--gmca", "-genv", "--genv", "-env", "--env"}
_FLAGS = {
    *("--allow-run-as-root", "--oversubscribe", "-oversubscribe", "--tag-output", "-tag-output"),
    *("--timestamp-output", "--report-bindings", "-report-bindings", "-q", "--quiet", "-v"),
    *("--verbose", "--display-map", "--display-allocation", "--gloo", "--mpi", "--autotune"),
    *("--nooversubscribe", "-l", "-prepend-rank", "--bind-to-core", "--bind-to-socket", "--bynode"),
    *("--hierarchical-allreduce", "--disable-cache", "--check-build", "-cb", "--version", "--help"),
}
_WITHOUT_NPU = (
    *("NCCL_", "CUDA_", "OMPI_", "HOROVOD_", "TF_XLA_FLAGS"),
    "TF_ENABLE_AUTO_MIXED_PRECISION",
)
"""What variables start with that are not set for NPUs."""
_HERE = re.compile(r"(?:localhost|127\.0\.0\.1|\$\(hostname[^)]*\)|\$\{?HOSTNAME\}?)(?::.*)?$")


@dataclass
class Launch:
    """What a command line says about the processes that it starts."""

    launcher: str
    processes: str = ""
    hosts: List[str] = field(default_factory=list)
    host_file: str = ""
    environment: List[str] = field(default_factory=list)
    script: Optional[List[str]] = None
    """The script, or ``-m`` and a module, with the arguments; ``None`` where none can be seen."""
    is_start: bool = False
    """Whether it ends before it says what to start, as in a variable."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether the processes run on several machines."""
        return bool(self.host_file) or any(
            not _HERE.match(host) and "$" not in host for host in self.hosts
        )

    @property
    def may_be_elsewhere(self) -> bool:
        return any("$" in host and not _HERE.match(host) for host in self.hosts)

    @property
    def count(self) -> str:
        if self.processes:
            return self.processes
        slots = [host.rpartition(":")[2] for host in self.hosts]
        if slots and all(slot.isdigit() for slot in slots):
            return str(sum(map(int, slots)))
        return "N"

    def line(self, before: Sequence[str] = (), script: str = "SCRIPT") -> str:
        """The line that starts the same processes on NPUs."""
        on_one = "--rank-table FILE" if self.is_elsewhere else f"-np {self.count}"
        return _joined(
            *before,
            *(("env",) if self.environment and any(map(_is_command, before)) else ()),
            *self.environment,
            "npu-run",
            "" if on_one == "-np 1" else on_one,
            *(self.script if self.script is not None else (script,)),
        )


def find(script: Script) -> Iterator[Found]:
    """The launchers of a script, also those that it keeps in a variable to start with."""
    commands = list(script.commands())
    started = _started_variables(commands)
    batch = script.comments(_BATCH)
    for command in commands:
        at = _launcher_at(command)
        if at is not None:
            launch = read(command[at:], batch)
            before = [word.text for word in command[_first(command) : at]]
            if not launch.is_start:  # mpirun --version
                yield from _found(script, command[at], launch, _without_devices(before))
        for word in command:
            yield from _in_variable(script, word, started)


def _in_variable(script: Script, word: Word, started: Dict[str, int]) -> Iterator[Found]:
    """``mpi="mpirun -np 4"``, where some line then begins with ``$mpi``."""
    match = _ASSIGNMENT.match(word.text)
    if not match or match.group(1) not in started:
        return
    name = match.group(1)
    value = Word(word.text[match.end() :], word.start)
    if not value.text.startswith(('"', "'")):
        return
    inner = Script(value.bare)
    for command in inner.commands():
        at = _launcher_at(command)
        if at is None:
            continue
        launch = read(command[at:])
        if not launch.is_start:
            yield from _found(script, word, launch, ())
        else:
            line, _ = script.place(started[name])
            yield _of(
                script,
                word,
                launch,
                f'write: {name}="{launch.line(script="").rstrip()}"; in line {line} the script '
                f"then follows ${name} without python, and where {name} is empty it needs npu-run"
                f"{_elsewhere(launch)}",
            )


def _found(script: Script, word: Word, launch: Launch, before: Sequence[str]) -> Iterator[Found]:
    if launch.launcher:
        yield _of(script, word, launch, f"write: {launch.line(before)}{_elsewhere(launch)}")


def _of(script: Script, word: Word, launch: Launch, advice: str) -> Found:
    line, column = script.place(word.start)
    return Found(RULE, line, column, launch.launcher, {"launcher": launch.launcher, "line": advice})


def _elsewhere(launch: Launch) -> str:
    notes = []
    if launch.is_elsewhere:
        where = launch.host_file or ", ".join(host.partition(":")[0] for host in launch.hosts)
        notes.append(f"on each machine ({where}), with the job's rank table as FILE")
    elif launch.may_be_elsewhere:
        hosts = ", ".join(launch.hosts)
        notes.append(
            f"if {hosts} names other machines: --rank-table FILE instead of -np, on each of them"
        )
    elif launch.count == "N":
        notes.append("N is the number of NPUs")
    return "".join(f" ({note})" for note in notes)


def read(command: Sequence[Word], batch: Sequence[Tuple[str, ...]] = ()) -> Launch:
    """A command whose first word is a launcher; without ``launcher`` where it starts no Python.

    ``batch`` are the options that a job of Slurm has for all of its commands.
    """
    match = _LAUNCHER.match(command[0].text)
    assert match is not None
    launch = Launch(match.group(1).partition(".")[0])
    program = _program(command)
    words = [word.text for word in command[1:program]]
    is_slurm = launch.launcher == _SLURM
    for option, value in batch if is_slurm else ():
        _read_slurm(launch, option, value)
    position = 0
    while position < len(words) and words[position].startswith(("-", "$", '"$')):
        option, joined, value = words[position].partition("=")
        if is_slurm and _JOINED.match(option):
            option, joined, value = option[:2], "=", option[2:]
        values = [value] if joined else words[position + 1 :]
        if is_slurm:
            _read_slurm(launch, option, "".join(values[:1]))
        else:
            _read_option(launch, option, [*values, "", ""])
        position += 1 + (0 if joined else _arity(option, values))
    if is_slurm and launch.processes in ("", "1") and not launch.is_elsewhere:
        launch.launcher = ""  # one process, on a machine of the cluster
    if program is not None:
        _read_python(launch, [word.text for word in command[program:]])
    elif position >= len(words):
        launch.is_start = True
    elif not _PROGRAM.match(words[position]):
        launch.launcher = ""  # it starts something that is no script: not ours
    return launch


def _read_option(launch: Launch, option: str, values: Sequence[str]) -> None:
    if option in _COUNT:
        launch.processes = values[0]
    elif option in _HOSTS:
        launch.hosts = [host for host in values[0].strip("\"'").split(",") if host]
    elif option in _HOST_FILES:
        launch.host_file = values[0]
    elif option == "-x" and _is_kept(values[0]):
        launch.environment.append(values[0])
    elif option in _PAIRS and option.endswith("env") and _is_kept("=".join(values[:2])):
        launch.environment.append("=".join(values[:2]))


def _read_slurm(launch: Launch, option: str, value: str) -> None:
    if option in _TASKS:
        launch.processes = value
    elif option in _NODES and value != "1":
        launch.host_file = f"{value} nodes"


def _arity(option: str, following: Sequence[str]) -> int:
    """How many words an option takes; one that is not known takes what looks like a value."""
    if option in _FLAGS or option.startswith("$") or option.startswith('"$'):
        return 0
    if option in _PAIRS:
        return 2
    takes = option in _COUNT | _HOSTS | _HOST_FILES | _TASKS | _NODES
    return 1 if takes or not "".join(following[:1]).startswith(("-", "$", '"$')) else 0


def _is_kept(variable: str) -> bool:
    """Whether a variable must be set by the new line: what is exported reaches it anyway."""
    name, _, value = variable.strip("\"'").partition("=")
    return bool(value) and not name.startswith(_WITHOUT_NPU)


def _program(command: Sequence[Word]) -> Optional[int]:
    """Where Python, or a script that is started by itself, stands in a command."""
    for position, word in enumerate(command[1:], 1):
        if _PYTHON.match(word.text) or (
            word.bare.endswith(".py") and not command[position - 1].text.startswith("-")
        ):
            return position
    return None


def _read_python(launch: Launch, words: List[str]) -> None:
    if not _PYTHON.match(words[0]):
        launch.script = words
        return
    position = 1
    while position < len(words) and words[position].startswith("-"):
        option = words[position]
        if option == "-u":
            launch.environment.append("PYTHONUNBUFFERED=1")
        elif option == "-m":
            launch.script = words[position:]
            return
        elif option == "-c":
            launch.launcher = ""  # a test of the installation, say
            return
        position += 2 if option in ("-W", "-X") else 1
    if position < len(words):
        launch.script = words[position:]


def is_launched(command: Command) -> bool:
    """Whether a command is a launcher of several processes."""
    return _launcher_at(command) is not None


def _launcher_at(command: Command) -> Optional[int]:
    """Where a launcher stands that the command starts, if only through ``time`` or the like."""
    first = _first(command)
    position = first
    while position < len(command) and _ASSIGNMENT.match(command[position].text):
        position += 1
    if position == len(command):
        return None
    launchers = [n for n in range(position, len(command)) if _LAUNCHER.match(command[n].text)]
    if command[position].text in _WRAPPERS | {_SLURM}:
        others = [n for n in launchers if command[n].text != _SLURM]
        return next(iter(others or launchers), None)  # srun may start mpirun in turn
    return position if position in launchers else None


def _first(command: Command) -> int:
    """Where the command begins, behind words such as ``if`` and ``then``."""
    position = 0
    while position < len(command) and command[position].text in _RESERVED - {"time"}:
        position += 1
    return position


def _started_variables(commands: Sequence[Command]) -> Dict[str, int]:
    """Variables that commands begin with, each with the place of the first."""
    started: Dict[str, int] = {}
    for command in commands:
        words = [word for word in command if word.text not in _RESERVED | _WRAPPERS]
        words = [word for word in words if not _ASSIGNMENT.match(word.text)]
        match = _VARIABLE.match(words[0].text) if words else None
        if match:
            started.setdefault(match.group(1), words[0].start)
    assigned = [word for command in commands for word in command]
    for word in reversed(assigned):  # a command in a variable may begin with a variable in turn
        match = _BEGINS_WITH.match(word.text)
        if match and match.group(1) in started:
            started.setdefault(match.group(2), word.start)
    return started


def _without_devices(words: Sequence[str]) -> List[str]:
    dropped = ("CUDA_VISIBLE_DEVICES=", "TF_XLA_FLAGS=", "TF_ENABLE_AUTO_MIXED_PRECISION")
    return [word for word in words if not word.startswith(dropped)]


def _is_command(word: str) -> bool:
    return not _ASSIGNMENT.match(word)


def _joined(*words: str) -> str:
    return " ".join(word for word in words if word)
