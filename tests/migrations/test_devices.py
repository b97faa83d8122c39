"""What becomes of GPUs: as places of operations, as what a process is pinned to, as questions."""

import pytest

from tests.migrations.support import body, left_as_marked, migrate, untouched, with_tf


def becomes(before, after):
    outcome = migrate(with_tf(before))
    assert outcome.text == with_tf(after)
    assert outcome.left == []
    return outcome


# tf.device


@pytest.mark.parametrize(
    "device",
    [
        "'/gpu:0'",
        "'/device:GPU:0'",
        "'/device:XLA_GPU:0'",
        '"GPU:0"',
        "'/job:localhost/replica:0/task:0/device:GPU:0'",
        "'/gpu:%d' % rank",
        "'/gpu:' + str(rank)",
        "'/device:GPU:{}'.format(rank)",
        "f'/gpu:{rank}'",
        "tf.DeviceSpec(device_type='GPU', device_index=0)",
    ],
)
def test_a_gpu_is_no_place_for_operations(device):
    becomes(
        f"def build(rank):\n    with tf.name_scope('x'), tf.device({device}):  # fast\n        0\n",
        "def build(rank):\n    with tf.name_scope('x'), tf.device(None):  # fast\n        0\n",
    )


@pytest.mark.parametrize(
    "device",
    ["'/cpu:0'", "None", "''", "'/job:ps/task:0'", "tensor.device", "'/device:TPU:%d' % i"],
)
def test_other_places_stay(device):
    untouched(with_tf(f"def build(tensor, i):\n    with tf.device({device}):\n        pass\n"))


@pytest.mark.parametrize(
    "before, after",
    [
        (
            "with tf.device('/gpu:0' if big else '/cpu:0'):\n    pass\n",
            "with tf.device(None if big else '/cpu:0'):\n    pass\n",
        ),
        (
            "place = '/gpu:0'\nif small:\n    place = '/cpu:0'\nwith tf.device(place):\n    pass\n",
            "place = None\nif small:\n    place = '/cpu:0'\nwith tf.device(place):\n    pass\n",
        ),
        (
            "def build(device='/gpu:0'):\n    with tf.device(device):\n        pass\n",
            "def build(device=None):\n    with tf.device(device):\n        pass\n",
        ),
        (
            "def build(x, where):\n    with tf.device(where):\n        pass\nbuild(1, '/gpu:0')\n",
            "def build(x, where):\n    with tf.device(where):\n        pass\nbuild(1, None)\n",
        ),
        (
            "class Model:\n    def __init__(self):\n        self.place = '/gpu:0'\n"
            "    def build(self):\n        with tf.device(self.place):\n            pass\n",
            "class Model:\n    def __init__(self):\n        self.place = None\n"
            "    def build(self):\n        with tf.device(self.place):\n            pass\n",
        ),
        (
            "with tf.device(lambda op: '/gpu:0' if op.type == 'MatMul' else '/cpu:0'):\n    pass\n",
            "with tf.device(lambda op: '' if op.type == 'MatMul' else '/cpu:0'):\n    pass\n",
        ),
        (
            "with tf.Graph().as_default() as graph, graph.device('/gpu:0'):\n    pass\n",
            "with tf.Graph().as_default() as graph, graph.device(None):\n    pass\n",
        ),
    ],
    ids=["choice", "variable", "default", "argument", "attribute", "function", "graph"],
)
def test_a_name_is_followed_to_where_operations_are_placed(before, after):
    becomes("big = small = True\n" + before, "big = small = True\n" + after)


def test_towers_are_for_a_person():
    left_as_marked(
        with_tf("""
        def build(parts, n):
            for i in range(n):
                with tf.device('/gpu:%d' % i):  #! NPU603
                    tf.identity(parts[i])
            for device in ['/gpu:0', '/gpu:1']:  #! NPU603
                with tf.device(device):
                    pass
            names = ['/gpu:{}'.format(i) for i in range(n)]  #! NPU603
            return names, tower(n)

        def tower(n):
            return [one(i) for i in range(n)]

        def one(i):
            with tf.device('/gpu:%d' % i):  #! NPU603
                return tf.ones([2])
        """)
    )


