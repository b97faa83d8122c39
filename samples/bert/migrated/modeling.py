"""The BERT model: a transformer encoder with two pre-training heads.

After "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
Devlin et al., 2018.
"""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import itertools
import json
import math

import tensorflow as tf

LAYER_NORM_EPSILON = 1e-5
MASKED_SCORE = -10000.0  # added to the attention scores of padding; float16 holds it


class BertConfig(object):
  """The size of a model, as in the JSON files of configs/."""

  def __init__(self,
               vocab_size,
               hidden_size=768,
               num_hidden_layers=12,
               num_attention_heads=12,
               intermediate_size=3072,
               hidden_dropout_prob=0.1,
               attention_probs_dropout_prob=0.1,
               max_position_embeddings=512,
               type_vocab_size=2,
               initializer_range=0.02):
    if hidden_size % num_attention_heads:
      raise ValueError("hidden_size (%d) must be a multiple of num_attention_heads (%d)" %
                       (hidden_size, num_attention_heads))
    self.vocab_size = vocab_size
    self.hidden_size = hidden_size
    self.num_hidden_layers = num_hidden_layers
    self.num_attention_heads = num_attention_heads
    self.intermediate_size = intermediate_size
    self.hidden_dropout_prob = hidden_dropout_prob
    self.attention_probs_dropout_prob = attention_probs_dropout_prob
    self.max_position_embeddings = max_position_embeddings
    self.type_vocab_size = type_vocab_size
    self.initializer_range = initializer_range

  @classmethod
  def from_json_file(cls, path):
    """Reads a configuration; keys are the arguments of the constructor."""
    with tf.gfile.GFile(path) as config_file:
      return cls(**json.load(config_file))


class BertModel(object):
  """The encoder, from token ids to one vector a token and one for the whole input.

  Variables are float32; everything but layer normalization is computed in `compute_type`.

  Args:
    config: a `BertConfig`.
    is_training: whether to drop out.
    input_ids: int32 [batch, length], the tokens.
    input_mask: int32 [batch, length], 1 for tokens and 0 for padding.
    segment_ids: int32 [batch, length], 0 for the first segment and 1 for the second.
    compute_type: tf.float32 or tf.float16.
    seed: makes initial weights and dropout repeatable; None for different ones each time.
  """

  def __init__(self, config, is_training, input_ids, input_mask, segment_ids,
               compute_type=tf.float32, seed=None):
    self.config = config
    self.is_training = is_training
    self.compute_type = compute_type
    self._seeds = itertools.repeat(None) if seed is None else itertools.count(seed)

    with tf.variable_scope("bert"):
      with tf.variable_scope("embeddings"):
        hidden = self._embed(input_ids, segment_ids)
      with tf.variable_scope("encoder"):
        scores = (1.0 - tf.cast(input_mask[:, None, None, :], tf.float32)) * MASKED_SCORE
        attention_bias = tf.cast(scores, compute_type)
        for layer in range(config.num_hidden_layers):
          with tf.variable_scope("layer_%d" % layer):
            hidden = self._transformer_layer(hidden, attention_bias)
      self.sequence_output = hidden
      with tf.variable_scope("pooler"):
        self.pooled_output = tf.tanh(self.dense(hidden[:, 0], config.hidden_size, "dense"))

  def variable(self, name, shape, initializer=None):
    """A float32 variable, cast to the type of the computation."""
    if initializer is None:
      initializer = tf.truncated_normal_initializer(
          stddev=self.config.initializer_range, seed=next(self._seeds))
    variable = tf.get_variable(name, shape, tf.float32, initializer)
    return tf.cast(variable, self.compute_type)

  def dense(self, x, units, name, activation=None):
    """A fully connected layer over the last dimension."""
    with tf.variable_scope(name):
      kernel = self.variable("kernel", [x.shape[-1].value, units])
      bias = self.variable("bias", [units], tf.zeros_initializer())
    y = tf.nn.bias_add(tf.tensordot(x, kernel, 1), bias)
    return y if activation is None else activation(y)

  def layer_norm(self, x):
    """Normalizes the last dimension, in float32."""
    with tf.variable_scope("LayerNorm"):
      size = [x.shape[-1].value]
      gamma = tf.get_variable("gamma", size, initializer=tf.ones_initializer())
      beta = tf.get_variable("beta", size, initializer=tf.zeros_initializer())
    x = tf.cast(x, tf.float32)
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    y = tf.nn.batch_normalization(x, mean, variance, beta, gamma, LAYER_NORM_EPSILON)
    return tf.cast(y, self.compute_type)

  def dropout(self, x, rate):
    """Drops elements while training."""
    if not self.is_training or rate == 0:
      return x
    return tf.nn.dropout(x, rate=rate, seed=next(self._seeds))

  def _embed(self, input_ids, segment_ids):
    config = self.config
    length = input_ids.shape[1].value
    words = tf.get_variable(
        "word_embeddings", [config.vocab_size, config.hidden_size],
        initializer=tf.truncated_normal_initializer(
            stddev=config.initializer_range, seed=next(self._seeds)))
    self.embedding_table = words
    positions = self.variable(
        "position_embeddings", [config.max_position_embeddings, config.hidden_size])
    segments = self.variable(
        "token_type_embeddings", [config.type_vocab_size, config.hidden_size])
    embedded = tf.cast(tf.nn.embedding_lookup(words, input_ids), self.compute_type)
    # Two segments only: a product with one-hot vectors is faster than a look-up.
    one_hot = tf.one_hot(segment_ids, config.type_vocab_size, dtype=self.compute_type)
    embedded += tf.tensordot(one_hot, segments, 1)
    embedded += positions[None, :length]
    return self.dropout(self.layer_norm(embedded), config.hidden_dropout_prob)

  def _transformer_layer(self, x, attention_bias):
    config = self.config
    with tf.variable_scope("attention"):
      attended = self.dense(self._attend(x, attention_bias), config.hidden_size, "output")
      attended = self.dropout(attended, config.hidden_dropout_prob)
      x = self.layer_norm(x + attended)
    with tf.variable_scope("feed_forward"):
      y = self.dense(x, config.intermediate_size, "intermediate", gelu)
      y = self.dense(y, config.hidden_size, "output")
      y = self.dropout(y, config.hidden_dropout_prob)
      return self.layer_norm(x + y)

  def _attend(self, x, attention_bias):
    """Multi-head self-attention: a weighted mean of the values for each token and head."""
    config = self.config
    heads = config.num_attention_heads
    size = config.hidden_size // heads
    length = x.shape[1].value

    def split(y):
      return tf.transpose(tf.reshape(y, [-1, length, heads, size]), [0, 2, 1, 3])

    query, key, value = [
        split(self.dense(x, config.hidden_size, name)) for name in ("query", "key", "value")]
    scores = tf.matmul(query, key, transpose_b=True) / math.sqrt(size) + attention_bias
    probabilities = self.dropout(tf.nn.softmax(scores), config.attention_probs_dropout_prob)
    context = tf.transpose(tf.matmul(probabilities, value), [0, 2, 1, 3])
    return tf.reshape(context, [-1, length, config.hidden_size])


