"""The environment of each rank on an Ascend machine."""

import json

import pytest

from npu_migrate.launch import ascend_job
from npu_migrate.launch.ascend_job import JobDescriptionError, JobRequest, rank_environments
from npu_migrate.launch.environment import Ranks, current_ranks

CLUSTER = {
    "CM_CHIEF_IP": "192.0.2.1",
    "CM_CHIEF_PORT": "6000",
    "CM_CHIEF_DEVICE": "0",
    "CM_WORKER_SIZE": "4",
    "CM_WORKER_IP": "192.0.2.2",
}


@pytest.fixture
def rank_table(tmp_path):
    def write(*servers):
        entries = []
        rank = 0
        for server_id, devices in servers:
            listed = []
            for device in devices:
                listed.append({"device_id": str(device), "rank_id": str(rank)})
                rank += 1
            entries.append({"server_id": server_id, "device": listed})
        path = tmp_path / "table.json"
        path.write_text(json.dumps({"server_list": entries}))
        return str(path)

    return write


def test_one_machine_describes_itself():
    environments = rank_environments(JobRequest(processes=2), {})
    assert sorted(environments) == [0, 1]
    first, second = environments[0], environments[1]
    assert second["CM_WORKER_SIZE"] == "2"
    assert second["CM_CHIEF_PORT"] == first["CM_CHIEF_PORT"]
    assert (second["RANK_ID"], second["DEVICE_ID"], second["ASCEND_DEVICE_ID"]) == ("1", "1", "1")
    assert "RANK_SIZE" not in second
    assert first["JOB_ID"] == second["JOB_ID"] != ""
    assert current_ranks(second) == Ranks(2, 1, 2, 1)


def test_several_machines_by_their_cm_variables():
    environments = rank_environments(JobRequest(processes=2, first_rank=2), CLUSTER)
    assert sorted(environments) == [2, 3]
    assert {name: environments[3][name] for name in CLUSTER} == CLUSTER
    assert (environments[3]["RANK_ID"], environments[3]["DEVICE_ID"]) == ("3", "1")


def test_a_rank_table_names_ranks_and_devices(rank_table):
    path = rank_table(("192.0.2.1", [0, 1]), ("192.0.2.2", [6, 7]))
    environments = rank_environments(JobRequest(rank_table=path, server="192.0.2.2"), {})
    assert sorted(environments) == [2, 3]
    assert environments[3] == {
        "JOB_ID": environments[2]["JOB_ID"],
        "RANK_TABLE_FILE": path,
        "RANK_SIZE": "4",
        "RANK_ID": "3",
        "DEVICE_ID": "7",
        "ASCEND_DEVICE_ID": "7",
    }
    assert current_ranks(environments[3]) == Ranks(4, 3, 2, 1)


def test_this_machine_is_found_by_its_address(rank_table, monkeypatch):
    path = rank_table(("192.0.2.1", [0]), ("192.0.2.2", [0]))
    monkeypatch.setattr(ascend_job, "_own_addresses", lambda: ["worker", "192.0.2.2"])
    assert sorted(rank_environments(JobRequest(rank_table=path), {})) == [1]


def test_a_job_keeps_its_id():
    assert rank_environments(JobRequest(), {"JOB_ID": "7"})[0]["JOB_ID"] == "7"


@pytest.mark.parametrize(
    "request_, environ, message",
    [
        (JobRequest(2), {"CM_WORKER_SIZE": "2"}, "CM_CHIEF_IP, .* must be set beside CM_WORKER"),
        (JobRequest(2), CLUSTER, "CM_WORKER_SIZE is 4 but -np is 2: .*--first-rank"),
        (JobRequest(2, first_rank=3), CLUSTER, "ranks 3 to 4 do not fit into CM_WORKER_SIZE=4"),
        (JobRequest(rank_table="table.json"), CLUSTER, "--rank-table and CM_CHIEF_IP"),
        (JobRequest(rank_table="/nowhere/table.json"), {}, "cannot read.*/nowhere/table.json"),
        (JobRequest(2), {**CLUSTER, "CM_WORKER_SIZE": "x"}, "CM_WORKER_SIZE is 'x'"),
    ],
)
def test_what_does_not_fit_is_named(request_, environ, message):
    with pytest.raises(JobDescriptionError, match=message):
        rank_environments(request_, environ)


def test_an_unknown_machine_is_named(rank_table, monkeypatch):
    path = rank_table(("192.0.2.1", [0]), ("192.0.2.2", [0]))
    monkeypatch.setattr(ascend_job, "_own_addresses", lambda: ["laptop"])
    with pytest.raises(JobDescriptionError, match="laptop.*192.0.2.1, 192.0.2.2.*--server"):
        rank_environments(JobRequest(rank_table=path), {})


def test_another_number_of_processes_than_the_table(rank_table):
    path = rank_table(("192.0.2.1", [0, 1]))
    with pytest.raises(JobDescriptionError, match="-np is 3, .* 2 devices"):
        rank_environments(JobRequest(processes=3, rank_table=path), {})
