"""Several NPUs: one process a device, with the environment that the vendor's package reads."""

import os
import socket
from typing import Dict, List, Mapping, NamedTuple, Optional

from npu_migrate.launch.environment import Ranks, ascend_variables
from npu_migrate.launch.rank_table import RankTable, RankTableError, Server

_CM_VARIABLES = (
    "CM_CHIEF_IP",
    "CM_CHIEF_PORT",
    "CM_CHIEF_DEVICE",
    "CM_WORKER_SIZE",
    "CM_WORKER_IP",
)


class JobDescriptionError(ValueError):
    """What was asked for does not describe a job that can be started here."""


class JobRequest(NamedTuple):
    """What the user asked for.

    Attributes:
      processes: how many processes on this machine; None to take it from the rank table.
      rank_table: path of a rank table, if there is one.
      server: `server_id` of this machine in it; by default found by its addresses.
      first_rank: rank of this machine's first process, for jobs over several machines without a
        rank table.
    """

    processes: Optional[int] = None
    rank_table: Optional[str] = None
    server: Optional[str] = None
    first_rank: Optional[int] = None


def rank_environments(
    request: JobRequest, environ: Optional[Mapping[str, str]] = None
) -> Dict[int, Dict[str, str]]:
    """The variables of each rank that this machine is to run.

    With a rank table the ranks are those that it lists for this machine. Without one, `CM_*`
    variables describe the job; where they are not set, it is one on this machine alone.

    Args:
      request: what the user asked for.
      environ: the variables to read, by default those of this process.

    Raises:
      JobDescriptionError: the request and the environment do not fit; the message says what to do.
    """
    environ = os.environ if environ is None else environ
    if request.rank_table is not None:
        environments = _from_rank_table(request, environ)
    else:
        environments = _from_cm_variables(request, environ)
    job = environ.get("JOB_ID", str(os.getpid()))
    return {rank: {"JOB_ID": job, **variables} for rank, variables in environments.items()}


def _from_rank_table(request: JobRequest, environ: Mapping[str, str]) -> Dict[int, Dict[str, str]]:
    _refuse_both_descriptions(environ)
    path = os.path.abspath(request.rank_table or "")
    try:
        table = RankTable.read(path)
    except RankTableError as error:
        raise JobDescriptionError(str(error)) from None
    server = _this_server(table, request.server)
    if request.processes not in (None, len(server.ranks)):
        raise JobDescriptionError(
            f"-np is {request.processes}, but the rank table lists {len(server.ranks)} devices "
            f"for this machine ({server.server_id}): leave -np out"
        )
    environments = {}
    for local_rank, (rank, device) in enumerate(zip(server.ranks, server.devices)):
        ranks = Ranks(table.size, rank, len(server.ranks), local_rank)
        environments[rank] = {"RANK_TABLE_FILE": path, **ascend_variables(ranks, device)}
    return environments


def _from_cm_variables(
    request: JobRequest, environ: Mapping[str, str]
) -> Dict[int, Dict[str, str]]:
    local_size = request.processes or 1
    cluster = {name: environ[name] for name in _CM_VARIABLES if name in environ}
    if not cluster:
        cluster = _one_machine(local_size)
    missing = [name for name in _CM_VARIABLES if name not in cluster]
    if missing:
        raise JobDescriptionError(f"{', '.join(missing)} must be set beside {', '.join(cluster)}")
    try:
        size = int(cluster["CM_WORKER_SIZE"])
    except ValueError:
        raise JobDescriptionError(
            f"CM_WORKER_SIZE is {cluster['CM_WORKER_SIZE']!r}, which is no number"
        ) from None
    first_rank = request.first_rank
    if first_rank is None:
        if size != local_size:
            raise JobDescriptionError(
                f"CM_WORKER_SIZE is {size} but -np is {local_size}: say with --first-rank which "
                "rank the first process of this machine has"
            )
        first_rank = 0
    if first_rank + local_size > size:
        raise JobDescriptionError(
            f"ranks {first_rank} to {first_rank + local_size - 1} do not fit into "
            f"CM_WORKER_SIZE={size}"
        )
    environments = {}
    for local_rank in range(local_size):
        ranks = Ranks(size, first_rank + local_rank, local_size, local_rank)
        variables = ascend_variables(ranks)
        del variables["RANK_SIZE"]  # the vendor's package refuses it beside CM_WORKER_SIZE
        environments[ranks.rank] = {**cluster, **variables}
    return environments


def _one_machine(size: int) -> Dict[str, str]:
    return {
        "CM_CHIEF_IP": "127.0.0.1",
        "CM_CHIEF_PORT": str(_free_port()),
        "CM_CHIEF_DEVICE": "0",
        "CM_WORKER_SIZE": str(size),
        "CM_WORKER_IP": "127.0.0.1",
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _refuse_both_descriptions(environ: Mapping[str, str]) -> None:
    cluster = [name for name in _CM_VARIABLES if name in environ]
    if cluster:
        raise JobDescriptionError(
            f"--rank-table and {', '.join(cluster)} both describe the job: unset the variables, "
            "or leave the option out"
        )


def _this_server(table: RankTable, wanted: Optional[str]) -> Server:
    if wanted is None and len(table.servers) == 1:
        return table.servers[0]
    names = [wanted] if wanted is not None else _own_addresses()
    for server in table.servers:
        if server.server_id in names:
            return server
    known = ", ".join(server.server_id for server in table.servers)
    raise JobDescriptionError(
        f"this machine ({', '.join(names)}) is none of the rank table's ({known}): "
        "say with --server which it is"
    )


def _own_addresses() -> List[str]:
    name = socket.gethostname()
    try:
        found = socket.getaddrinfo(name, None)
    except socket.gaierror:
        return [name]
    return sorted({name, *(str(entry[4][0]) for entry in found)})
