"""WordPiece: words cut into pieces of a small vocabulary, which is made from the text itself."""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import collections
import re
import unicodedata

import tensorflow as tf

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def split_words(text):
  """Lower-case words and punctuation marks of a text, without accents."""
  text = unicodedata.normalize("NFD", text.lower())
  text = "".join(c for c in text if unicodedata.category(c) != "Mn")
  return re.findall(r"\w+|[^\w\s]", text)


def build_vocabulary(texts, size):
  """Makes a vocabulary: all letters, then longer pieces, most frequent first.

  Starts with every word cut into letters, and joins the two neighbouring pieces that occur most
  often until there are enough pieces.

  Args:
    texts: the texts to cut.
    size: how many tokens there shall be at most, the special ones included.

  Returns:
    The tokens; pieces inside of words begin with "##".
  """
  counts = collections.Counter(word for text in texts for word in split_words(text))
  pieces = {word: [word[0]] + ["##" + c for c in word[1:]] for word in counts}
  vocabulary = SPECIAL_TOKENS + sorted(set(p for cut in pieces.values() for p in cut))
  while len(vocabulary) < size:
    pairs = collections.Counter()
    for word, cut in pieces.items():
      for pair in zip(cut, cut[1:]):
        pairs[pair] += counts[word]
    if not pairs:
      break
    best = max(sorted(pairs), key=pairs.get)
    pieces = {word: _join(cut, best) for word, cut in pieces.items()}
    vocabulary.append(_joined(*best))
  return vocabulary


def _join(cut, pair):
  joined = []
  for piece in cut:
    if joined and (joined[-1], piece) == pair:
      joined[-1] = _joined(*pair)
    else:
      joined.append(piece)
  return joined


def _joined(left, right):
  return left + right[len("##"):]


class Tokenizer(object):
  """Cuts text into the tokens of a vocabulary, and numbers them.

  Args:
    vocabulary: list of tokens; the number of a token is its place.
  """

  def __init__(self, vocabulary):
    self.vocabulary = vocabulary
    self._ids = {token: number for number, token in enumerate(vocabulary)}

  @classmethod
  def from_file(cls, path):
    """Reads a vocabulary, one token a line."""
    with tf.gfile.GFile(path) as vocab_file:
      return cls(vocab_file.read().splitlines())

  def save(self, path):
    """Writes the vocabulary, one token a line."""
    with tf.gfile.GFile(path, "w") as vocab_file:
      vocab_file.write("\n".join(self.vocabulary) + "\n")

  def tokenize(self, text):
    """The tokens of a text."""
    return [token for word in split_words(text) for token in self._cut(word)]

  def ids(self, tokens):
    """The numbers of tokens."""
    return [self._ids[token] for token in tokens]

  def _cut(self, word):
    """The longest piece that the word begins with, then the longest of the rest, and so on."""
    cut, start = [], 0
    while start < len(word):
      prefix = "##" if start else ""
      for end in range(len(word), start, -1):
        if prefix + word[start:end] in self._ids:
          break
      else:
        return ["[UNK]"]
      cut.append(prefix + word[start:end])
      start = end
    return cut
