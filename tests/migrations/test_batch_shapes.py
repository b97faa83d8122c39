"""Training datasets drop their remainder, evaluated ones never do, where the family is selected."""

import pytest
from support import migrate, with_tf

from npu_migrate.plan import Status

NPU5 = {"select": ("NPU5",)}
MADE = "tf.data.TFRecordDataset(files)"


def outcome_of(text):
    return migrate(with_tf(text), **NPU5)


def assert_dropped(text, when="True", batch="batch(8)", count=1):
    """The batch drops its remainder, and nothing else changes."""
    outcome = outcome_of(text)
    assert outcome.left == []
    assert outcome.text == with_tf(text).replace(
        batch, batch[:-1] + f", drop_remainder={when})", count
    )
    assert outcome.text != with_tf(text)
    return outcome


def assert_left(text, count=1):
    """Nothing changes, and so many batches are left to a person."""
    outcome = outcome_of(text)
    assert outcome.text == with_tf(text)
    assert [f.code for f in outcome.findings] == ["NPU504"] * count
    assert all(f.status is Status.MANUAL for f in outcome.findings)


def assert_silent(text):
    outcome = outcome_of(text)
    assert outcome.text == with_tf(text)
    assert outcome.findings == ()


TRAINING = {
    "by its function's name": f"""
    def train_input_fn(files):
        return {MADE}.shuffle(9).batch(8).prefetch(1)
    """,
    "by its variable's name": f"""
    training_set = {MADE}
    train_ds = training_set.batch(8)
    """,
    "under a condition": f"""
    def input_fn(files, is_training):
        ds = {MADE}
        if is_training:
            ds = ds.repeat(2).batch(8)
        return ds
    """,
    "after the others have left": f"""
    def input_fn(files, mode):
        ds = {MADE}
        if mode != tf.estimator.ModeKeys.TRAIN:
            return ds.batch(4)
        return ds.batch(8)
    """,
    "in the other arm": f"""
    def input_fn(files, params):
        ds = {MADE}
        if not params['is_training']:
            ds = ds.batch(4)
        else:
            ds = ds.batch(8)
        return ds
    """,
    "in one arm of an expression": f"""
    def input_fn(files, mode):
        ds = {MADE}
        return ds.batch(8) if mode == 'train' else ds.batch(4)
    """,
    "by what takes it": f"""
    def input_fn(files):
        return {MADE}.batch(8)

    estimator.train(input_fn=lambda: input_fn('a'))
    """,
    "by its specification": f"""
    def input_fn():
        iterator = {MADE}.batch(8).make_one_shot_iterator()
        return iterator.get_next()

    spec = tf.estimator.TrainSpec(input_fn, max_steps=3)
    """,
    "by Keras' fit": f"""
    data = {MADE}
    data = data.batch(8)
    model.fit(data, epochs=3)
    """,
    "through a function of the file": f"""
    class Reader(object):
        def _open(self, files):
            return {MADE}.map(int)

        def train(self, files):
            return self._open(files).batch(8)
    """,
    "through functools": f"""
    import functools

    def input_fn(files):
        return {MADE}.batch(8)

    estimator.train(functools.partial(input_fn, 'a'))
    """,
    "by what an iterator's initialiser is called": f"""
    data = {MADE}.batch(8)
    iterator = tf.data.Iterator.from_structure(data.output_types)
    start_training = iterator.make_initializer(data)
    """,
    "with its keyword": f"""
    def train_fn(files):
        ds = {MADE}
        return ds.batch(batch_size=8)
    """,
    "without an end": f"""
    def input_fn(files):
        ds = {MADE}.shuffle(9).repeat().map(int)
        return ds.batch(8)
    """,
    "shuffled and repeated": f"""
    def input_fn(files):
        ds = {MADE}.apply(tf.data.experimental.shuffle_and_repeat(100))
        return ds.batch(8)
    """,
}
EVALUATION = {
    "by its function's name": f"""
    def eval_input_fn(files):
        return {MADE}.batch(8)
    """,
    "by its variable's name": f"""
    val_dataset = {MADE}.batch(8)
    """,
    "under a condition": f"""
    def input_fn(files, is_training):
        ds = {MADE}
        if not is_training:
            ds = ds.batch(8)
        return ds
    """,
    "by what takes it": f"""
    def input_fn(files):
        return {MADE}.batch(8)

    estimator.evaluate(input_fn)
    for p in estimator.predict(input_fn=lambda: input_fn('a')):
        print(p)
    """,
    "by Keras' validation": f"""
    data = {MADE}.batch(8)
    model.fit(x, y, validation_data=data)
    """,
    "with an explicit argument": f"""
    def train_fn(files, drop):
        ds = {MADE}.batch(8, drop)
        ds = {MADE}.batch(8, drop_remainder=drop)
        return ds.padded_batch(8, [None], drop_remainder=True)
    """,
    "batches of one": f"""
    def train_fn(files):
        ds = {MADE}.batch(1)
        return ds.apply(tf.data.experimental.map_and_batch(int, 1))
    """,
    "taken apart again": f"""
    def train_fn(files):
        ds = {MADE}.batch(8).map(int)
        return ds.apply(tf.data.experimental.unbatch())
    """,
    "windows": f"""
    def train_fn(files):
        return {MADE}.window(8).flat_map(lambda window: window.batch(8))
    """,
    "a user's own class": """
    class Pool(object):
        def batch(self, n):
            return self.items[:n]

        def train(self):
            return self.batch(8)

    def train(pool, queue):
        train_batches = Pool().batch(8)
        return pool.batch(8), queue.shuffle(3).batch(8), tf.train.batch([queue], 8)
    """,
}
UNDECIDED = {
    "nothing tells": f"""
    def input_fn(files):
        return {MADE}.batch(8)
    """,
    "both take it": f"""
    def input_fn(files):
        return {MADE}.batch(8)

    estimator.train(lambda: input_fn('a'))
    estimator.evaluate(lambda: input_fn('b'))
    """,
    "a training function that evaluation takes": f"""
    def train_input_fn():
        return {MADE}.batch(8)

    estimator.evaluate(train_input_fn)
    """,
    "a training set that is evaluated": f"""
    train_set = {MADE}.batch(8)
    model.fit(train_set)
    model.evaluate(train_set)
    """,
    "repeated in training alone": f"""
    def input_fn(files, repeat):
        ds = {MADE}
        if repeat:
            ds = ds.repeat()
        return ds.batch(8)
    """,
    "repeated and cut": f"""
    def input_fn(files):
        return {MADE}.repeat().take(100).batch(8)
    """,
    "a parameter called dataset": """
    def train(dataset):
        return dataset.batch(8)
    """,
    "padded batches of what can't be seen": """
    def train():
        return lambda examples: examples.padded_batch(8, [None])
    """,
    "arguments that can't be seen": f"""
    def train(files, options):
        return {MADE}.batch(**options)
    """,
}


