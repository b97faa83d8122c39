"""What an optimizer around another leaves to the inner one."""

from typing import Any, Iterable, List, Optional, Tuple

import tensorflow.compat.v1 as tf

from npu_migrate.runtime.overflow.source import Gradient


class AroundInnerOptimizer:
    """Comes before `tf.train.Optimizer` among the bases of an optimizer around `self._opt`."""

    _opt: Any

    def apply_gradients(
        self,
        grads_and_vars: Iterable[Tuple[Gradient, Any]],
        global_step: Optional[tf.Variable] = None,
        name: Optional[str] = None,
    ) -> tf.Operation:
        """See `tf.train.Optimizer`; done by the inner optimizer."""
        return self._opt.apply_gradients(list(grads_and_vars), global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """See `tf.train.Optimizer`; answered by the inner optimizer."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> List[str]:
        """See `tf.train.Optimizer`; answered by the inner optimizer."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> List[Any]:
        """See `tf.train.Optimizer`; answered by the inner optimizer."""
        return self._opt.variables()