def test_names_of_gpus_that_go_elsewhere_are_for_a_person():
    left_as_marked(
        with_tf("""
        tf.flags.DEFINE_string('place', '/gpu:0', 'Where.')  #! NPU604
        FLAGS = tf.flags.FLAGS

        def where():
            return '/gpu:0'  #! NPU604

        def build(args, index, device):
            with tf.device('/job:worker/task:%d/gpu:0' % index):  #! NPU604
                pass
            with tf.device(FLAGS.place):  #! NPU605
                pass
            with tf.device('/%s:0' % args.kind):  #! NPU605
                pass
            with tf.device(device):  #! NPU605
                pass
            with tf.device(where()):
                pass
        """)
    )


def test_devices_that_a_function_lists_for_a_strategy_are_judged_with_it():
    left_as_marked(
        with_tf("""
            def strategy(gpus):
                devices = ["device:CPU:0"]
                if gpus:
                    devices = ["device:GPU:%d" % i for i in range(gpus)]
                return tf.distribute.MirroredStrategy(devices=devices)  #! NPU218

            def train(gpus):
                devices = ["/gpu:%d" % i for i in range(gpus)]
                mirrored = tf.distribute.MirroredStrategy(devices)
                with mirrored.scope():
                    build()

            def copies(gpus):
                devices = ["/gpu:%d" % i for i in range(gpus)]  #! NPU603
                devices = [one for one in devices]
                return build(devices)
        """)
    )


def test_the_devices_of_a_strategy_are_judged_with_it():
    outcome = migrate(
        with_tf("""
        a = tf.distribute.MirroredStrategy(devices=['/gpu:0', '/gpu:1'])
        b = tf.contrib.distribute.OneDeviceStrategy('/gpu:0')
        c = tf.distribute.MirroredStrategy(['/gpu:%d' % i for i in range(2)])
        """)
    )
    assert not [f for f in outcome.findings if f.code.startswith("NPU6")]


def test_texts_about_gpus_are_no_devices():
    untouched(
        with_tf("""
        '''Runs on /gpu:0.'''
        print('GPU:', 1)
        tf.logging.info('gpu:%d', 1)
        config = tf.ConfigProto(device_count={'GPU': 1})

        def is_fast(device):
            return device.startswith('/gpu:') or device == '/gpu:0'
        """)
    )


def test_names_decide():
    untouched("""
        from mylib import device, hosts

        with device('/gpu:0'):
            hosts.append('/gpu:1')
    """)


@pytest.mark.parametrize(
    "before, after",
    [
        (
            "dataset = dataset.apply(tf.data.experimental.prefetch_to_device('/gpu:0', 4))",
            "dataset = dataset.prefetch(4)",
        ),
        (
            "dataset = dataset.batch(2).apply(\n"
            "    tf.data.experimental.copy_to_device('/gpu:0')).prefetch(1)",
            "dataset = dataset.batch(2).prefetch(1)",
        ),
        (
            "dataset = dataset.apply(tf.data.experimental.copy_to_device('/gpu:0'))",
            "# dataset = dataset.apply(tf.data.experimental.copy_to_device('/gpu:0'))",
        ),
    ],
)
def test_datasets_are_not_copied_to_gpus(before, after):
    start = "dataset = tf.data.Dataset.range(4)\n"
    becomes(f"{start}{before}\n", f"{start}{after}\n")


# Pinning


PINNED = """\
import os
import tensorflow as tf

def setup(gpu, config):
    os.environ['OMP_NUM_THREADS'] = '4'
"""


@pytest.mark.parametrize(
    "line",
    [
        "os.environ['CUDA_VISIBLE_DEVICES'] = str(gpu)",
        "os.environ.setdefault('CUDA_VISIBLE_DEVICES', '0')",
        "os.putenv('CUDA_VISIBLE_DEVICES', gpu)",
        "os.environ.update({'CUDA_VISIBLE_DEVICES': gpu})",
        "os.environ.update(CUDA_VISIBLE_DEVICES=gpu)",
        "if 'CUDA_VISIBLE_DEVICES' not in os.environ:\n"
        "        os.environ['CUDA_VISIBLE_DEVICES'] = gpu",
        "config.gpu_options.visible_device_list = gpu",
        "if gpu:\n        config.gpu_options.visible_device_list = gpu\n"
        "    elif config:\n        config.gpu_options.visible_device_list = '1'",
        "gpus = tf.config.experimental.list_physical_devices('GPU')\n"
        "    if gpus:\n"
        "        try:\n"
        "            for one in gpus:\n"
        "                tf.config.experimental.set_memory_growth(one, True)\n"
        "            tf.config.experimental.set_visible_devices(gpus[gpu], 'GPU')\n"
        "        except RuntimeError as error:\n"
        "            print(error)",
    ],
)
def test_lines_that_pin_or_set_up_gpus_go(line):
    outcome = migrate(f"{PINNED}    {line}\n")
    assert outcome.text == PINNED
    assert outcome.left == []


