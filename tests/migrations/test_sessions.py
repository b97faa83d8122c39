"""Sessions run on the NPU (NPU40x)."""

from textwrap import dedent

import pytest
from support import left_as_marked, migrate, untouched, with_tf

NPU = "from npu_bridge.npu_init import npu_config_proto\n"


def line_of(text, number=-1, **options):
    """The last line of a script once it is migrated."""
    return migrate(with_tf(text), **options).text.splitlines()[number].strip()


@pytest.mark.parametrize(
    "call, migrated",
    [
        ("tf.Session(config=c)", "tf.Session(config=npu_config_proto(config_proto=c))"),
        ("tf.Session()", "tf.Session(config=npu_config_proto())"),
        ("tf.Session('', g, c)", "tf.Session('', g, npu_config_proto(config_proto=c))"),
        ("tf.Session(graph=g)", "tf.Session(graph=g, config=npu_config_proto())"),
        ("tf.Session(config=None)", "tf.Session(config=npu_config_proto())"),
        (
            "tf.Session(config=c if g else None)",
            "tf.Session(config=npu_config_proto(config_proto=c if g else None))",
        ),
        ("tf.InteractiveSession()", "tf.InteractiveSession(config=npu_config_proto())"),
        (
            "tf.compat.v1.Session(config=tf.ConfigProto())",
            "tf.compat.v1.Session(config=npu_config_proto(config_proto=tf.ConfigProto()))",
        ),
        (
            "tf.train.MonitoredTrainingSession(hooks=[], config=c)",
            "tf.train.MonitoredTrainingSession(hooks=[], config=npu_config_proto(config_proto=c))",
        ),
        (
            "tf.train.SingularMonitoredSession()",
            "tf.train.SingularMonitoredSession(config=npu_config_proto())",
        ),
        (
            "tf.train.MonitoredSession(session_creator=tf.train.ChiefSessionCreator(config=c))",
            "tf.train.MonitoredSession(session_creator=tf.train.ChiefSessionCreator("
            "config=npu_config_proto(config_proto=c)))",
        ),
        (
            "tf.train.MonitoredSession(hooks=g)",
            "tf.train.MonitoredSession(hooks=g, session_creator="
            "tf.train.ChiefSessionCreator(config=npu_config_proto()))",
        ),
        (
            "tf.contrib.slim.learning.train(g, 'out', session_config=c)",
            "tf.contrib.slim.learning.train(g, 'out', "
            "session_config=npu_config_proto(config_proto=c))",
        ),
        (
            "tf.contrib.training.evaluate_once('out')",
            "tf.contrib.training.evaluate_once('out', config=npu_config_proto())",
        ),
        (
            "tf.contrib.predictor.from_saved_model('out')",
            "tf.contrib.predictor.from_saved_model('out', config=npu_config_proto())",
        ),
        (
            "tf.train.Supervisor().managed_session(config=c)",
            "tf.train.Supervisor().managed_session(config=npu_config_proto(config_proto=c))",
        ),
        (
            "tf.train.SessionManager().prepare_session('', config=c)",
            "tf.train.SessionManager().prepare_session('', "
            "config=npu_config_proto(config_proto=c))",
        ),
    ],
)
def test_each_maker_of_sessions(call, migrated):
    assert line_of(f"def run(c, g):\n  return {call}") == f"return {migrated}"


@pytest.mark.parametrize(
    "imported, name",
    [
        ("from tensorflow import Session", "Session"),
        ("from tensorflow.python.client import session", "session.Session"),
        ("from tensorflow.python.client.session import Session as S", "S"),
        ("import tensorflow.compat.v1 as tf1", "tf1.Session"),
    ],
)
def test_import_forms(imported, name):
    after = migrate(f"{imported}\nsess = {name}()\n").text
    assert after.endswith(f"sess = {name}(config=npu_config_proto())\n")


def test_a_supervisor_that_is_handed_over_is_assumed():
    outcome = migrate(with_tf("def run(sv):\n  return sv.managed_session('')\n"))
    assert "managed_session('', config=npu_config_proto())" in outcome.text
    assert outcome.findings[0].assumed


def test_what_only_looks_like_a_session_stays():
    untouched(
        """\
        import requests
        import tensorflow as tf

        class Server(object):
            def managed_session(self):
                return requests.Session()

            def prepare_session(self):
                return self

        def run(server: tf.Session):
            assert isinstance(server, tf.Session)
            Server().managed_session()
            server.prepare_session()
            return isinstance(server, (tf.Session, tf.InteractiveSession))
        """
    )