@pytest.mark.parametrize("text", TRAINING.values(), ids=list(TRAINING))
def test_a_training_dataset_drops_its_remainder(text):
    batch = "batch(batch_size=8)" if "batch_size" in text else "batch(8)"
    assert_dropped(text, batch=batch)


@pytest.mark.parametrize("text", EVALUATION.values(), ids=list(EVALUATION))
def test_what_keeps_its_remainder_without_a_word(text):
    assert_silent(text)


@pytest.mark.parametrize("text", UNDECIDED.values(), ids=list(UNDECIDED))
def test_what_can_not_be_told_is_left_to_a_person(text):
    assert_left(text)


@pytest.mark.parametrize(
    "parameters, use, flag",
    [
        ("is_training", "", "is_training"),
        ("training=True", "", "training"),
        ("training", "if training: ds = ds.shuffle(9)", "training"),
        ("mode", "if mode == tf.estimator.ModeKeys.TRAIN: ds = ds.shuffle(9)", None),
        ("params", "if params['is_training']: ds = ds.shuffle(9)", "params['is_training']"),
        ("c", "ds = ds.shuffle(9) if c.is_training else ds", "c.is_training"),
        ("mode", "if mode == 'train': ds = ds.repeat()", "mode == 'train'"),
    ],
)
def test_a_line_that_training_and_evaluation_share_asks(parameters, use, flag):
    flag = flag or "mode == tf.estimator.ModeKeys.TRAIN"
    assert_dropped(
        f"""
        def input_fn(files, {parameters}):
            ds = {MADE}
            {use}
            return ds.batch(8)
        """,
        when=flag,
    )


