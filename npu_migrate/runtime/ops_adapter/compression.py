"""Smaller tensors on the way between ranks."""

import abc
from typing import Any, Tuple

import tensorflow.compat.v1 as tf


class Compressor(abc.ABC):
    """Makes a tensor smaller before it travels, and restores it after."""

    @staticmethod
    @abc.abstractmethod
    def compress(tensor: tf.Tensor) -> Tuple[tf.Tensor, Any]:
        """The smaller tensor, and what `decompress` must know."""

    @staticmethod
    @abc.abstractmethod
    def decompress(tensor: tf.Tensor, ctx: Any) -> tf.Tensor:
        """The tensor as it was, as far as possible."""


class NoneCompressor(Compressor):
    """Leaves tensors alone."""

    @staticmethod
    def compress(tensor: tf.Tensor) -> Tuple[tf.Tensor, Any]:
        """See base class."""
        return tensor, None

    @staticmethod
    def decompress(tensor: tf.Tensor, ctx: Any) -> tf.Tensor:
        """See base class."""
        del ctx
        return tensor


class FP16Compressor(Compressor):
    """Sends floating-point tensors as float16: values above 65504 become Inf on the way."""

    @staticmethod
    def compress(tensor: tf.Tensor) -> Tuple[tf.Tensor, Any]:
        """See base class."""
        dtype = tensor.dtype.base_dtype
        return (tf.cast(tensor, tf.float16) if dtype.is_floating else tensor), dtype

    @staticmethod
    def decompress(tensor: tf.Tensor, ctx: Any) -> tf.Tensor:
        """See base class."""
        return tf.cast(tensor, ctx)


class Compression:
    """The choices for the `compression` argument."""

    none = NoneCompressor
    fp16 = FP16Compressor
