"""Pre-trains BERT on GPUs: guesses masked tokens, and whether a sentence follows another."""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import json
import os

import tensorflow as tf
from npu_bridge.estimator.npu.npu_hook import NPUBroadcastGlobalVariablesHook
from npu_bridge.npu_init import npu_run_config_init
from npu_migrate.runtime import set_precision_mode

import modeling
import optimization

flags = tf.flags
FLAGS = flags.FLAGS

flags.DEFINE_string("bert_config_file", None, "JSON file with the size of the model.")
flags.DEFINE_string("input_files", None,
                    "TFRecords of create_pretraining_data.py: files or patterns, with commas.")
flags.DEFINE_string("output_dir", None, "Where checkpoints go.")
flags.DEFINE_string("init_checkpoint", None, "Checkpoint to start from.")

flags.DEFINE_bool("do_train", False, "Train.")
flags.DEFINE_bool("do_eval", False, "Evaluate.")
flags.DEFINE_integer("max_seq_length", 128, "Tokens of an example; as the data was made.")
flags.DEFINE_integer("max_predictions_per_seq", 20,
                     "Masked tokens of an example; as the data was made.")
flags.DEFINE_integer("train_batch_size", 32, "Examples of a batch, on each GPU.")
flags.DEFINE_integer("eval_batch_size", 8, "Examples of a batch to evaluate.")
flags.DEFINE_integer("max_eval_steps", 100, "Batches to evaluate.")
flags.DEFINE_integer("num_train_steps", 100000, "Steps to train.")
flags.DEFINE_integer("num_warmup_steps", 10000, "Steps while the learning rate rises.")
flags.DEFINE_integer("num_accumulation_steps", 1, "Batches whose gradients make one step.")
flags.DEFINE_integer("save_checkpoints_steps", 1000, "Steps between checkpoints.")
flags.DEFINE_float("learning_rate", 5e-5, "Highest learning rate.")
flags.DEFINE_enum("optimizer_type", "adam", ["adam", "lamb"], "Optimizer.")

flags.DEFINE_bool("manual_fp16", False, "Compute in float16, and scale the loss.")
flags.DEFINE_bool("use_fp16", False,
                  "Let TensorFlow rewrite the graph for mixed precision, and scale the loss.")
flags.DEFINE_bool("horovod", False, "Train on several GPUs, one process each.")
flags.DEFINE_bool("allreduce_post_accumulation", False,
                  "Average accumulated gradients over the GPUs, not those of each batch.")

flags.DEFINE_integer("seed", 12345, "For initial weights, dropout and the order of the data.")
flags.DEFINE_integer("num_threads", 0,
                     "Threads of a session; 0 for as many as there are cores. 1 is repeatable.")
flags.DEFINE_string("trace_file", None,
                    "Write loss, global step and loss scale of every batch here, as JSON lines.")
flags.DEFINE_list("overflow_at_steps", [],
                  "Numbers of batches, from 1, whose gradients shall overflow: for tests.")
flags.DEFINE_integer("overflow_on_rank", -1, "Which process shall overflow; -1 for all.")


def input_fn_builder(input_files, batch_size, is_training, hvd=None):
  """Creates an `input_fn` that reads TFRecords."""

  def input_fn():
    def ints(length):
      return tf.FixedLenFeature([length], tf.int64)

    name_to_features = {
        "input_ids": ints(FLAGS.max_seq_length),
        "input_mask": ints(FLAGS.max_seq_length),
        "segment_ids": ints(FLAGS.max_seq_length),
        "masked_lm_positions": ints(FLAGS.max_predictions_per_seq),
        "masked_lm_ids": ints(FLAGS.max_predictions_per_seq),
        "masked_lm_weights": tf.FixedLenFeature([FLAGS.max_predictions_per_seq], tf.float32),
        "next_sentence_labels": ints(1),
    }

    def decode(record):
      example = tf.parse_single_example(record, name_to_features)
      return {name: tf.cast(value, tf.int32) if value.dtype == tf.int64 else value
              for name, value in example.items()}

    dataset = tf.data.TFRecordDataset(input_files)
    if is_training:
      if hvd is not None:
        dataset = dataset.shard(hvd.size(), hvd.rank())
      dataset = dataset.shuffle(1000, seed=FLAGS.seed).repeat()
    dataset = dataset.map(decode).batch(batch_size, drop_remainder=True)
    if is_training and FLAGS.overflow_at_steps:
      dataset = tf.data.Dataset.zip((dataset, tf.data.experimental.Counter(1)))
      dataset = dataset.map(lambda batch, number: add_loss_factor(batch, number, hvd))
    return dataset.prefetch(1)

  return input_fn


def add_loss_factor(batch, number, hvd=None):
  """Adds what the loss is multiplied by: infinity in the batches that shall overflow."""
  rank = 0 if hvd is None else hvd.rank()
  factor = tf.constant(1.0)
  if FLAGS.overflow_on_rank in (-1, rank):
    overflows = tf.reduce_any(tf.equal(number, [int(n) for n in FLAGS.overflow_at_steps]))
    factor = tf.where(overflows, float("inf"), 1.0)
  return dict(batch, loss_factor=factor)