def gelu(x):
  """Gaussian error linear unit, with the approximation by tanh."""
  inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
  return 0.5 * x * (1.0 + tf.tanh(inner))


def masked_lm_head(model, positions, label_ids, label_weights):
  """Guesses the masked tokens.

  Args:
    model: a `BertModel`.
    positions: int32 [batch, predictions], where the masked tokens stand.
    label_ids: int32 [batch, predictions], what they were.
    label_weights: float32 [batch, predictions], 1 for masked tokens and 0 for padding.

  Returns:
    Mean loss over the masked tokens, and float32 [batch, predictions, vocabulary]
    logarithms of the probabilities.
  """
  config = model.config
  with tf.variable_scope("cls/predictions"):
    masked = tf.batch_gather(model.sequence_output, positions)
    masked = model.layer_norm(model.dense(masked, config.hidden_size, "transform", gelu))
    table = tf.cast(model.embedding_table, model.compute_type)
    bias = tf.get_variable(
        "output_bias", [config.vocab_size], initializer=tf.zeros_initializer())
    logits = tf.tensordot(masked, table, [[2], [1]])
    log_probabilities = tf.nn.log_softmax(tf.cast(logits, tf.float32) + bias)
    one_hot = tf.one_hot(label_ids, config.vocab_size)
    losses = -tf.reduce_sum(log_probabilities * one_hot, axis=-1)
    loss = tf.reduce_sum(losses * label_weights) / (tf.reduce_sum(label_weights) + 1e-5)
  return loss, log_probabilities


def next_sentence_head(model, labels):
  """Guesses whether the second segment follows the first.

  Args:
    model: a `BertModel`.
    labels: int32 [batch, 1], 0 if it does and 1 if it is a random one.

  Returns:
    Mean loss, and float32 [batch, 2] logarithms of the probabilities.
  """
  with tf.variable_scope("cls/seq_relationship"):
    logits = tf.cast(model.dense(model.pooled_output, 2, "output"), tf.float32)
    log_probabilities = tf.nn.log_softmax(logits)
    one_hot = tf.one_hot(tf.reshape(labels, [-1]), 2)
    loss = -tf.reduce_mean(tf.reduce_sum(log_probabilities * one_hot, axis=-1))
  return loss, log_probabilities
