"""What the NPU computes otherwise, or not at all (NPU709 to NPU713)."""

import pytest
from support import left_as_marked, migrate, untouched, with_bridge, with_tf

SCALED = """
manager = FixedLossScaleManager(1024)

def train(opt, loss):
    return NPULossScaleOptimizer(opt, manager).minimize(loss)
"""


# Control flow ---------------------------------------------------------------------------------


def test_loops_with_changing_shapes():
    text = with_tf("""
        ANY = tf.TensorShape([None, 3])

        def grow(condition, body, x):
            open = [tf.TensorShape(None)]
            a = tf.while_loop(condition, body, [x], shape_invariants=open) #! NPU709
            b = tf.while_loop(condition, body, [x], [ANY]) #! NPU709
            shapes = (tf.TensorShape([3]), tf.TensorShape([3, None]))
            c = tf.while_loop(condition, body, (x, x), shape_invariants=shapes) #! NPU709
            return a, b, c
    """)
    left_as_marked(text)
    enabled = text.replace(
        "\nANY", "tf.enable_control_flow_v2()\ntf.enable_resource_variables()\nANY"
    )
    assert migrate(enabled).findings == ()


def test_loops_with_shapes_that_stay():
    untouched(
        with_tf("""
        def grow(condition, body, x, shape):
            a = tf.while_loop(condition, body, [x])
            b = tf.while_loop(condition, body, [x], shape_invariants=[tf.TensorShape([3])])
            c = tf.while_loop(condition, body, [x], shape_invariants=[x.get_shape()])
            d = tf.while_loop(condition, body, [x], shape_invariants=None)
            return a, b, c, d, tf.TensorShape([None])
        """)
    )


# Queues ---------------------------------------------------------------------------------------


def test_batches_by_one_thread():
    outcome = migrate(
        with_tf("""
        def batches(image, n):
            a = tf.train.batch([image], 32, num_threads=4, capacity=10)
            b = tf.train.batch([image], 32, n)
            c = tf.train.maybe_batch([image], True, 32, num_threads=n)
            d = tf.train.batch([image], 32, num_threads=1)
            e = tf.train.batch([image], 32)
            return a, b, c, d, e, image.batch(num_threads=4)
        """)
    )
    assert "tf.train.batch([image], 32, num_threads=1, capacity=10)" in outcome.text
    assert "b = tf.train.batch([image], 32, 1)" in outcome.text
    assert "tf.train.maybe_batch([image], True, 32, num_threads=1)" in outcome.text
    assert "image.batch(num_threads=4)" in outcome.text
    assert [f.code for f in outcome.findings] == ["NPU710"] * 3


# Bytes ----------------------------------------------------------------------------------------


def test_sums_of_bytes():
    left_as_marked(
        with_tf("""
        image = tf.placeholder(tf.uint8, [None, 3])
        brighter = image + 10 #! NPU711

        def difference(a, b):
            first = tf.cast(a, tf.uint8)
            total = tf.reduce_sum(first) #! NPU711
            return total, tf.subtract(first, b) #! NPU711

        def summed(a, b):
            return tf.add_n([tf.saturate_cast(a, dtype=tf.quint8), b]) #! NPU711
        """)
    )


def test_bytes_that_are_not_summed_on_the_npu():
    untouched(
        with_tf("""
        import numpy as np

        image = tf.placeholder(tf.uint8, [None, 3])
        scaled = tf.cast(image, tf.float32) - 128.0
        ordered = image * 2
        joined = tf.concat([image, image], 0)

        def parse(record):
            pixels = tf.decode_raw(record, tf.uint8)
            return shift(pixels)

        def shift(pixels):
            return tf.cast(pixels, tf.uint8) - 1

        def decode(record):
            pixels = tf.cast(tf.image.decode_jpeg(record), tf.uint8)
            return pixels - 1

        def batches(dataset):
            return dataset.map(parse).map(lambda x: tf.cast(x, tf.uint8) + 1)

        def host(a):
            return np.zeros(3, np.uint8) + np.uint8(a)
        """)
    )


# Sessions -------------------------------------------------------------------------------------


def test_sessions_that_are_never_closed():
    outcome = migrate(
        with_tf("""
        class Trainer(object):
            def __init__(self, config):
                self.sess = tf.Session(config=config)

        class Other(object):
            def start(self):
                self._session = tf.compat.v1.InteractiveSession()
                with self._session.as_default():
                    pass

        class Through(object):
            def __init__(self):
                sess = tf.Session()
                self.held = sess
        """)
    )
    assert [line for line, code in outcome.left if code == "NPU712"] == [5, 9, 15]


