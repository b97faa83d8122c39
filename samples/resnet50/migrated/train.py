"""Trains ResNet-50 v1.5 on GPUs, with loss scaling."""

import json
import os

import tensorflow as tf
from npu_bridge.estimator.npu.npu_hook import NPUBroadcastGlobalVariablesHook
from npu_bridge.estimator.npu.npu_loss_scale_manager import ExponentialUpdateLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_manager import FixedLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer
from npu_bridge.npu_init import npu_config_proto
from npu_migrate.runtime import ops_adapter

import inputs
from resnet import ResNet50

try:
    from npu_migrate.runtime import ops_adapter as hvd
except ImportError:
    hvd = None

flags = tf.flags
FLAGS = flags.FLAGS

flags.DEFINE_enum("data", "digits", ["digits", "imagenet"], "What to train on.")
flags.DEFINE_string("data_files", None, "TFRecords of ImageNet's layout: a pattern.")
flags.DEFINE_string("model_dir", None, "Where checkpoints go.")
flags.DEFINE_integer("image_size", 224, "Height and width that images are brought to.")
flags.DEFINE_bool("small_images", False, "Do not shrink images in the first layers.")
flags.DEFINE_integer("width", 64, "Channels of the first convolution; ResNet-50 has 64.")

flags.DEFINE_integer("batch_size", 64, "Images of a batch, on each GPU.")
flags.DEFINE_integer("train_steps", 1000, "Steps to train.")
flags.DEFINE_integer("warmup_steps", 100, "Steps while the learning rate rises.")
flags.DEFINE_float("learning_rate", 0.1, "Highest learning rate, for 256 images.")
flags.DEFINE_float("momentum", 0.9, "Momentum.")
flags.DEFINE_float("weight_decay", 5e-5, "Factor of the squared weights in the loss.")
flags.DEFINE_float("label_smoothing", 0.0, "Share of the labels that goes to all classes.")
flags.DEFINE_bool("evaluate", False, "Measure the accuracy on the training data at the end.")

flags.DEFINE_bool("use_fp16", False, "Compute in float16.")
flags.DEFINE_float("loss_scale", 0, "Fixed loss scale; 0 for a dynamic one.")
flags.DEFINE_float("init_loss_scale", 2.0**15, "Dynamic loss scale of the first step.")
flags.DEFINE_integer("loss_scale_window", 2000,
                     "After how many good steps the dynamic loss scale is doubled.")
flags.DEFINE_bool("horovod", False, "Train on several GPUs, one process each.")

flags.DEFINE_integer("seed", 12345, "For initial weights and the order of the data.")
flags.DEFINE_integer("num_threads", 0,
                     "Threads of a session; 0 for as many as there are cores. 1 is repeatable.")
flags.DEFINE_string("trace_file", None,
                    "Write loss, global step and loss scale of every batch here, as JSON lines.")
flags.DEFINE_list("overflow_at_steps", [],
                  "Numbers of batches, from 1, whose gradients shall overflow: for tests.")


def number_of_processes():
    """How many processes train together."""
    return hvd.size() if FLAGS.horovod else 1


def number_of_this_process():
    """Number of this process among them, from 0."""
    return hvd.rank() if FLAGS.horovod else 0


def get_dataset(is_training):
    """The images that the flags ask for, and the number of classes."""
    if FLAGS.data == "digits":
        return inputs.digits(FLAGS.image_size), inputs.DIGITS_CLASSES
    dataset = inputs.imagenet(FLAGS.data_files, FLAGS.image_size, is_training, FLAGS.seed)
    return dataset, inputs.IMAGENET_CLASSES


def get_model(classes, is_training):
    """The model that the flags ask for."""
    dtype = tf.float16 if FLAGS.use_fp16 else tf.float32
    return ResNet50(classes, is_training, FLAGS.width, FLAGS.small_images, dtype)


def get_loss(logits, labels, classes):
    """Cross-entropy, and the decay of all weights but those of batch normalization."""
    cross_entropy = tf.losses.softmax_cross_entropy(
        tf.one_hot(labels, classes), logits, label_smoothing=FLAGS.label_smoothing)
    decayed = [v for v in tf.trainable_variables() if "batch_normalization" not in v.name]
    return cross_entropy + FLAGS.weight_decay * tf.add_n([tf.nn.l2_loss(v) for v in decayed])


def get_learning_rate(global_step):
    """Rises in a line, and falls like a cosine to 0 at the last step."""
    highest = FLAGS.learning_rate * FLAGS.batch_size * number_of_processes() / 256
    step = tf.cast(global_step, tf.float32)
    rising = highest * (step + 1.0) / max(FLAGS.warmup_steps, 1)
    falling = tf.train.cosine_decay(
        highest, global_step - FLAGS.warmup_steps, FLAGS.train_steps - FLAGS.warmup_steps)
    return tf.where(step < FLAGS.warmup_steps, rising, falling)


