"""What a training writes and reads of checkpoints is noted, in all ways that TensorFlow has."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is None, reason="needs TensorFlow 1.15"
)

SCRIPT = """\
import collections, json, os, sys
import tensorflow as tf
from npu_migrate.verify.recorder.checkpoints import watch_checkpoints

notes = collections.defaultdict(lambda: ([], []))
place = ""
def note(use, file):
    notes[place][use == "read"].append(os.path.basename(file.split(" ")[0]))
    files[use].add(file)
files = {"wrote": set(), "read": set()}
watch_checkpoints(note)

v = tf.get_variable("v", [])
with tf.Session() as session:
    session.run(v.initializer)
    place = "saver"
    saver = tf.train.Saver()
    saver.save(session, "saver/model", global_step=3)
    saver.restore(session, tf.train.latest_checkpoint("saver"))
    place = "state"
    tf.train.get_checkpoint_state("saver")
    place = "object"
    checkpoint = tf.train.Checkpoint(v=v)
    path = checkpoint.save("object/model", session=session)
    checkpoint.restore(path)
    place = "nowhere"
    tf.train.latest_checkpoint("nowhere")
tf.keras.backend.clear_session()
place = "keras"
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
model.save_weights("weights.h5")
model.load_weights("weights.h5")
model.save("model.h5")
tf.keras.models.load_model("model.h5", compile=False)
assert files["read"] <= files["wrote"]
json.dump(notes, open("notes.json", "w"))
"""


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    """By way, the names of the files that were written and read."""
    folder = tmp_path_factory.mktemp("noted")
    variables = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[2])}
    command = [sys.executable, "-c", SCRIPT]
    subprocess.run(command, cwd=str(folder), env=variables, check=True)
    return json.loads((folder / "notes.json").read_text())


@pytest.mark.parametrize(
    "way, wrote, read",
    [
        ("saver", {"checkpoint", "model-3.index"}, {"checkpoint", "model-3.index"}),
        ("state", set(), {"checkpoint"}),
        ("object", {"checkpoint", "model-1.index"}, {"model-1.index"}),
        ("keras", {"weights.h5", "model.h5"}, {"weights.h5", "model.h5"}),
    ],
)
def test_what_is_noted(notes, way, wrote, read):
    assert [set(names) for names in notes[way]] == [wrote, read]


def test_nothing_is_noted_of_what_is_not_there(notes):
    assert "nowhere" not in notes