@pytest.mark.parametrize(
    "ending",
    [
        "    def finish(self):\n        self.sess.close()\n",
        "    def run(self):\n        with self.sess:\n            pass\n",
        "    def run(self):\n        atexit.register(self.sess.close)\n",
        "    def run(self):\n        close_session(self.sess)\n",
        "    def __exit__(self, *args):\n        self.sess.__exit__(*args)\n",
        "def finish(trainer):\n    trainer.sess.close()\n",
    ],
)
def test_sessions_that_are_closed(ending):
    text = with_tf("""
        import atexit
        from npu_bridge.npu_init import close_session

        class Trainer(object):
            def __init__(self):
                self.sess = tf.Session()
    """)
    assert [code for _, code in migrate(text).left if code == "NPU712"] == ["NPU712"]
    assert [code for _, code in migrate(text + "\n" + ending).left if code == "NPU712"] == []


def test_sessions_that_another_file_closes():
    files = {
        "model.py": with_tf("""
        class Model(object):
            def __init__(self):
                self.sess = tf.Session()
        """),
        "main.py": "import model\n\nm = model.Model()\nm.sess.close()\n",
    }
    assert migrate(files).of("NPU712") == []


def test_sessions_of_a_with_statement():
    outcome = migrate(
        with_tf("""
        class Trainer(object):
            def run(self):
                with tf.Session() as self.sess:
                    self.sess.run([])
                sess = tf.Session()
                sess.run([])

            def adopt(self, sess):
                self.sess = sess
        """)
    )
    assert outcome.of("NPU712") == []


# Guards ---------------------------------------------------------------------------------------


def test_guards_that_float16_makes_zero():
    left_as_marked(
        with_bridge(
            SCALED
            + """
EPSILON = 1e-8

def normalise(x, y, eps=1e-12):
    a = x / (tf.reduce_sum(x) + 1e-8) #! NPU713
    b = x / tf.maximum(tf.norm(y), 1e-10) #! NPU713
    c = tf.log(tf.nn.softmax(x) + EPSILON) #! NPU713
    total = EPSILON + tf.sqrt(tf.reduce_sum(y)) #! NPU713
    d = tf.divide(x, total)
    e = tf.math.log(tf.clip_by_value(tf.nn.sigmoid(x), 1e-10, 1.0)) #! NPU713
    return a, b, c, d, e

def entropy(p, q):
    q += 1e-9 #! NPU713
    return p * tf.log(p + 1e-12) / q + tf.truediv(p, 1e-10 + q) #! NPU713 NPU713
"""
        )
    )


def test_numbers_that_guard_or_are_no_guards():
    text = (
        SCALED
        + """
import numpy as np

class Adam(tf.train.Optimizer):
    def update(self, m, v):
        return tf.add(m, 0.0) / (tf.sqrt(v) + 1e-8)

def normalise(x, y, size):
    a = x / (tf.reduce_sum(x) + 1e-6)
    b = x / tf.maximum(tf.norm(y), 1e-7)
    c = np.log(np.mean(size) + 1e-10) / (np.std(size) + 1e-12)
    d = size / (len(size) + 1e-10)
    e = tf.train.AdamOptimizer(1e-9, epsilon=1e-8)
    f = tf.reduce_sum(x) + 1e-10
    g = x / (tf.cast(tf.reduce_sum(x), tf.float32) + 1e-4)
    h = tf.log(tf.reduce_sum(x) + 0.0)

    def scaled(image):
        return image / (tf.reduce_max(image) + 1e-8)

    dataset = tf.data.Dataset.from_tensors(x).map(scaled)
    return a, b, c, d, e, f, g, h
"""
    )
    untouched(with_bridge(text))


def test_guards_without_mixed_precision():
    untouched(
        with_tf("""
        def normalise(x):
            return x / (tf.reduce_sum(x) + 1e-8)
        """)
    )


def test_guards_in_another_file_of_the_program():
    files = {
        "train.py": with_bridge(SCALED + "import layers\n"),
        "layers.py": with_tf("""
        def normalise(x):
            return x / (tf.reduce_sum(x) + 1e-8)
        """),
    }
    assert migrate(files).left == [(4, "NPU713")]
