"""What the NPU does not support, and where it does no harm."""

import pytest

from tests.migrations.support import left_as_marked, migrate, untouched, with_tf


@pytest.mark.parametrize(
    "expression, code",
    [
        ("tf.CriticalSection()", "NPU905"),
        ("tf.enable_eager_execution()", "NPU906"),
        ("tf.compat.v1.enable_v2_behavior()", "NPU906"),
        ("tf.contrib.eager.enable_eager_execution()", "NPU906"),
        ("tf.config.experimental_run_functions_eagerly(True)", "NPU906"),
        ("tf.enable_tensor_equality()", "NPU907"),
        ("tf.train.start_queue_runners(session)", "NPU909"),
        ("tf.train.shuffle_batch([x], 4, 100, 10)", "NPU909"),
        ("tf.WholeFileReader()", "NPU909"),
        ("tf.queue.FIFOQueue(3, tf.int32)", "NPU909"),
        ("tf.math.is_inf(x)", "NPU910"),
        ("tf.debugging.is_nan(x)", "NPU910"),
        ("tf.keras.layers.CuDNNGRU(4)", "NPU911"),
        ("tf.contrib.cudnn_rnn.CudnnLSTM(1, 4)", "NPU911"),
        ("tf.random.experimental.get_global_generator()", "NPU912"),
        ("tf.tpu.rewrite(f)", "NPU913"),
        ("tf.contrib.tpu.shard(f)", "NPU913"),
        ("tf.distribute.experimental.TPUStrategy(x)", "NPU914"),
        ("tf.cast(x, tf.float64)", "NPU915"),
        ("tf.placeholder(dtype=tf.complex64)", "NPU915"),
        ("tf.get_variable('v', [], dtype='float64')", "NPU915"),
        ("tf.zeros([2], np.float64)", "NPU915"),
        ("tf.to_double(x)", "NPU915"),
    ],
)
def test_what_the_npu_does_not_support(expression, code):
    untouched(f"import numpy as np\nimport tensorflow as tf\nvalue = {expression}  #! {code}\n")


@pytest.mark.parametrize(
    "script",
    [
        "from tensorflow.contrib import tpu\ntpu.rewrite(f)  #! NPU913\n",
        "from tensorflow.contrib.tpu import CrossShardOptimizer as CSO\nCSO(opt)  #! NPU913\n",
        "from tensorflow.python.training import input as t\nt.input_producer(f)  #! NPU909\n",
        "from tensorflow.python.keras.layers import CuDNNLSTM\nCuDNNLSTM(4)  #! NPU911\n",
        "from tensorflow.python.eager import context\nx = context.executing_eagerly()  #! NPU908\n",
    ],
)
def test_names_are_known_by_every_path(script):
    untouched("f = opt = None\n" + script)


@pytest.mark.parametrize(
    "statement",
    [
        "import pynvml  #! NPU916",
        "from nvidia import dali  #! NPU916",
        "import nvidia.dali.plugin.tf as dali_tf  #! NPU916",
        "import multiprocessing\nmultiprocessing.get_context('fork')  #! NPU917",
    ],
)
def test_packages_and_processes(statement):
    untouched(statement + "\n")


def test_names_decide():
    untouched("""
        from mylib import shard, rewrite, tpu, is_nan, CriticalSection

        shard(rewrite(tpu.replicate()), is_nan(1), CriticalSection(), dtype='float64')
    """)


# Where it is never reached


UNREACHED = """
import tensorflow as tf
FLAGS = tf.flags.FLAGS

def wrap(optimizer, params, use_tpu):
{body}
    return optimizer
"""

WRAP = "optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)"


