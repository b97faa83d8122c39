"""What is said of a name that is not the one of the loss."""

import pytest

tf = pytest.importorskip("tensorflow.compat.v1", reason="needs TensorFlow 1.15")

from npu_migrate.verify.recorder.closure import closure  # noqa: E402
from npu_migrate.verify.recorder.loss_name import why_not_named  # noqa: E402


@pytest.fixture
def said():
    """A function that gives what is said of a name in a small model."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.name_scope("model"), tf.name_scope("loss"):
            loss = tf.square(x - 1.0, name="square")
        tf.identity(x, name="accuracy")
        branch = tf.cond(x > 0.0, lambda: tf.identity(x, name="inner"), lambda: x)
        done = tf.group(loss, branch)

    def said(name, found=(loss,)):
        return why_not_named(graph, name, closure([done]), found)

    return said


@pytest.mark.parametrize(
    "name, words",
    [
        ("loss", ["there is no tensor loss in the graph.", "model/loss/square:0"]),
        ("model/loss/squared:0", ["there is no tensor", "model/loss/square:0"]),
        ("model/loss/square:7", ["there is no tensor"]),
        ("no such:name", ["there is no tensor no such:name"]),
        ("accuracy", ["no step computes accuracy."]),
        ("cond/inner", ["cond/inner is computed in a branch"]),
    ],
)
def test_why(said, name, words):
    told = said(name)
    assert all(word in told for word in words)
    assert "Without --loss, model/loss/square:0 is taken." in told


def test_nothing_is_promised_where_no_loss_is_found(said):
    assert "Without --loss" not in said("loss", found=())
