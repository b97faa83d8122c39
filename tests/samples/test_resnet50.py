"""ResNet-50 learns digits, and the migrated sample trains as the original does."""

import re

import pytest
from training import assert_same, needs_tensorflow, skipped, train_both

pytestmark = needs_tensorflow

STEPS = 4
OVERFLOWS = [2, 4]
DYNAMIC = ["--init_loss_scale=1024", "--loss_scale_window=2"]
LEARNING_STEPS = 100


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """TFRecords of ImageNet's layout: a JPEG image, and its label from 1."""
    import numpy as np
    import tensorflow as tf

    folder = tmp_path_factory.mktemp("records")
    pixels = tf.placeholder(tf.uint8, [None, None, 3])
    encoded = tf.image.encode_jpeg(pixels)
    random = np.random.RandomState(1)
    with tf.Session() as session:
        for shard in range(2):
            with tf.python_io.TFRecordWriter(str(folder / f"train-{shard:05d}-of-00002")) as writer:
                for _ in range(16):
                    image = random.randint(0, 256, [random.randint(40, 60), 50, 3])
                    jpeg = session.run(encoded, {pixels: image})
                    writer.write(_example(tf, jpeg, random.randint(1, 1001)))
    return folder


def _example(tf, jpeg, label):
    feature = {
        "image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[jpeg])),
        "image/class/label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=feature))
    return example.SerializeToString()


def _arguments(options, steps, batch):
    return [
        "--model_dir={}",
        "--width=8",
        "--image_size=32",
        f"--batch_size={batch}",
        f"--train_steps={steps}",
        "--overflow_at_steps=" + ",".join(map(str, OVERFLOWS)),
        "--num_threads=1",
        *options,
    ]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Original and migrated on one process."""
    learning = [*DYNAMIC, "--evaluate", "--learning_rate=0.8", "--warmup_steps=20"]
    fixed = ["--loss_scale=128", "--horovod", "--warmup_steps=2"]
    runs = {
        "learns": _arguments(learning, LEARNING_STEPS, 32),
        "fixed": _arguments(fixed, STEPS, 4),
    }
    return train_both(tmp_path_factory.mktemp("alone"), "resnet50", "train", runs, 1)


@pytest.fixture(scope="module")
def together(records, tmp_path_factory):
    """Original and migrated on two processes."""
    images = ["--data=imagenet", f"--data_files={records}/train-*"]
    options = [*DYNAMIC, *images, "--horovod", "--warmup_steps=2"]
    runs = {"records": _arguments(options, STEPS, 4)}
    return train_both(tmp_path_factory.mktemp("together"), "resnet50", "train", runs, 2)


def _check(trainings, name, rank=0):
    original, migrated = (trainings[k].trace(name, rank) for k in ("original", "migrated"))
    assert_same(original, migrated)
    assert skipped(migrated) == OVERFLOWS
    return migrated


def test_same_while_learning(alone):
    assert _check(alone, "learns")[-1]["global_step"] == LEARNING_STEPS


@pytest.mark.parametrize("kind", ["original", "migrated"])
def test_learns_digits(alone, kind):
    text = "\n".join(alone[kind].printed("learns"))
    accuracy = re.search(r"accuracy on 1797 images: ([\d.]+)", text)
    assert float(accuracy.group(1)) > 0.9


def test_same_with_a_fixed_loss_scale(alone):
    assert {line["loss_scale"] for line in _check(alone, "fixed")} == {128.0}


def test_same_on_two_processes(together):
    first, second = (_check(together, "records", rank) for rank in (0, 1))
    assert [line["loss"] for line in first] != [line["loss"] for line in second]
