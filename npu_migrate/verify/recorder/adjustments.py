"""Has an original train as it would on the NPU, in one thing that is known to differ there.

A known difference explains that a migrated training is another one if the original, with the same
thing changed, trains as the migrated script does.
"""

from typing import Any, Callable, Dict, Iterable, List

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import gradients_util
from tensorflow.python.training.experimental import loss_scale, loss_scale_optimizer


def adjust(names: Iterable[str]) -> None:
    """Makes the changes that belong to some facts, see `npu_migrate.verify.known`."""
    for name in names:
        _ADJUSTMENTS[name]()


def _make_gradients_dense() -> None:
    """As the multiplication by the inverse loss scale does."""
    compute = gradients_util._GradientsHelper

    def compute_dense(*args: Any, **kwargs: Any) -> List[Any]:
        return [
            tf.convert_to_tensor(gradient) if isinstance(gradient, tf.IndexedSlices) else gradient
            for gradient in compute(*args, **kwargs)
        ]

    gradients_util._GradientsHelper = compute_dense


def _leave_out_compression() -> None:
    from horovod.tensorflow.compression import FP16Compressor, NoneCompressor

    FP16Compressor.compress = staticmethod(NoneCompressor.compress)
    FP16Compressor.decompress = staticmethod(NoneCompressor.decompress)


def _skip_at_fixed_scales() -> None:
    """Has a fixed loss scale leave out the updates that overflowed."""

    def update(scale: Any, gradients: Any) -> Any:
        del scale
        return tf.no_op(), loss_scale._is_all_finite(gradients)

    loss_scale.FixedLossScale.update = update
    optimizer = loss_scale_optimizer.MixedPrecisionLossScaleOptimizer
    optimizer._doing_dynamic_loss_scaling = lambda self: True


_ADJUSTMENTS: Dict[str, Callable[[], None]] = {
    "sparse_gradients": _make_gradients_dense,
    "hvd_compression": _leave_out_compression,
    "fixed_loss_scale": _skip_at_fixed_scales,
}
