"""Horovod's Keras API, Horovod's own beside the adapter's, on two real processes over Gloo."""

import json
import pathlib

import pytest

pytest.importorskip("tensorflow.compat.v1", reason="needs TensorFlow 1.15")
pytest.importorskip("horovod.tensorflow", reason="needs Horovod built for TensorFlow")

import keras_ranks  # noqa: E402
from npu_run import npu_run  # noqa: E402

SCRIPT = pathlib.Path(keras_ranks.__file__)
HOROVOD = "import horovod.tensorflow.keras as hvd"
ADAPTER = "from npu_migrate.runtime.ops_adapter import keras as hvd"


def test_the_adapter_trains_as_horovod_does(tmp_path):
    text = SCRIPT.read_text()
    assert HOROVOD in text
    seen = []
    for number, module in enumerate((HOROVOD, ADAPTER)):
        folder = tmp_path / str(number)
        folder.mkdir()
        script = folder / "script.py"
        script.write_text(text.replace(HOROVOD, module))
        job = npu_run("-np", 2, script, folder)
        assert job.returncode == 0, job.stderr[-5000:]
        seen.append([json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)])
    horovods, ours = seen
    for theirs, mine in zip(horovods, ours):
        assert sorted(mine) == sorted(theirs)
        for key, values in theirs.items():
            if key == "weights":
                values, mine[key] = sum(values, []), sum(mine[key], [])
            assert mine[key] == pytest.approx(values, rel=1e-5), key
    assert ours[0] == ours[1]
    assert ours[0]["sum"] == 3.0