def model_fn_builder(bert_config, hvd=None):
  """Creates a `model_fn` for an Estimator."""

  def model_fn(features, labels, mode):
    is_training = mode == tf.estimator.ModeKeys.TRAIN
    model = modeling.BertModel(
        bert_config, is_training, features["input_ids"], features["input_mask"],
        features["segment_ids"],
        compute_type=tf.float16 if FLAGS.manual_fp16 else tf.float32,
        seed=FLAGS.seed + (0 if hvd is None else 1000 * hvd.rank()))
    masked_lm_loss, masked_lm_log_probs = modeling.masked_lm_head(
        model, features["masked_lm_positions"], features["masked_lm_ids"],
        features["masked_lm_weights"])
    next_sentence_loss, next_sentence_log_probs = modeling.next_sentence_head(
        model, features["next_sentence_labels"])
    total_loss = masked_lm_loss + next_sentence_loss

    if is_training:
      if FLAGS.init_checkpoint:
        tf.train.init_from_checkpoint(FLAGS.init_checkpoint, {"/": "/"})
      loss = total_loss * features["loss_factor"] if "loss_factor" in features else total_loss
      train_op = optimization.create_optimizer(
          loss, FLAGS.learning_rate, FLAGS.num_train_steps, FLAGS.num_warmup_steps, hvd,
          FLAGS.manual_fp16, FLAGS.use_fp16, FLAGS.num_accumulation_steps,
          FLAGS.optimizer_type, FLAGS.allreduce_post_accumulation)
      hooks = []
      if FLAGS.trace_file:
        hooks.append(TraceHook(masked_lm_loss, 0 if hvd is None else hvd.rank()))
      return tf.estimator.EstimatorSpec(
          mode, loss=total_loss, train_op=train_op, training_hooks=hooks)

    predictions = tf.argmax(masked_lm_log_probs, axis=-1, output_type=tf.int32)
    metrics = {
        "masked_lm_accuracy": tf.metrics.accuracy(
            features["masked_lm_ids"], predictions, features["masked_lm_weights"]),
        "masked_lm_loss": tf.metrics.mean(masked_lm_loss),
        "next_sentence_accuracy": tf.metrics.accuracy(
            features["next_sentence_labels"][:, 0], tf.argmax(next_sentence_log_probs, axis=-1)),
        "next_sentence_loss": tf.metrics.mean(next_sentence_loss),
    }
    return tf.estimator.EstimatorSpec(mode, loss=total_loss, eval_metric_ops=metrics)

  return model_fn


class TraceHook(tf.train.SessionRunHook):
  """Writes what every batch gave, a JSON object a line.

  Args:
    loss: the loss to write.
    rank: number of this process; others than the first write to a file of their own.
  """

  def __init__(self, loss, rank):
    self._loss = loss
    self._path = FLAGS.trace_file + (".%d" % rank if rank else "")

  def begin(self):
    """See base class."""
    self._file = open(self._path, "w")

  def before_run(self, run_context):
    """See base class."""
    return tf.train.SessionRunArgs({"loss": self._loss, "global_step": "step_update:0"})

  def after_run(self, run_context, run_values):
    """See base class."""
    line = {name: value.item() for name, value in run_values.results.items()}
    if FLAGS.use_fp16 or FLAGS.manual_fp16:
      # In a run of its own: beside the training op it would be read before or after its update.
      scale = run_context.session.run("current_loss_scale_value:0")
      line["loss_scale"] = scale.item()
    self._file.write(json.dumps(line, sort_keys=True) + "\n")
    self._file.flush()

  def end(self, session):
    """See base class."""
    self._file.close()


def main(_):
  tf.logging.set_verbosity(tf.logging.INFO)
  hvd = None
  if FLAGS.horovod:
    from npu_migrate.runtime import ops_adapter as hvd
    hvd.init()
  is_chief = hvd is None or hvd.rank() == 0

  config = tf.ConfigProto(
      inter_op_parallelism_threads=FLAGS.num_threads,
      intra_op_parallelism_threads=FLAGS.num_threads)
  config.gpu_options.allow_growth = True
  hooks = []
  if hvd is not None:
    hooks.append(NPUBroadcastGlobalVariablesHook(0, hvd.rank()))

  run_config = tf.estimator.RunConfig(
      model_dir=FLAGS.output_dir if is_chief else os.path.join(
          FLAGS.output_dir, "rank_%d" % hvd.rank()),
      tf_random_seed=FLAGS.seed,
      session_config=config,
      save_checkpoints_steps=FLAGS.save_checkpoints_steps,
      log_step_count_steps=10)
  bert_config = modeling.BertConfig.from_json_file(FLAGS.bert_config_file)
  estimator = tf.estimator.Estimator(model_fn_builder(bert_config, hvd), config=set_precision_mode(npu_run_config_init(run_config=run_config), "mixed_float16" if FLAGS.use_fp16 else None))
  input_files = sorted(
      path for pattern in FLAGS.input_files.split(",") for path in tf.gfile.Glob(pattern))

  if FLAGS.do_train:
    input_fn = input_fn_builder(input_files, FLAGS.train_batch_size, True, hvd)
    estimator.train(input_fn, hooks=hooks, max_steps=FLAGS.num_train_steps)
  if FLAGS.do_eval and is_chief:
    input_fn = input_fn_builder(input_files, FLAGS.eval_batch_size, False)
    result = estimator.evaluate(input_fn, steps=FLAGS.max_eval_steps)
    for name in sorted(result):
      tf.logging.info("  %s = %s", name, result[name])


if __name__ == "__main__":
  flags.mark_flags_as_required(["bert_config_file", "input_files", "output_dir"])
  tf.app.run()
