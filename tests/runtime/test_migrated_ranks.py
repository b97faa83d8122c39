"""A Horovod script, migrated, in two processes: the weights of one process on the joined batch."""

import json
import pathlib

import pytest

tf = pytest.importorskip("tensorflow.compat.v1", reason="needs TensorFlow 1.15")
pytest.importorskip("horovod.tensorflow", reason="needs Horovod built for TensorFlow")

import numpy as np  # noqa: E402
from npu_run import npu_run  # noqa: E402

from npu_migrate.engine import migrate  # noqa: E402
from npu_migrate.options import Options  # noqa: E402
from npu_migrate.rules import load  # noqa: E402
from npu_migrate.sources import Source  # noqa: E402

ORIGINAL = pathlib.Path(__file__).with_name("horovod_script.py")


@pytest.fixture(scope="module", params=["", "128"], ids=["as it is", "with a loss scale"])
def seen(request, tmp_path_factory):
    """What one process sees, and what each of two sees."""
    folder = tmp_path_factory.mktemp("migrated")
    script = folder / "train.py"
    source = Source(str(script), given=ORIGINAL.read_bytes())
    [result] = migrate([source], load(), Options(loss_scale=request.param))
    assert b"import horovod" not in result.after
    assert (b"NPULossScaleOptimizer(" in result.after) == bool(request.param)
    script.write_bytes(result.after)
    return run(script, 1), run(script, 2), request.param


def run(script, size):
    folder = script.parent / str(size)
    folder.mkdir()
    job = npu_run("-np", size, script, folder)
    assert job.returncode == 0, job.stderr[-9000:]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(size)]


@pytest.mark.parametrize("style", ["session", "by hand", "hooks"])
def test_two_ranks_train_as_one_does(seen, style):
    [alone], ranks, _ = seen
    step, weights = alone[style]
    assert step == 4
    assert not np.allclose(weights, [1.0, 2.0, 3.0])
    for rank in ranks:
        assert rank[style][0] == step
        np.testing.assert_allclose(rank[style][1], weights, rtol=1e-5)


def test_an_overflow_on_one_rank_is_skipped_by_both(seen):
    """The gradients are averaged by hand; without a loss scale the weights are lost."""
    _, ranks, scale = seen
    assert ranks[0]["overflow"][0] == (3 if scale else 4)
    assert bool(np.all(np.isfinite(ranks[0]["overflow"][1]))) == bool(scale)
    if scale:
        assert ranks[0]["overflow"] == ranks[1]["overflow"]