def get_train_op(loss, global_step):
    """The operation that trains on one batch, and the loss scale."""
    optimizer = tf.train.MomentumOptimizer(get_learning_rate(global_step), FLAGS.momentum)
    if FLAGS.horovod:
        optimizer = NPUDistributedOptimizer(optimizer)
    if FLAGS.loss_scale > 0:
        loss_scale_manager = FixedLossScaleManager(FLAGS.loss_scale)
    else:
        loss_scale_manager = ExponentialUpdateLossScaleManager(
            init_loss_scale=FLAGS.init_loss_scale,
            incr_every_n_steps=FLAGS.loss_scale_window,
            decr_every_n_nan_or_inf=1,
            decr_ratio=0.5)
    optimizer = NPULossScaleOptimizer(optimizer, loss_scale_manager, is_distributed=ops_adapter.size() > 1)
    # MomentumOptimizer moves the step itself, in the steps that are applied.
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train_op = optimizer.minimize(loss, global_step=global_step)
    return train_op, loss_scale_manager.get_loss_scale()


def overflow_factor():
    """What the loss is multiplied by: infinity in the batches that shall overflow."""
    number = tf.data.experimental.Counter(1).make_one_shot_iterator().get_next()
    overflows = tf.reduce_any(tf.equal(number, [int(n) for n in FLAGS.overflow_at_steps]))
    return tf.where(overflows, float("inf"), 1.0)


class TraceHook(tf.train.SessionRunHook):
    """Writes what every batch gave, a JSON object a line.

    Args:
        loss: the loss of the batch.
        state: dict of tensors to read after it.
        path: where to write.
    """

    def __init__(self, loss, state, path):
        self._loss = loss
        self._state = state
        self._path = path

    def begin(self):
        """See base class."""
        self._file = open(self._path, "w")

    def before_run(self, run_context):
        """See base class."""
        return tf.train.SessionRunArgs({"loss": self._loss})

    def after_run(self, run_context, run_values):
        """See base class."""
        # In a run of its own: beside the training op it would be read before or after its update.
        state = run_context.session.run(self._state)
        values = dict(state, **run_values.results)
        line = {name: value.item() for name, value in values.items()}
        self._file.write(json.dumps(line, sort_keys=True) + "\n")
        self._file.flush()

    def end(self, session):
        """See base class."""
        self._file.close()


def session_config():
    """The configuration of all sessions."""
    config = tf.ConfigProto(
        inter_op_parallelism_threads=FLAGS.num_threads,
        intra_op_parallelism_threads=FLAGS.num_threads)
    config.gpu_options.allow_growth = True
    return config


def train():
    """Trains, and writes checkpoints from the first process."""
    rank = number_of_this_process()
    tf.set_random_seed(FLAGS.seed + rank)
    dataset, classes = get_dataset(is_training=True)
    dataset = inputs.batches(dataset, FLAGS.batch_size, number_of_processes(), rank, FLAGS.seed)
    images, labels = dataset.make_one_shot_iterator().get_next()
    logits = get_model(classes, is_training=True)(images)
    loss = get_loss(logits, labels, classes)
    accuracy = tf.reduce_mean(
        tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), labels), tf.float32))

    global_step = tf.train.get_or_create_global_step()
    scaled_loss = loss * overflow_factor() if FLAGS.overflow_at_steps else loss
    train_op, loss_scale = get_train_op(scaled_loss, global_step)

    hooks = [tf.train.StopAtStepHook(last_step=FLAGS.train_steps)]
    if FLAGS.horovod:
        hooks.append(NPUBroadcastGlobalVariablesHook(0, hvd.rank()))
    if rank == 0:
        hooks.append(tf.train.LoggingTensorHook(
            {"loss": loss, "accuracy": accuracy}, every_n_iter=10))
    if FLAGS.trace_file:
        state = {"global_step": global_step, "loss_scale": loss_scale}
        path = FLAGS.trace_file + (".%d" % rank if rank else "")
        hooks.append(TraceHook(loss, state, path))
    with tf.train.MonitoredTrainingSession(
            checkpoint_dir=FLAGS.model_dir if rank == 0 else None,
            hooks=hooks,
            config=npu_config_proto(config_proto=session_config())) as session:
        while not session.should_stop():
            session.run(train_op)


def evaluate():
    """Prints the accuracy of the last checkpoint on all training data."""
    with tf.Graph().as_default():
        dataset, classes = get_dataset(is_training=False)
        images, labels = dataset.batch(FLAGS.batch_size).make_one_shot_iterator().get_next()
        logits = get_model(classes, is_training=False)(images)
        is_right = tf.equal(tf.argmax(logits, 1, output_type=tf.int32), labels)
        right = total = 0
        with tf.Session(config=npu_config_proto(config_proto=session_config())) as session:
            saver = tf.train.Saver()
            saver.restore(session, tf.train.latest_checkpoint(FLAGS.model_dir))
            while True:
                try:
                    batch = session.run(is_right)
                except tf.errors.OutOfRangeError:
                    break
                right += batch.sum()
                total += batch.size
    print("accuracy on %d images: %.4f" % (total, right / total))


def main(_):
    tf.logging.set_verbosity(tf.logging.INFO)
    if FLAGS.horovod:
        hvd.init()
    train()
    if FLAGS.evaluate and number_of_this_process() == 0:
        evaluate()


if __name__ == "__main__":
    flags.mark_flag_as_required("model_dir")
    tf.app.run()
