"""What the environment says about the ranks, and what is wrong with it."""

import json

import pytest

from npu_migrate.launch.environment import RankEnvironmentError, Ranks, current_ranks
from npu_migrate.launch.rank_table import RankTable, RankTableError

HOROVOD = {
    "HOROVOD_SIZE": "4",
    "HOROVOD_RANK": "3",
    "HOROVOD_LOCAL_SIZE": "2",
    "HOROVOD_LOCAL_RANK": "1",
}
OPEN_MPI = {name.replace("HOROVOD_", "OMPI_COMM_WORLD_"): value for name, value in HOROVOD.items()}


@pytest.fixture
def rank_table(tmp_path):
    """Two servers with two devices each."""
    servers = [
        {
            "server_id": f"192.0.2.{server}",
            "device": [
                {"device_id": str(device), "rank_id": str(2 * server + device)} for device in (1, 0)
            ],
        }
        for server in range(2)
    ]
    path = tmp_path / "rank_table.json"
    path.write_text(json.dumps({"version": "1.0", "server_list": servers}))
    return str(path)


@pytest.mark.parametrize(
    "environ, ranks",
    [
        ({}, Ranks(1, 0, 1, 0)),
        ({"RANK_SIZE": "1"}, Ranks(1, 0, 1, 0)),
        ({"RANK_ID": "0"}, Ranks(1, 0, 1, 0)),
        ({"RANK_SIZE": "8", "RANK_ID": "5"}, Ranks(8, 5, 8, 5)),
        ({"RANK_SIZE": "8", "RANK_ID": "5", "DEVICE_ID": "1"}, Ranks(8, 5, 8, 1)),
        ({"CM_WORKER_SIZE": "8", "RANK_ID": "5"}, Ranks(8, 5, 8, 5)),
        (HOROVOD, Ranks(4, 3, 2, 1)),
        (OPEN_MPI, Ranks(4, 3, 2, 1)),
        ({**HOROVOD, "RANK_SIZE": "4", "RANK_ID": "3"}, Ranks(4, 3, 2, 1)),
    ],
)
def test_ranks(environ, ranks):
    assert current_ranks(environ) == ranks


def test_the_rank_table_tells_who_is_on_this_machine(rank_table):
    environ = {"RANK_SIZE": "4", "RANK_ID": "3", "RANK_TABLE_FILE": rank_table}
    assert current_ranks(environ) == Ranks(4, 3, 2, 1)


@pytest.mark.parametrize(
    "environ, message",
    [
        ({"RANK_SIZE": "2"}, "RANK_ID is not set.*npu-run"),
        ({"CM_WORKER_SIZE": "2"}, "RANK_ID is not set"),
        ({"RANK_SIZE": "two"}, "RANK_SIZE is 'two', which is no number"),
        ({"RANK_SIZE": ""}, "RANK_SIZE is ''"),
        ({"RANK_SIZE": "0"}, "RANK_SIZE is 0, but must be at least 1"),
        ({"RANK_SIZE": "2", "RANK_ID": "2"}, "RANK_ID is 2, but RANK_SIZE is only 2"),
        ({"RANK_SIZE": "2", "RANK_ID": "-1"}, "RANK_ID is -1"),
        ({"RANK_ID": "1"}, "RANK_ID is 1 but RANK_SIZE is not set"),
        ({"RANK_SIZE": "2", "CM_WORKER_SIZE": "2"}, "RANK_SIZE and CM_WORKER_SIZE are both set"),
        ({"HOROVOD_SIZE": "2", "HOROVOD_RANK": "0"}, "HOROVOD_LOCAL_SIZE is not set"),
        ({**HOROVOD, "RANK_SIZE": "8", "RANK_ID": "3"}, "HOROVOD_SIZE is 4, but RANK_SIZE is 8"),
        ({**HOROVOD, "RANK_SIZE": "4", "RANK_ID": "2"}, "HOROVOD_RANK is 3, but RANK_ID is 2"),
        (
            {**OPEN_MPI, "CM_WORKER_SIZE": "8", "RANK_ID": "3"},
            "OMPI_COMM_WORLD_SIZE is 4, but CM_WORKER_SIZE is 8",
        ),
        (
            {"RANK_SIZE": "2", "RANK_ID": "0", "RANK_TABLE_FILE": "/nowhere/table.json"},
            "RANK_TABLE_FILE: cannot read .*/nowhere/table.json",
        ),
    ],
)
def test_what_is_wrong_is_named(environ, message):
    with pytest.raises(RankEnvironmentError, match=message):
        current_ranks(environ)


def test_a_rank_table_of_another_size(rank_table):
    environ = {"RANK_SIZE": "8", "RANK_ID": "3", "RANK_TABLE_FILE": rank_table}
    with pytest.raises(RankEnvironmentError, match="RANK_SIZE is 8, .*RANK_TABLE_FILE.*lists 4"):
        current_ranks(environ)


@pytest.mark.parametrize(
    "content, message",
    [
        ("{", "cannot read"),
        ("{}", "no rank table"),
        ('{"server_list": []}', "ranks of .* are \\[\\]"),
        (
            '{"server_list": [{"server_id": "a", "device": [{"device_id": "0", "rank_id": "1"}]}]}',
            "are \\[1\\], not 0, 1, 2",
        ),
    ],
)
def test_a_bad_rank_table(tmp_path, content, message):
    path = tmp_path / "table.json"
    path.write_text(content)
    with pytest.raises(RankTableError, match=message):
        RankTable.read(str(path))
