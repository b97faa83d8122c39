"""The status register of a simulated device."""

import tensorflow.compat.v1 as tf

from npu_migrate.runtime.unsaved_scalar import UnsavedScalar

_RUN_STAMP = "npu_float_register/run_stamp"


class FloatRegister:
    """Remembers that an overflow happened, until it is cleared.

    Two choices that the vendor's documents leave open are made here, and nowhere else:

    - It survives from one `session.run` to the next. A micro-batch that overflowed while gradients
      were accumulated is still known when they are applied.
    - A clear counts from the end of its `session.run`. All readers in one run see the same, in
      whatever order they and the clear come: two optimizers in one run both skip or both apply.

    Args:
      name: unique in its graph.
    """

    def __init__(self, name: str):
        self._raised = UnsavedScalar(name + "/raised", 0.0, tf.float64)
        self._cleared = UnsavedScalar(name + "/cleared", 0.0, tf.float64)
        self._cleared_before = UnsavedScalar(name + "/cleared_before", 0.0, tf.float64)

    def raise_it(self) -> tf.Operation:
        """An operation that records an overflow."""
        return self._raised.assign(_run_stamp())

    def is_raised(self) -> tf.Tensor:
        """Whether an overflow was recorded since the last run that cleared; a bool scalar."""
        cleared = self._cleared.read()
        with tf.control_dependencies([cleared]):
            cleared_before = self._cleared_before.read()
            raised = self._raised.read()
        cleared_in_this_run = tf.equal(cleared, _run_stamp())
        return raised > tf.where_v2(cleared_in_this_run, cleared_before, cleared)

    def clear(self) -> tf.Operation:
        """An operation that forgets the overflows of this run and of all before."""
        now = _run_stamp()
        cleared = self._cleared.read()

        def record() -> tf.Operation:
            with tf.control_dependencies([self._cleared_before.assign(cleared)]):
                return self._cleared.assign(now)

        return tf.cond(tf.equal(cleared, now), tf.no_op, record).op


def _run_stamp() -> tf.Tensor:
    """A number that grows from one `session.run` to the next and is one and the same within it."""
    stamps = tf.get_collection_ref(_RUN_STAMP)
    if not stamps:
        with tf.init_scope(), tf.name_scope(None):
            stamps.append(tf.timestamp(name="npu_run_stamp"))
    return stamps[0]
