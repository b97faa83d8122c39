"""Two and three real processes, connected by Gloo, against one process on the whole data."""

import json
import pathlib

import pytest

tf = pytest.importorskip("tensorflow.compat.v1", reason="needs TensorFlow 1.15")
pytest.importorskip("horovod.tensorflow", reason="needs Horovod built for TensorFlow")

import numpy as np  # noqa: E402
import rank_scenarios  # noqa: E402
from npu_run import npu_run  # noqa: E402

SCENARIOS = pathlib.Path(rank_scenarios.__file__)


@pytest.fixture(scope="module", params=[2, 3], ids=["two ranks", "three ranks"])
def seen(request, tmp_path_factory):
    """What each rank saw."""
    folder = tmp_path_factory.mktemp("ranks")
    job = npu_run("-np", request.param, SCENARIOS, folder)
    assert job.returncode == 0, job.stderr[-9000:]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(request.param)]


@pytest.fixture(scope="module")
def alone():
    """What one process sees that trains on the whole data."""
    return rank_scenarios.observations()


def test_ranks_are_known_before_anything_is_initialized(seen):
    size = len(seen)
    assert [rank["ranks"] for rank in seen] == [[size, r, size, r] for r in range(size)]
    assert [rank["initialized"] for rank in seen] == [[False, True]] * size


@pytest.mark.parametrize("optimizer", sorted(rank_scenarios.OPTIMIZERS))
def test_weights_are_those_of_one_process_on_the_joined_batch(seen, alone, optimizer):
    key = f"train {optimizer}"
    for rank in seen:
        assert rank[key] == seen[0][key]
        for ours, theirs in zip(rank[key], alone[key]):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("key", ["trainer None", "keras class", "keras wrapper"])
def test_trainer_and_keras_too(seen, alone, key):
    for rank in seen:
        for ours, theirs in zip(rank[key], alone[key]):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_clipping_by_the_norm_of_the_averaged_gradients(seen):
    assert all(rank["trainer 0.5"] == seen[0]["trainer 0.5"] for rank in seen)
    moved = 1.0 - np.array(seen[0]["trainer 0.5"][0])
    unclipped = 1.0 - np.array(seen[0]["trainer None"][0])
    assert 0 < np.linalg.norm(moved) < 0.2 * np.linalg.norm(unclipped)


def test_sparse_gradients_stay_sparse_with_the_slices_of_all(seen):
    for rank in seen:
        assert rank["sparse gradient"] == ["IndexedSlices", rank_scenarios.EXAMPLES]


OVERFLOWS = [
    "overflow pair saturation",
    "overflow pair inf_nan",
    "overflow one_class saturation",
    "overflow one_class inf_nan",
    "overflow trainer",
]


@pytest.mark.parametrize("key", OVERFLOWS)
def test_an_overflow_on_one_rank_makes_all_skip(seen, key):
    """It happens in the second step: there the scale halves, and nothing else moves."""
    for rank in seen:
        assert rank[key] == seen[0][key]
    scales, steps, weights = zip(*seen[0][key])
    assert scales == (16.0, 8.0, 8.0, 8.0)
    assert steps == (1, 1, 2, 3)
    assert weights[0] == weights[1]
    assert weights[0] != weights[2] != weights[3]


def test_without_agreement_ranks_drift_apart(seen):
    """`is_distributed` forgotten: as on the NPU, only the rank that overflowed skips."""
    key = "overflow, agreeing on nothing"
    *others, last = [rank[key][1] for rank in seen]
    assert last[:2] == [8.0, 1]
    assert all(other[:2] == [16.0, 2] for other in others)


def test_horovods_collectives(seen):
    size = len(seen)
    mine = [np.array([rank + 1.0, 10.0 * (rank + 1)]) for rank in range(size)]
    for rank, values in enumerate(seen):
        collectives = values["collectives"]
        for name, expected in {
            "average": np.mean(mine, axis=0),
            "sum": np.sum(mine, axis=0),
            "min": np.min(mine, axis=0),
            "max": np.max(mine, axis=0),
            "product": np.prod(mine, axis=0),
            "scaled": np.sum(mine, axis=0) / 2,
            "fp16": [np.inf, np.inf],
            "broadcast": mine[-1],
            "gathered": np.concatenate([[r + 1.0] * (r + 1) for r in range(size)]),
            "alltoall": np.repeat(np.arange(size) + 1.0, 2),
            "equal_alltoall": np.repeat(np.arange(size) + 1.0, 2),
            "alltoall_counts": [2] * size,
            "variables": [size - 1.0] * 2,
            "size": size,
            "rank": rank,
            "local_rank": rank,
        }.items():
            np.testing.assert_allclose(collectives[name], expected, rtol=1e-6, err_msg=name)
        for name, factor in {"sparse_average": 1 / size, "sparse_sum": 1.0}.items():
            slices, indices = collectives[name]
            np.testing.assert_allclose(slices, np.array(mine) * factor, rtol=1e-6)
            assert indices == list(range(size))


def test_the_vendors_collectives(seen):
    size = len(seen)
    mine = [np.arange(2.0 * size) + rank for rank in range(size)]
    total = np.sum(mine, axis=0)
    for rank, values in enumerate(seen):
        collectives = values["vendor's collectives"]
        assert collectives["allreduce"] == total.tolist()
        assert collectives["allgather"] == list(range(size))
        assert collectives["broadcast"] == [mine[0].tolist(), mine[0][:1].tolist()]
        assert collectives["reduce_scatter"] == total[2 * rank : 2 * rank + 2].tolist()
        np.testing.assert_allclose(collectives["npu_allreduce"][0], total / size, rtol=1e-6)
    assert seen[0]["vendor's collectives"]["reduce"] == np.max(mine, axis=0).tolist()


def test_hooks_and_callbacks_start_all_from_rank_0(seen):
    assert [rank["from rank 0"] for rank in seen] == [[5.0, 7.0, 9.0]] * len(seen)


def test_the_vendors_rank_functions_and_variables(seen):
    size = len(seen)
    for rank, values in enumerate(seen):
        assert values["vendor's ranks"] == [
            [0, 1],
            [rank, size],
            [str(rank), str(size), str(rank)],
            str(size),
        ]
