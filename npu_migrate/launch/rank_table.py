"""The rank table of an Ascend job: a JSON file that lists every device of every server.

Source: "Rank table configuration" of the CANN documentation. Its version 1.0 reads

    {"server_list": [{"server_id": "192.0.2.1",
                      "device": [{"device_id": "0", "rank_id": "0", ...}, ...]}, ...], ...}
"""

import json
from typing import Any, List, NamedTuple, Tuple


class RankTableError(ValueError):
    """The rank table cannot be read or does not say what it must."""


class Server(NamedTuple):
    """One machine of the job: its identity, and the devices and ranks on it, in rank order."""

    server_id: str
    devices: Tuple[int, ...]
    ranks: Tuple[int, ...]


class RankTable(NamedTuple):
    """All machines of a job, in the order of the file."""

    servers: Tuple[Server, ...]

    @property
    def size(self) -> int:
        """How many devices the table lists."""
        return sum(len(server.ranks) for server in self.servers)

    def server_of(self, rank: int) -> Server:
        """The machine that a rank runs on."""
        for server in self.servers:
            if rank in server.ranks:
                return server
        raise RankTableError(f"rank {rank} is not in the rank table")

    @classmethod
    def read(cls, path: str) -> "RankTable":
        """Reads a rank table.

        Raises:
          RankTableError: the file cannot be read, is no JSON, or its ranks are not 0, 1, 2, ...
        """
        try:
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
        except (OSError, ValueError) as error:
            raise RankTableError(f"cannot read the rank table {path}: {error}") from None
        try:
            servers = tuple(_server(entry) for entry in content["server_list"])
        except (KeyError, TypeError, ValueError) as error:
            raise RankTableError(f"{path} is no rank table: {error!r}") from None
        ranks: List[int] = sorted(rank for server in servers for rank in server.ranks)
        if ranks != list(range(len(ranks))) or not ranks:
            raise RankTableError(f"the ranks of {path} are {ranks}, not 0, 1, 2, ...")
        return cls(servers)


def _server(entry: Any) -> Server:
    devices = sorted((int(d["rank_id"]), int(d["device_id"])) for d in entry["device"])
    return Server(
        server_id=str(entry["server_id"]),
        devices=tuple(device for _, device in devices),
        ranks=tuple(rank for rank, _ in devices),
    )
