"""Makes TFRecords for BERT's pre-training from plain text.

The text has one sentence a line, and an empty line between documents. The vocabulary is built from
the text where there is none yet.
"""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import collections
import os
import random

import tensorflow as tf

import tokenization

flags = tf.flags
FLAGS = flags.FLAGS

flags.DEFINE_string("input_file", None, "Text: files or patterns, with commas.")
flags.DEFINE_string("output_dir", None, "Where the TFRecords go.")
flags.DEFINE_string("vocab_file", None, "Vocabulary; made if it is not there.")
flags.DEFINE_integer("vocab_size", 512, "Size of a vocabulary that is made.")
flags.DEFINE_integer("num_shards", 2, "How many TFRecords to make.")
flags.DEFINE_integer("max_seq_length", 128, "Tokens of an example.")
flags.DEFINE_integer("max_predictions_per_seq", 20, "Masked tokens of an example, at most.")
flags.DEFINE_float("masked_lm_prob", 0.15, "Share of the tokens that are masked.")
flags.DEFINE_integer("dupe_factor", 10, "How often the text is used, masked differently.")
flags.DEFINE_integer("random_seed", 12345, "Seed.")

Example = collections.namedtuple("Example", "tokens segment_ids is_random_next positions labels")


def read_documents(paths, tokenizer):
  """Documents as lists of sentences as lists of tokens."""
  documents = [[]]
  for path in paths:
    with tf.gfile.GFile(path) as text:
      for line in text:
        tokens = tokenizer.tokenize(line)
        if tokens:
          documents[-1].append(tokens)
        elif documents[-1]:
          documents.append([])
    documents.append([])
  return [document for document in documents if document]


def create_examples(documents, number, vocabulary, rng):
  """Examples of one document: pairs of neighbouring, or of random, segments."""
  document = documents[number]
  longest = FLAGS.max_seq_length - 3  # [CLS] and two [SEP]
  start = 0
  while start < len(document) - 1:
    # As many sentences as fit, cut in two somewhere.
    end, length = start, 0
    while end < len(document) and length + len(document[end]) <= longest:
      length += len(document[end])
      end += 1
    end = max(end, start + 2)
    middle = rng.randint(start + 1, end - 1)
    first = sum(document[start:middle], [])
    is_random_next = len(documents) > 1 and rng.random() < 0.5
    if is_random_next:
      other = documents[rng.choice([n for n in range(len(documents)) if n != number])]
      at = rng.randrange(len(other))
      second = sum(other[at:at + end - middle], [])
      end = middle  # what was not used begins the next example
    else:
      second = sum(document[middle:end], [])
    truncate(first, second, longest, rng)
    tokens = ["[CLS]"] + first + ["[SEP]"] + second + ["[SEP]"]
    segment_ids = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    masked, positions, labels = mask(tokens, vocabulary, rng)
    yield Example(masked, segment_ids, is_random_next, positions, labels)
    start = end


def truncate(first, second, longest, rng):
  """Shortens the longer of two segments, at either end, until both fit."""
  while len(first) + len(second) > longest:
    longer = first if len(first) > len(second) else second
    longer.pop(0 if rng.random() < 0.5 else -1)


def mask(tokens, vocabulary, rng):
  """Masks some tokens: 80 % by [MASK], 10 % by a random token, 10 % not at all."""
  candidates = [n for n, token in enumerate(tokens) if token not in ("[CLS]", "[SEP]")]
  rng.shuffle(candidates)
  count = max(1, int(round(len(tokens) * FLAGS.masked_lm_prob)))
  positions = sorted(candidates[:min(count, FLAGS.max_predictions_per_seq)])
  labels = [tokens[position] for position in positions]
  masked = list(tokens)
  for position in positions:
    choice = rng.random()
    if choice < 0.8:
      masked[position] = "[MASK]"
    elif choice < 0.9:
      masked[position] = rng.choice(vocabulary)
  return masked, positions, labels


def to_features(example, tokenizer):
  """An example as a `tf.train.Example`."""

  def padded(values, length):
    return list(values) + [0] * (length - len(values))

  def ints(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

  length, predictions = FLAGS.max_seq_length, FLAGS.max_predictions_per_seq
  weights = padded([1.0] * len(example.labels), predictions)
  return tf.train.Example(features=tf.train.Features(feature={
      "input_ids": ints(padded(tokenizer.ids(example.tokens), length)),
      "input_mask": ints(padded([1] * len(example.tokens), length)),
      "segment_ids": ints(padded(example.segment_ids, length)),
      "masked_lm_positions": ints(padded(example.positions, predictions)),
      "masked_lm_ids": ints(padded(tokenizer.ids(example.labels), predictions)),
      "masked_lm_weights": tf.train.Feature(float_list=tf.train.FloatList(value=weights)),
      "next_sentence_labels": ints([int(example.is_random_next)]),
  }))


def get_tokenizer(paths):
  """Reads the vocabulary, or builds and saves it."""
  if tf.gfile.Exists(FLAGS.vocab_file):
    return tokenization.Tokenizer.from_file(FLAGS.vocab_file)
  texts = []
  for path in paths:
    with tf.gfile.GFile(path) as text:
      texts.append(text.read())
  tokenizer = tokenization.Tokenizer(tokenization.build_vocabulary(texts, FLAGS.vocab_size))
  tokenizer.save(FLAGS.vocab_file)
  return tokenizer


def main(_):
  tf.logging.set_verbosity(tf.logging.INFO)
  paths = sorted(
      path for pattern in FLAGS.input_file.split(",") for path in tf.gfile.Glob(pattern))
  tf.gfile.MakeDirs(FLAGS.output_dir)
  tokenizer = get_tokenizer(paths)
  rng = random.Random(FLAGS.random_seed)

  documents = read_documents(paths, tokenizer)
  examples = [
      example for _ in range(FLAGS.dupe_factor) for number in range(len(documents))
      for example in create_examples(documents, number, tokenizer.vocabulary, rng)]
  rng.shuffle(examples)

  for shard in range(FLAGS.num_shards):
    name = "train-%05d-of-%05d.tfrecord" % (shard, FLAGS.num_shards)
    with tf.python_io.TFRecordWriter(os.path.join(FLAGS.output_dir, name)) as writer:
      for example in examples[shard::FLAGS.num_shards]:
        writer.write(to_features(example, tokenizer).SerializeToString())
  tf.logging.info("%d documents, %d tokens in the vocabulary, %d examples", len(documents),
                  len(tokenizer.vocabulary), len(examples))


if __name__ == "__main__":
  flags.mark_flags_as_required(["input_file", "output_dir", "vocab_file"])
  tf.app.run()
