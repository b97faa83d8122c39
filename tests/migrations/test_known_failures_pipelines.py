"""What an input pipeline must not use on the NPU (NPU702, NPU703, NPU704)."""

from support import left_as_marked, migrate, untouched, with_bridge, with_tf


def test_lookup_tables_in_a_dataset():
    left_as_marked(
        with_tf("""
        import functools

        table = tf.contrib.lookup.index_table_from_file('words.txt')

        def parse(line):
            return table.lookup(tf.string_split([line]).values)

        def parse_with(line, words):
            return words.lookup(line)

        def outer(line):
            return parse(line)

        def build(dataset, names):
            dataset = dataset.map(lambda x: table.lookup(x)) #! NPU702
            dataset = dataset.map(parse, num_parallel_calls=4) #! NPU702
            dataset = dataset.map(map_func=outer) #! NPU702
            mine = tf.lookup.StaticVocabularyTable(names, 1)
            dataset = dataset.map(functools.partial(parse_with, words=mine)) #! NPU702
            dataset = dataset.flat_map(lambda x: parse_with(x, mine)) #! NPU702
            return dataset.apply(
                tf.data.experimental.map_and_batch(parse, 8)) #! NPU702

        class Input(object):
            def __init__(self, names):
                self.table = tf.lookup.StaticHashTable(names, -1)

            def _parse(self, line):
                return self.table.lookup(line)

            def dataset(self, files):
                return tf.data.TextLineDataset(files).map(self._parse) #! NPU702
        """)
    )


def test_a_table_from_another_file_is_taken_by_its_name():
    outcome = migrate(
        with_tf("""
        def build(dataset, vocab_table):
            return dataset.map(lambda words: (vocab_table.lookup(words), tf.size(words)))

        # HashTable
        """)
    )
    (finding,) = outcome.of("NPU702")
    assert finding.assumed and finding.line == 4


def test_lookups_elsewhere():
    untouched(
        with_tf("""
        table = tf.contrib.lookup.index_table_from_file('words.txt')

        def embed(ids, weights):
            return tf.nn.embedding_lookup(weights, ids)

        def build(features, dataset, registry):
            ids = table.lookup(features)
            dataset = dataset.map(lambda x: registry.lookup(x))
            dataset = dataset.map(lambda x: tf.strings.length(x))
            tf.map_fn(lambda x: table.lookup(x), features)
            return ids, list(map(registry.lookup, features)), dataset
        """)
    )


def test_lookups_that_stay_on_the_host():
    files = {
        "pipeline.py": with_tf("""
        def build(dataset, names):
            table = tf.lookup.StaticVocabularyTable(names, 1)
            return dataset.map(lambda x: table.lookup(x))
        """),
        "train.py": with_tf("""
        import npu_bridge
        import pipeline

        def config(custom):
            custom.name = 'NpuOptimizer'
            custom.parameter_map['mix_compile_mode'].b = True
        """),
    }
    assert migrate(files).findings == ()
    files["train.py"] = files["train.py"].replace("True", "False")
    assert migrate(files).left == [(5, "NPU702")]


def test_variables_in_a_dataset():
    left_as_marked(
        with_tf("""
        size = tf.Variable(32, trainable=False, dtype=tf.int64)
        scale = tf.get_variable('scale', [])
        K = tf.keras.backend

        def parse(record):
            return record * scale #! NPU703

        def build(dataset, files):
            dataset = dataset.map(parse)
            dataset = dataset.map(lambda x: x + tf.train.get_global_step()) #! NPU703
            dataset = tf.data.TFRecordDataset(files).batch(size, drop_remainder=True) #! NPU703
            zeros = tf.data.Dataset.from_tensors(tf.keras.backend.zeros([3])) #! NPU703
            more = K.zeros([3])
            pairs = tf.data.Dataset.from_tensor_slices((files, more)) #! NPU703
            return dataset.prefetch(1), zeros, pairs
        """)
    )


def test_variables_elsewhere():
    untouched(
        with_tf("""
        import multiprocessing
        import pandas

        def worker(n):
            return tf.get_variable('w', [n])

        pool = multiprocessing.Pool()
        pool.map(worker, range(3))
        dataset = pandas.read_csv('x')
        dataset.map(worker)

        def search(executor):
            return executor.map(worker, range(3))

        w = tf.get_variable('w', [3])

        class Pool(object):
            def take(self, items):
                return items

            def use(self):
                return self.take(tf.matmul(w, w))

        def build(dataset, batch_size, pool):
            dataset = dataset.map(lambda x: tf.zeros([3]) + x).batch(batch_size, True)
            step = tf.train.get_or_create_global_step()
            tf.map_fn(lambda x: x * w, tf.keras.backend.zeros([3]))
            pool.batch(w * 2)
            return dataset, tf.keras.backend.repeat(w, 2), step
        """)
    )


def test_shuffle_buffers():
    left_as_marked(
        with_tf("""
        BUFFER = 1000 * 5000
        SMALL = 10000

        def build(files, dataset, n):
            a = tf.data.TFRecordDataset(files).shuffle(1000000) #! NPU704
            b = tf.data.TFRecordDataset(files).repeat().shuffle(buffer_size=BUFFER) #! NPU704
            c = dataset.shuffle(int(1e7), seed=1) #! NPU704
            d = dataset.apply(tf.contrib.data.shuffle_and_repeat(10 ** 6)) #! NPU704
            return a, b, c, d
        """)
    )
    untouched(
        with_tf("""
        import random
        import numpy as np

        BUFFER = 1000 * 128

        def build(dataset, n, records):
            random.shuffle(records)
            np.random.shuffle(records)
            size = 10 ** 7 if n else 100
            return dataset.shuffle(BUFFER).shuffle(n).shuffle(size).shuffle(999999)
        """)
    )


def test_a_pipeline_that_stays_on_the_host_may_shuffle():
    untouched(
        with_tf("""
        def config():
            config = tf.ConfigProto()
            custom = config.graph_options.rewrite_options.custom_optimizers.add()
            custom.name = 'NpuOptimizer'
            custom.parameter_map['enable_data_pre_proc'].b = False
            return config

        def build(files):
            return tf.data.TFRecordDataset(files).shuffle(10 ** 7)
        """)
    )


def test_values_that_are_made_of_themselves():
    """Nothing of this is a fault; it must come to an end."""
    outcome = migrate(
        with_bridge("""
        import functools
        from npu_migrate.runtime import ops_adapter as hvd

        def build(dataset, parse, its, x, n, steps, shapes, eps=1e-8):
            size = 10
            while n:
                dataset = dataset.map(parse).shuffle(size)
                parse = functools.partial(parse, n)
                size = size * 2
                its = [it for it in its]
                init = [init, tf.global_variables_initializer(), [it.initializer for it in its]]
                steps = steps if hvd.rank() == 0 else None
                shapes = [shapes]
                eps = eps + eps
                x = x / (tf.reduce_sum(x) + eps)
                x = x if hvd.rank() else tf.while_loop(parse, parse, x, shape_invariants=shapes)
            tf.estimator.RunConfig(save_checkpoints_steps=steps)
            tf.Session().run(init)
            return NPULossScaleOptimizer(x, FixedLossScaleManager(8)), dataset
        """)
    )
    assert outcome.of("NPU704") == []
