"""Stand-in for the vendor's module of this name: scopes that mark operations for the NPU."""

import contextlib
from typing import Any, Iterator

import tensorflow.compat.v1 as tf
from tensorflow.core.framework import attr_value_pb2

from npu_bridge.estimator.npu.npu_config import NpuExecutePlacement


@contextlib.contextmanager
def _attribute_scope(**attributes: Any) -> Iterator[None]:
    values = {name: attr_value_pb2.AttrValue(**value) for name, value in attributes.items()}
    with tf.get_default_graph()._attr_scope(values):
        yield


def without_npu_compile_scope() -> Any:
    """Operations made here run on the host."""
    return _attribute_scope(_without_npu_compile={"b": True})


def keep_dtype_scope() -> Any:
    """Operations made here keep their precision under mixed precision."""
    return _attribute_scope(_keep_dtype={"i": 1})


def npu_variable_scope(placement: NpuExecutePlacement = NpuExecutePlacement.ALL) -> Any:
    """Variables made here are placed where it says."""
    return _attribute_scope(_variable_placement={"s": tf.compat.as_bytes(placement.value)})


def npu_stage_scope(stage: int) -> Any:
    """Operations made here form one stage of a pipeline."""
    return _attribute_scope(_stage_level={"i": stage})
