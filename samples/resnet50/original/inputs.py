"""Images to train on: handwritten digits, or TFRecords with the layout of ImageNet's."""

import numpy as np
import tensorflow as tf

DIGITS_CLASSES = 10
IMAGENET_CLASSES = 1000
IMAGENET_MEAN = (123.68, 116.78, 103.94)


def digits(image_size):
    """The digits that scikit-learn ships: 1797 images of 8x8, here enlarged.

    Returns:
        A dataset of float32 images [image_size, image_size, 3], zero in the mean, and labels.
    """
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    images = images.reshape([-1, 8, 8, 1]).astype(np.float32) / 8.0 - 1.0
    labels = labels.astype(np.int32)

    def enlarge(image, label):
        image = tf.image.resize(image, [image_size, image_size])
        return tf.tile(image, [1, 1, 3]), label

    return tf.data.Dataset.from_tensor_slices((images, labels)).map(enlarge)


def imagenet(pattern, image_size, is_training, seed=None):
    """TFRecords of JPEG images (`image/encoded`) with labels from 1 (`image/class/label`).

    Returns:
        A dataset of float32 images [image_size, image_size, 3] and labels from 0. For training a
        random part of the image, perhaps mirrored; else its middle.
    """
    features = {
        "image/encoded": tf.FixedLenFeature([], tf.string),
        "image/class/label": tf.FixedLenFeature([], tf.int64),
    }

    def decode(record):
        example = tf.parse_single_example(record, features)
        crop = random_part if is_training else middle
        image = tf.image.decode_jpeg(example["image/encoded"], channels=3)
        image = tf.image.resize(crop(image), [image_size, image_size])
        label = tf.cast(example["image/class/label"], tf.int32) - 1
        return image - IMAGENET_MEAN, label

    def random_part(image):
        whole = tf.constant([0.0, 0.0, 1.0, 1.0], shape=[1, 1, 4])
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.shape(image), whole, seed=seed, area_range=(0.08, 1.0),
            aspect_ratio_range=(0.75, 1.33), max_attempts=10)
        return tf.image.random_flip_left_right(tf.slice(image, begin, size), seed=seed)

    def middle(image):
        return tf.image.central_crop(image, 0.875)

    return tf.data.TFRecordDataset(sorted(tf.gfile.Glob(pattern))).map(decode)


def batches(dataset, batch_size, shards=1, shard=0, seed=None):
    """Endless shuffled batches for training, of this process's share of the data."""
    dataset = dataset.shard(shards, shard).shuffle(10000, seed=seed).repeat()
    return dataset.batch(batch_size, drop_remainder=True).prefetch(1)
