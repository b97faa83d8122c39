"""ResNet-50 v1.5 for images.

After "Deep Residual Learning for Image Recognition", He et al., 2015; in v1.5 a bottleneck block
that shrinks the image does so in its 3x3 convolution instead of its first 1x1 convolution.
"""

import tensorflow as tf

BLOCKS = (3, 4, 6, 3)
EXPANSION = 4


class ResNet50:
    """Computes one number for each class from a batch of images.

    Variables are float32; convolutions are computed in `dtype`, batch normalization in float32.

    Args:
        num_classes: how many numbers to compute.
        is_training: whether batch normalization uses, and learns, the statistics of the batch.
        width: channels of the first convolution; ResNet-50 has 64.
        small_images: whether images are so small that the first layers shall not shrink them.
        dtype: tf.float32 or tf.float16.
    """

    def __init__(self, num_classes, is_training, width=64, small_images=False, dtype=tf.float32):
        self.num_classes = num_classes
        self.is_training = is_training
        self.width = width
        self.small_images = small_images
        self.dtype = dtype

    def __call__(self, images):
        """Logits, float32 [batch, num_classes], of images [batch, height, width, channels]."""
        with tf.variable_scope("resnet", custom_getter=float32_variables):
            x = tf.cast(images, self.dtype)
            if self.small_images:
                x = self._conv(x, self.width, 3, 1, "stem")
            else:
                x = self._conv(x, self.width, 7, 2, "stem")
                x = tf.layers.max_pooling2d(x, 3, 2, padding="same")
            for stage, blocks in enumerate(BLOCKS):
                for block in range(blocks):
                    stride = 2 if block == 0 and stage > 0 else 1
                    with tf.variable_scope("stage_%d/block_%d" % (stage + 1, block + 1)):
                        x = self._bottleneck(x, self.width * 2 ** stage, stride)
            x = tf.reduce_mean(x, axis=[1, 2])
            x = tf.layers.dense(
                x, self.num_classes, name="classes",
                kernel_initializer=tf.random_normal_initializer(stddev=0.01))
            return tf.cast(x, tf.float32)

    def _bottleneck(self, x, filters, stride):
        shortcut = x
        if stride != 1 or x.shape[-1].value != filters * EXPANSION:
            shortcut = self._conv(x, filters * EXPANSION, 1, stride, "shortcut", activation=None)
        y = self._conv(x, filters, 1, 1, "reduce")
        y = self._conv(y, filters, 3, stride, "conv")
        # A block begins as its shortcut alone: the last scale starts at 0.
        y = self._conv(
            y, filters * EXPANSION, 1, 1, "expand", activation=None,
            gamma_initializer=tf.zeros_initializer())
        return tf.nn.relu(y + shortcut)

    def _conv(self, x, filters, size, stride, name, activation=tf.nn.relu,
              gamma_initializer=tf.ones_initializer()):
        """A convolution without bias, batch normalization and an activation."""
        with tf.variable_scope(name):
            if stride > 1:
                x = pad(x, size)
            x = tf.layers.conv2d(
                x, filters, size, stride, padding="valid" if stride > 1 else "same",
                use_bias=False, name="conv2d",
                kernel_initializer=tf.variance_scaling_initializer(2.0, "fan_out"))
            x = tf.layers.batch_normalization(
                tf.cast(x, tf.float32), momentum=0.9, epsilon=1e-5, training=self.is_training,
                gamma_initializer=gamma_initializer, name="batch_normalization")
            x = tf.cast(x, self.dtype)
            return x if activation is None else activation(x)


def pad(x, size):
    """Pads images the same at all edges, whatever their size ("same" would depend on it)."""
    before = (size - 1) // 2
    after = size - 1 - before
    return tf.pad(x, [[0, 0], [before, after], [before, after], [0, 0]])


def float32_variables(getter, name, dtype=None, trainable=True, **kwargs):
    """Keeps what is trained in float32, and hands it to layers in the type that they ask for."""
    variable = getter(name, dtype=tf.float32 if trainable else dtype, trainable=trainable, **kwargs)
    return tf.cast(variable, dtype) if dtype == tf.float16 else variable