@pytest.mark.parametrize(
    "parameters, use",
    [
        ("train", ""),
        ("training", ""),
        ("mode", "if mode == 'train': ds = ds.repeat(2)\n            mode = 'eval'"),
        ("mode", "if mode == 'eval': ds = ds.repeat(2)"),
        ("is_training", "is_training = 1"),
    ],
)
def test_a_flag_that_is_none_or_no_longer_holds_is_not_asked(parameters, use):
    assert_left(
        f"""
        def input_fn(files, {parameters}):
            ds = {MADE}
            {use}
            return ds.batch(8)
        """
    )


def test_the_flag_of_the_function_around():
    assert_dropped(
        f"""
        def input_fn_builder(files, is_training, size):
            def input_fn(params):
                ds = {MADE}
                return ds.batch(8)
            return input_fn
        """,
        when="is_training",
    )


@pytest.mark.parametrize("module", ["tf.data.experimental", "tf.contrib.data"])
@pytest.mark.parametrize("present", ["", ", drop_remainder=False"])
def test_map_and_batch(module, present):
    text = f"""
    def train_input_fn(files):
        ds = {MADE}
        return ds.apply({module}.map_and_batch(int, 8{present}))

    def eval_input_fn(files):
        ds = {MADE}
        return ds.apply({module}.map_and_batch(int, 8{present}))
    """
    outcome = outcome_of(text)
    call = f"map_and_batch(int, 8{present})"
    assert outcome.text == with_tf(text).replace(
        call, "map_and_batch(int, 8, drop_remainder=True)", 1
    )


def test_a_literal_false_says_no_more_than_the_default():
    text = f"""
    def train(files):
        ds = {MADE}.batch(8, False)
        return ds.padded_batch(8, [3], None, False).padded_batch(8, [3], drop_remainder=False)
    """
    outcome = outcome_of(text)
    assert "batch(8, True)" in outcome.text
    assert "padded_batch(8, [3], None, True)" in outcome.text
    assert "padded_batch(8, [3], drop_remainder=True)" in outcome.text


def test_what_rests_on_a_name_says_so():
    by_name = outcome_of(f"def train_fn(files):\n    return {MADE}.batch(8)\n")
    assert [f.assumed for f in by_name.findings] == [True]
    by_use = outcome_of(f"data = {MADE}.batch(8)\nmodel.fit(data)\n")
    assert [f.assumed for f in by_use.findings] == [False]


def test_other_ways_to_the_class():
    outcome = outcome_of(
        """
        from tensorflow.data import Dataset, TextLineDataset as Lines
        from tensorflow.python.data.ops import dataset_ops
        import tensorflow.compat.v2 as tf2

        def train():
            a = Dataset.from_tensor_slices([1]).batch(8)
            b = Lines('a').batch(8)
            c = dataset_ops.Dataset.range(9).batch(8)
            d = tf2.data.Dataset.range(9).batch(8)
            e = tf.data.Dataset.zip((a, b)).batch(8)
            return a, b, c, d, e
        """
    )
    assert outcome.text.count("batch(8, drop_remainder=True)") == 5