@pytest.mark.parametrize(
    "body",
    [
        f"    if use_tpu:\n        {WRAP}",
        f"    if FLAGS.use_tpu and FLAGS.cores > 1:\n        {WRAP}",
        f"    if params['use_tpu']:\n        {WRAP}",
        f"    if params.get('use_tpu', False):\n        {WRAP}",
        f"    if not use_tpu:\n        pass\n    else:\n        {WRAP}",
        f"    if not FLAGS.use_tpu:\n        return optimizer\n    {WRAP}",
        f"    if tf.executing_eagerly():\n        {WRAP}",
        f"    on = FLAGS.use_tpu\n    if on:\n        {WRAP}",
        "    optimizer = tf.tpu.CrossShardOptimizer(optimizer) if use_tpu else optimizer",
    ],
)
def test_branches_that_are_never_taken_hold_notes(body):
    outcome = untouched(UNREACHED.format(body=body))
    assert [code for _, code in outcome.notes if code == "NPU913"] == ["NPU913"]
    assert all(finding.assumed for finding in outcome.of("NPU913"))


@pytest.mark.parametrize(
    "body",
    [
        f"    if not use_tpu:\n        {WRAP}  #! NPU913",
        f"    if use_tpu or params:\n        {WRAP}  #! NPU913",
        f"    if use_tpu:\n        pass\n    {WRAP}  #! NPU913",
        f"    use_tpu = True\n    if use_tpu:\n        {WRAP}  #! NPU913",
        f"    on = params or use_tpu\n    if on:\n        {WRAP}  #! NPU913",
        f"    if FLAGS.tpu_name:\n        {WRAP}  #! NPU913",
    ],
)
def test_branches_that_may_be_taken(body):
    untouched(UNREACHED.format(body=body))


def test_asking_for_eager_execution():
    outcome = left_as_marked(
        with_tf("""
        def build(x):
            if tf.executing_eagerly():
                raise RuntimeError('graphs only')
            return tf.executing_eagerly()  #! NPU908

        def build_eagerly(x):
            if not tf.executing_eagerly():  #! NPU908
                raise RuntimeError('no graphs')
        """)
    )
    assert [code for _, code in outcome.notes] == ["NPU908"]


def test_a_package_that_may_be_missing_is_a_note():
    outcome = left_as_marked("""
        try:
            import cupy
        except ImportError:
            cupy = None
        try:
            import pynvml  #! NPU916
        except ImportError:
            raise SystemExit('install pynvml')
    """)
    assert [code for _, code in outcome.notes] == ["NPU916"]


# The host


def test_what_a_dataset_calls_runs_on_the_host():
    left_as_marked(
        with_tf("""
        import functools
        import numpy as np

        def known(x):
            return tf.where(tf.is_nan(x), tf.zeros_like(x), x)

        def parse(size, x):
            return known(tf.cast(x, tf.float64))

        def clean(x):
            return tf.is_finite(x)  #! NPU910

        def pipeline(files):
            spec = {'x': tf.FixedLenFeature([], tf.float64)}
            dataset = tf.data.Dataset.from_generator(files, tf.float64)
            parse_three = functools.partial(parse, 3)
            dataset = dataset.map(parse_three).filter(lambda x: clean(x))
            weights = np.zeros([2], dtype=np.float64)
            return dataset, spec, weights, weights.dtype == tf.float64

        def model(x):
            return clean(x)
        """)
    )


def test_a_check_is_reported_once():
    outcome = migrate(
        with_tf("""
        def train(opt, loss):
            gvs = opt.compute_gradients(loss)
            finite = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g, _ in gvs])
            return tf.cond(finite, lambda: opt.apply_gradients(gvs), tf.no_op)
        """)
    )
    assert [code for _, code in outcome.left] == ["NPU124"]


def test_a_type_of_the_users_own_layer_is_assumed():
    outcome = untouched(
        with_tf("""
        class Layer(tf.keras.layers.Layer):
            def build(self, shape):
                self.w = self.add_weight(shape=shape, dtype=tf.float64)  #! NPU915
        """)
    )
    assert outcome.of("NPU915")[0].assumed
