"""What the recorder sees in graphs that train wrongly though their numbers may be alike."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

from npu_migrate.verify.audits import KINDS

HERE = pathlib.Path(__file__).parent

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is None, reason="needs TensorFlow 1.15"
)


@pytest.fixture(scope="module")
def graphs():
    """Name of a graph -> the names of facts that are expected, and the facts."""
    root = str(HERE.parents[1])
    done = subprocess.run(
        [sys.executable, str(HERE / "audited_graphs.py")],
        env={**os.environ, "PYTHONPATH": root, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout.decode())


def test_graphs_are_found_wrong_for_the_right_reason(graphs):
    for name, (expected, facts) in graphs.items():
        assert sorted({fact for fact, _ in facts}) == expected, name


def test_all_faults_are_tried(graphs):
    found = {fact for _, facts in graphs.values() for fact, _ in facts}
    assert set(KINDS) <= found


def detail(graphs, name):
    ((_, detail),) = graphs[name][1]
    return detail


def test_details_name_what_was_seen(graphs):
    assert detail(graphs, "step_moved_per_variable") == "Assign_1, Assign_3"
    assert "2 of 2 gradients" in detail(graphs, "gradients_go_round_the_fixed_scale")
    assert "audited_graphs.py:" in detail(graphs, "finite_check")
    assert "AdamOptimizer" in detail(graphs, "wrapped_twice")
