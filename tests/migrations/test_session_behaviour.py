"""Migrated sessions train on the stand-in for the NPU, in the precision of the script."""

import types

import pytest

tf = pytest.importorskip("tensorflow", reason="needs TensorFlow 1.15, and so Python 3.7")
if not tf.__version__.startswith("1.15."):
    pytest.skip("needs TensorFlow 1.15", allow_module_level=True)

from support import migrate, with_tf  # noqa: E402

pytestmark = pytest.mark.usefixtures("bridge")

BUILD = """\
import os
import tempfile

def build():
    tf.train.get_or_create_global_step()
    weight = tf.get_variable('weight', initializer=2.0)
    loss = weight * weight
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    return loss, optimizer.minimize(loss, tf.train.get_global_step())

config = tf.ConfigProto()
losses = []

def steps(session, loss, train):
    for _ in range(3):
        losses.append(session.run(loss))
        session.run(train)
"""
LOOPS = {
    "session": """\
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            steps(session, *build)
    """,
    "monitored training": """\
        with tf.train.MonitoredTrainingSession(config=config) as session:
            steps(session, *build)
    """,
    "monitored": """\
        with tf.train.MonitoredSession() as session:
            steps(session, *build)
    """,
    "supervisor": """\
        with tf.train.Supervisor(logdir=None).managed_session(config=config) as session:
            steps(session, *build)
    """,
    "slim": """\
        def train_step(session, train, step, kwargs):
            steps(session, *build)
            return 0.0, True

        tf.contrib.slim.learning.train(
            build[1], tempfile.mkdtemp(), train_step, session_config=config)
    """,
}


@pytest.fixture
def configurations(monkeypatch):
    """The configurations of the sessions that are made."""
    found = []
    base = tf.Session.__mro__[1]
    init = base.__init__

    def recording(self, target="", graph=None, config=None):
        found.append(config)
        init(self, target, graph, config)

    monkeypatch.setattr(base, "__init__", recording)
    return found


def run(text):
    """The losses of a script."""
    module = types.ModuleType("script")
    with tf.Graph().as_default():
        exec(compile(text, "script", "exec"), module.__dict__)
    return module.losses


@pytest.mark.parametrize("switch", ["1", "0"])
@pytest.mark.parametrize("loop", LOOPS.values(), ids=list(LOOPS))
def test_it_trains_as_before(loop, switch, configurations, monkeypatch):
    variable = "TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE"
    monkeypatch.setenv(variable, "")
    original = with_tf(BUILD + f"if {switch}: os.environ['{variable}'] = '1'\nbuild = build()\n")
    original += "if True:\n" + loop
    before = run(original)
    monkeypatch.setenv(variable, "")
    configurations.clear()
    migrated = migrate(original).text
    assert "npu_config_proto(" in migrated
    assert run(migrated) == pytest.approx(before)
    assert before[-1] < before[0]
    modes = {
        optimizer.parameter_map["precision_mode_v2"].s
        for config in configurations
        for optimizer in config.graph_options.rewrite_options.custom_optimizers
    }
    assert modes == {b"mixed_float16" if switch == "1" else b""}
