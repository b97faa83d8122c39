"""Stand-in for the vendor's module of this name: the op library."""

from typing import Any, Optional

import tensorflow.compat.v1 as tf

from npu_bridge.hccl import hccl_ops
from npu_migrate.runtime.overflow.float_register import FloatRegister

_DEVICE_REGISTER = FloatRegister("npu_device_float_register")


class OpLibrary:
    """The operations that scripts take from the vendor's op library by hand."""

    @staticmethod
    def npu_get_float_status_v2(name: Optional[str] = None) -> tf.Tensor:
        """The status register: int32 of shape [8], all zero if nothing overflowed.

        Here it is raised by `npu_raise_float_status`, and by nothing else: on a CPU no operation
        tells that it overflowed.
        """
        return tf.fill([8], tf.cast(_DEVICE_REGISTER.is_raised(), tf.int32), name=name)

    @staticmethod
    def npu_clear_float_status_v2(name: Optional[str] = None) -> tf.Tensor:
        """Clears the register; the result, int32 of shape [8], is all zero."""
        with tf.control_dependencies([_DEVICE_REGISTER.clear()]):
            return tf.zeros([8], tf.int32, name=name)

    @staticmethod
    def npu_raise_float_status() -> tf.Operation:
        """Raises the register, as an overflow does on the NPU; the vendor's library lacks it."""
        return _DEVICE_REGISTER.raise_it()

    @staticmethod
    def gelu(x: Any, name: Optional[str] = None) -> tf.Tensor:
        """Gaussian error linear unit in its tanh form, as in BERT.

        Source: D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415.
        """
        x = tf.convert_to_tensor(x)
        inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)  # sqrt(2 / pi)
        return tf.multiply(0.5 * x, 1.0 + tf.tanh(inner), name=name)

    @staticmethod
    def hcom_all_reduce(
        input: Any,  # noqa: A002  the vendor's name
        reduction: str,
        group: str = hccl_ops.WORLD,
        fusion: int = 1,
        fusion_id: int = -1,
    ) -> tf.Tensor:
        """See `hccl_ops.allreduce`."""
        return hccl_ops.allreduce(input, reduction, fusion, fusion_id, group)


def get_gen_ops() -> OpLibrary:
    """The op library."""
    return OpLibrary()


version = "v1.15.0"