def test_only_the_pinning_goes_from_a_line_that_does_more():
    outcome = migrate(
        PINNED + "    os.environ.update(CUDA_VISIBLE_DEVICES=gpu, LANG='C')\n"
        "    return tf.GPUOptions(visible_device_list=gpu, allow_growth=True)\n"
    )
    assert outcome.text == (
        PINNED + "    os.environ.update(LANG='C')\n    return tf.GPUOptions(allow_growth=True)\n"
    )


def test_what_reads_the_pinning_keeps_it():
    left_as_marked(
        """
        import os
        import subprocess
        import tensorflow as tf

        os.environ['CUDA_VISIBLE_DEVICES'] = '0,1'
        gpus = os.environ['CUDA_VISIBLE_DEVICES'].split(',')  #! NPU606
        print(os.environ['CUDA_VISIBLE_DEVICES'])
        subprocess.call(['train'], env=dict(os.environ, **{'CUDA_VISIBLE_DEVICES': '1'}))  #! NPU606
        """
    )


def test_hiding_gpus_and_options_without_effect_stay():
    untouched("""
        import os
        import tensorflow as tf

        os.environ['CUDA_VISIBLE_DEVICES'] = '-1'
        config = tf.ConfigProto()
        config.gpu_options.allow_growth = True
        config.gpu_options.per_process_gpu_memory_fraction = 0.9
        tf.config.experimental.set_visible_devices([], 'CPU')
    """)


def test_what_a_process_is_not_pinned_by_is_not_half_selected():
    text = "\n".join(
        (
            "import tensorflow as tf",
            "gpus = tf.config.experimental.list_physical_devices('GPU')",
            "for gpu in gpus:",
            "    tf.config.experimental.set_memory_growth(gpu, True)",
            "config = tf.ConfigProto()",
            "config.gpu_options.visible_device_list = '0'",
            "",
        )
    )
    outcome = migrate(text, select=("NPU601",))
    assert outcome.text == text.replace("config.gpu_options.visible_device_list = '0'\n", "")


# Questions


def test_what_is_decided_by_gpus_is_for_a_person():
    outcome = left_as_marked(
        with_tf("""
        from tensorflow.python.client import device_lib

        def setup():
            gpus = tf.config.experimental.list_physical_devices('GPU')  #! NPU608
            if not tf.test.is_gpu_available():  #! NPU608
                raise SystemExit('no GPU')
            names = [d.name for d in device_lib.list_local_devices()]  #! NPU608
            print(tf.test.gpu_device_name(), tf.config.experimental.list_physical_devices('CPU'))
            data_format = 'NCHW' if tf.test.is_built_with_cuda() else 'NHWC'
            return 32 * len(gpus), names, data_format
        """)
    )
    assert [code for _, code in outcome.notes] == ["NPU608"]
    assert "tf.test.is_built_with_cuda()" in body(outcome.text, "setup")


@pytest.mark.parametrize(
    "line",
    [
        "tf.config.experimental.set_virtual_device_configuration(first, [])",
        "names = [d.name for d in device_lib.list_local_devices()]",
        "works = tf.test.is_built_with_gpu_support()",
    ],
)
def test_a_line_alone_is_enough_to_look_at_a_file(line):
    text = f"import tensorflow as tf\nfrom tensorflow.python.client import device_lib\n{line}\n"
    assert migrate(text).findings != ()


# Devices that are chosen by whether there are GPUs


HAS_GPU = "tf.test.is_gpu_available()"
GPUS = "gpus = tf.config.experimental.list_physical_devices('GPU')\n"
PLACED = "with tf.device(d):\n    pass\n"


