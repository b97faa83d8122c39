"""What the environment says about the ranks of this job.

Three dialects are understood: Ascend's (`RANK_SIZE`, `RANK_ID`, ..., or `CM_WORKER_SIZE`, ...),
the one of Horovod's Gloo launcher (`HOROVOD_SIZE`, ...) and Open MPI's
(`OMPI_COMM_WORLD_SIZE`, ...). Where none of them is spoken there is one process.

Sources: "Environment variable reference" of the CANN documentation; `horovodrun --help`.
"""

import os
from typing import Dict, Mapping, NamedTuple, Optional

from npu_migrate.launch.rank_table import RankTable, RankTableError


class RankEnvironmentError(ValueError):
    """The variables that describe the ranks contradict each other, or one is missing."""


class Ranks(NamedTuple):
    """Where this process stands among those that train together.

    Attributes:
      size: how many processes train together, at least 1.
      rank: number of this process among them, from 0.
      local_size: how many of them run on this machine.
      local_rank: number of this process among those of this machine, from 0.
    """

    size: int = 1
    rank: int = 0
    local_size: int = 1
    local_rank: int = 0


class _Dialect(NamedTuple):
    size: str
    rank: str
    local_size: str
    local_rank: str


_HOROVOD = _Dialect("HOROVOD_SIZE", "HOROVOD_RANK", "HOROVOD_LOCAL_SIZE", "HOROVOD_LOCAL_RANK")
_OPEN_MPI = _Dialect(
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
)


def current_ranks(environ: Optional[Mapping[str, str]] = None) -> Ranks:
    """Reads the ranks from the environment; no session and no `init()` is needed.

    Args:
      environ: the variables to read, by default those of this process.

    Raises:
      RankEnvironmentError: variables contradict each other, are missing or are no numbers; the
        message names them.
    """
    environ = os.environ if environ is None else environ
    launched = launcher_ranks(environ)
    ascend = _ascend_ranks(environ)
    if launched is None or ascend is None:
        return launched or ascend or Ranks()
    _agree(environ, "size", launched.size, ascend.size)
    _agree(environ, "rank", launched.rank, ascend.rank)
    return launched


def launcher_ranks(environ: Mapping[str, str]) -> Optional[Ranks]:
    """The ranks that Horovod's launcher or mpirun gave this process, or None without one."""
    for dialect in (_HOROVOD, _OPEN_MPI):
        if dialect.size in environ:
            size = _number(environ, dialect.size, minimum=1)
            rank = _rank_below(environ, dialect.rank, dialect.size, size)
            local_size = _number(environ, dialect.local_size, minimum=1)
            local_rank = _rank_below(environ, dialect.local_rank, dialect.local_size, local_size)
            return Ranks(size, rank, local_size, local_rank)
    return None


def ascend_variables(ranks: Ranks, device: Optional[int] = None) -> Dict[str, str]:
    """The variables that an Ascend process of this rank finds in its environment.

    Args:
      ranks: where the process stands.
      device: number of its device on this machine, by default its local rank.
    """
    number = str(ranks.local_rank if device is None else device)
    return {
        "RANK_SIZE": str(ranks.size),
        "RANK_ID": str(ranks.rank),
        "DEVICE_ID": number,
        "ASCEND_DEVICE_ID": number,
    }


def _ascend_ranks(environ: Mapping[str, str]) -> Optional[Ranks]:
    size_name = _ascend_size_name(environ)
    if size_name is None:
        if environ.get("RANK_ID", "0") != "0":
            raise RankEnvironmentError(
                f"RANK_ID is {environ['RANK_ID']} but RANK_SIZE is not set: "
                "set RANK_SIZE to the number of processes that train together"
            )
        return None
    size = _number(environ, size_name, minimum=1)
    if size == 1:
        if "RANK_ID" in environ:
            _rank_below(environ, "RANK_ID", size_name, size)
        return Ranks()
    rank = _rank_below(environ, "RANK_ID", size_name, size)
    table = _rank_table(environ)
    if table is None:
        local_rank = _device_number(environ, default=rank)
        return Ranks(size, rank, size, local_rank)
    if table.size != size:
        raise RankEnvironmentError(
            f"{size_name} is {size}, but RANK_TABLE_FILE ({environ['RANK_TABLE_FILE']}) "
            f"lists {table.size} devices"
        )
    neighbours = table.server_of(rank).ranks
    return Ranks(size, rank, len(neighbours), neighbours.index(rank))


def _ascend_size_name(environ: Mapping[str, str]) -> Optional[str]:
    names = [name for name in ("RANK_SIZE", "CM_WORKER_SIZE") if name in environ]
    if len(names) == 2:
        raise RankEnvironmentError(
            "RANK_SIZE and CM_WORKER_SIZE are both set: unset the one that you do not use"
        )
    return names[0] if names else None


def _rank_table(environ: Mapping[str, str]) -> Optional[RankTable]:
    path = environ.get("RANK_TABLE_FILE")
    if not path:
        return None
    try:
        return RankTable.read(path)
    except RankTableError as error:
        raise RankEnvironmentError(f"RANK_TABLE_FILE: {error}") from error


def _device_number(environ: Mapping[str, str], default: int) -> int:
    for name in ("ASCEND_DEVICE_ID", "DEVICE_ID"):
        if name in environ:
            return _number(environ, name, minimum=0)
    return default


def _number(environ: Mapping[str, str], name: str, minimum: int) -> int:
    if name not in environ:
        raise RankEnvironmentError(f"{name} is not set, but other variables of its kind are")
    try:
        number = int(environ[name])
    except ValueError:
        raise RankEnvironmentError(f"{name} is {environ[name]!r}, which is no number") from None
    if number < minimum:
        raise RankEnvironmentError(f"{name} is {number}, but must be at least {minimum}")
    return number


def _rank_below(environ: Mapping[str, str], name: str, size_name: str, size: int) -> int:
    if name not in environ:
        raise RankEnvironmentError(
            f"{size_name} is {size} but {name} is not set: set {name} to the number of this "
            f"process, 0 to {size - 1}, or start the script with npu-run"
        )
    rank = _number(environ, name, minimum=0)
    if rank >= size:
        raise RankEnvironmentError(f"{name} is {rank}, but {size_name} is only {size}")
    return rank


def _agree(environ: Mapping[str, str], what: str, launched: int, ascend: int) -> None:
    if launched == ascend:
        return
    launcher = _HOROVOD if _HOROVOD.size in environ else _OPEN_MPI
    name = getattr(launcher, what)
    other = _ascend_size_name(environ) if what == "size" else "RANK_ID"
    raise RankEnvironmentError(f"{name} is {launched}, but {other} is {ascend}")