def test_what_can_not_be_followed_is_left_to_a_person():
    left_as_marked(
        """\
        import functools
        import tensorflow as tf

        class Own(tf.Session):  #! NPU403
            pass

        def run(*args, **kwargs):
            tf.Session(*args)  #! NPU402
            tf.train.MonitoredSession(**kwargs)  #! NPU402
            open_session = functools.partial(tf.Session, graph=None)  #! NPU404
            return tf.Session(config=None, **kwargs)
        """
    )


@pytest.mark.parametrize(
    "text",
    [
        """\
        config = tf.ConfigProto()
        custom = config.graph_options.rewrite_options.custom_optimizers.add()
        custom.name = "NpuOptimizer"
        custom.parameter_map["precision_mode"].s = tf.compat.as_bytes("allow_mix_precision")
        config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
        sess = tf.Session(config=config)
        """,
        """\
        def configuration():
            config = tf.ConfigProto(allow_soft_placement=True)
            custom = config.graph_options.rewrite_options.custom_optimizers.add()
            custom.name = 'NpuOptimizer'
            return config

        sess = tf.Session(config=configuration())
        """,
        """\
        config = npu_config_proto(config_proto=tf.ConfigProto())
        with tf.train.MonitoredTrainingSession(config=config) as sess:
            pass
        """,
        """\
        class Trainer(object):
            def __init__(self):
                self.config = npu_config_proto()

            def run(self):
                with tf.Session(config=self.config) as sess:
                    pass
        """,
        """\
        def run(config):
            with tf.Session(config=config) as sess:
                pass

        run(npu_config_proto())
        """,
    ],
)
def test_what_was_migrated_by_hand_stays(text):
    source = "from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig\n"
    assert untouched(with_tf(source + NPU + dedent(text))).findings == ()


def test_a_configuration_of_another_file():
    files = {
        "common.py": with_tf(NPU + "CONFIG = npu_config_proto()\ndef make():\n  return CONFIG\n"),
        "train.py": with_tf(
            """\
            import common
            from common import make
            first = tf.Session(config=common.CONFIG)
            second = tf.Session(config=make())
            """
        ),
    }
    outcome = migrate(files)
    assert outcome.texts == files
    assert outcome.findings == ()


def test_a_session_that_only_another_optimizer_was_added_to():
    after = line_of(
        """\
        other = tf.ConfigProto()
        custom = other.graph_options.rewrite_options.custom_optimizers.add()
        custom.name = "NpuOptimizer"
        plain = tf.ConfigProto()
        sess = tf.Session(config=plain)
        """
    )
    assert after == "sess = tf.Session(config=npu_config_proto(config_proto=plain))"


HELPER = with_tf(
    """\
    from tensorflow.core.protobuf import config_pb2

    def on_npu(config=None):
        if not isinstance(config, config_pb2.ConfigProto):
            config = config_pb2.ConfigProto()
        custom = config.graph_options.rewrite_options.custom_optimizers.add()
        custom.name = 'NpuOptimizer'
        return config
    """
)


@pytest.mark.parametrize(
    "text",
    [
        "from helper import on_npu\nsess = tf.Session(config=on_npu(tf.ConfigProto()))\n",
        "import helper\nsess = tf.Session(config=helper.on_npu())\n",
        "from npu_bridge.npu_init import *\nsess = tf.Session(config=npu_config_proto())\n",
        """\
        def add_npu(config):
            custom = config.graph_options.rewrite_options.custom_optimizers.add()
            custom.name = 'NpuOptimizer'

        class Trainer(object):
            def __init__(self):
                self.config = tf.ConfigProto()
                add_npu(self.config)

            def run(self):
                with tf.Session(config=self.config) as sess:
                    pass
        """,
        """\
        from npu_bridge.npu_init import npu_config_proto

        class Trainer(object):
            @staticmethod
            def open_session(name, config):
                return tf.Session(config=config)

            def run(self):
                return self.open_session('train', npu_config_proto())
        """,
    ],
)
def test_helpers_that_people_wrote(text):
    files = {"helper.py": HELPER, "train.py": with_tf(text)}
    outcome = migrate(files)
    assert outcome.texts == files
    assert outcome.findings == ()


def test_slim_is_known_as_a_package_of_its_own():
    train = "slim.learning.train(g, 'out', session_config=c)"
    given = f"import tf_slim as slim\n\ndef run(c, g):\n    {train}\n"
    outcome = migrate(with_tf(given))
    assert "session_config=npu_config_proto(config_proto=c)" in outcome.text


def test_the_old_spelling_of_a_supervisors_method():
    given = "def run(c):\n    return tf.train.Supervisor().PrepareSession('', config=c)\n"
    outcome = migrate(with_tf(given))
    assert "PrepareSession('', config=npu_config_proto(config_proto=c))" in outcome.text