@pytest.mark.parametrize(
    "start, choice",
    [
        ("", f"'/gpu:0' if {HAS_GPU} else '/cpu:0'"),
        ("", f"'/cpu:0' if not {HAS_GPU} else '/gpu:0'"),
        ("", "'/gpu:0' if tf.test.is_built_with_cuda() else '/cpu:0'"),
        ("", f"'/gpu:0' if tf.test.is_built_with_cuda() and {HAS_GPU} else '/cpu:0'"),
        ("", "'/gpu:0' if tf.test.gpu_device_name() else '/cpu:0'"),
        (f"found = {HAS_GPU}\n", "'/gpu:0' if found else '/cpu:0'"),
        (f"def found():\n    return {HAS_GPU}\n", "'/gpu:0' if found() else '/cpu:0'"),
        (GPUS, "'/gpu:0' if gpus else '/cpu:0'"),
        (GPUS, "'/gpu:0' if len(gpus) > 0 else '/cpu:0'"),
        (GPUS, "'/cpu:0' if len(gpus) == 0 else '/gpu:0'"),
        (f"{GPUS}n = len(gpus)\n", "'/gpu:0' if n >= 1 else '/cpu:0'"),
    ],
)
def test_a_choice_of_devices_becomes_what_a_gpu_gets(start, choice):
    outcome = migrate(with_tf(f"{start}d = {choice}\n{PLACED}"))
    assert f"\nd = None\n{PLACED}" in outcome.text
    outcome = migrate(with_tf(f"{start}with tf.device({choice}):\n    pass\n"))
    assert "with tf.device(None):\n" in outcome.text


@pytest.mark.parametrize(
    "statements",
    [
        f"if {HAS_GPU}:\n    d = '/gpu:0'\nelse:\n    d = '/cpu:0'\n",
        f"if not {HAS_GPU}:\n    d = '/cpu:0'\nelse:\n    d = '/gpu:0'\n",
        f"d = '/gpu:0'\nif not {HAS_GPU}:\n    d = '/cpu:0'\n",
    ],
)
def test_statements_that_choose_a_device(statements):
    outcome = migrate(with_tf(statements + PLACED))
    assert outcome.text == with_tf("d = None\n" + PLACED)
    assert outcome.left == []


def test_an_answer_that_nothing_reads_any_more_goes():
    outcome = migrate(with_tf(f"{GPUS}d = '/gpu:0' if gpus else '/cpu:0'\n{PLACED}"))
    assert outcome.text == with_tf("d = None\n" + PLACED)
    assert outcome.left == []


def test_a_device_that_is_taken_instead_where_there_is_a_gpu():
    outcome = migrate(with_tf(f"d = '/cpu:0'\nif {HAS_GPU}:\n    d = '/gpu:0'\n{PLACED}"))
    assert outcome.text == with_tf("d = '/cpu:0'\nd = None\n" + PLACED)
    assert outcome.left == []


@pytest.mark.parametrize(
    "statements",
    [
        f"d = '/gpu:0' if fast and {HAS_GPU} else '/cpu:0'\n",
        "d = '/gpu:1' if len(gpus) > rank else '/cpu:0'\n",
        f"if {HAS_GPU}:\n    d = '/gpu:0'\n    n = 8\nelse:\n    d = '/cpu:0'\n",
        f"if fast:\n    d = '/cpu:0'\nelif {HAS_GPU}:\n    d = '/gpu:0'\n",
    ],
)
def test_a_choice_that_is_not_sure_is_left_whole(statements):
    start = f"FLAGS = tf.flags.FLAGS\nfast, rank = FLAGS.fast, FLAGS.rank\n{GPUS}"
    outcome = migrate(with_tf(start + statements + PLACED))
    assert outcome.text == with_tf(start + statements + PLACED)
    assert len(outcome.of("NPU611")) == 1


def test_a_device_in_the_branch_of_a_gpu():
    text = f"if {HAS_GPU}:\n    d = '/gpu:0'\n    with tf.device(d):\n        pass\n"
    outcome = migrate(with_tf(text))
    assert outcome.text == with_tf(text.replace("'/gpu:0'", "None"))
    assert outcome.left == [(2, "NPU608")]
