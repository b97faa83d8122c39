"""Stand-in for the vendor's module of this name."""

from typing import Any, Callable, Dict, Optional

import tensorflow.compat.v1 as tf
from tensorflow.python.util import function_utils

from npu_bridge.estimator.npu.npu_config import NPURunConfig
from npu_bridge.estimator.npu.npu_hook import NPUBroadcastGlobalVariablesHook
from npu_migrate.launch.environment import current_ranks
from npu_migrate.runtime.log import log


class NPUEstimatorSpec(tf.estimator.EstimatorSpec):
    """What a `model_fn` returns; see `tf.estimator.EstimatorSpec`.

    Args:
      host_call: a function and its tensors, to be called on the host after each step. Here it is
        kept, but not called.
    """

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: Any = None,
        export_outputs: Any = None,
        training_chief_hooks: Any = None,
        training_hooks: Any = None,
        scaffold: Any = None,
        evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
        host_call: Any = None,
    ) -> "NPUEstimatorSpec":
        spec = super().__new__(
            cls,
            mode=mode,
            predictions=predictions,
            loss=loss,
            train_op=train_op,
            eval_metric_ops=eval_metric_ops,
            export_outputs=export_outputs,
            training_chief_hooks=training_chief_hooks,
            training_hooks=training_hooks,
            scaffold=scaffold,
            evaluation_hooks=evaluation_hooks,
            prediction_hooks=prediction_hooks,
        )
        spec._host_call = host_call
        return spec


class NPUEstimator(tf.estimator.Estimator):
    """An Estimator whose training starts, on several ranks, from the variables of rank 0.

    Args:
      model_fn: see `tf.estimator.Estimator`.
      model_dir: where checkpoints go; must agree with the one of `config`.
      config: an `NPURunConfig`.
      params: see `tf.estimator.Estimator`.
      job_start_file: of the job, for the NPU.
      warm_start_from: see `tf.estimator.Estimator`.

    Raises:
      ValueError: `config` is no `NPURunConfig`.
    """

    def __init__(
        self,
        model_fn: Any = None,
        model_dir: Optional[str] = None,
        config: Optional[NPURunConfig] = None,
        params: Optional[Dict[str, Any]] = None,
        job_start_file: str = "",
        warm_start_from: Any = None,
    ):
        if not isinstance(config, NPURunConfig):
            raise ValueError("config must be an NPURunConfig, or the NPU refuses it")
        del job_start_file
        super().__init__(
            model_fn=_with_broadcast(model_fn, config),
            model_dir=model_dir,
            config=config,
            params=params or {},
            warm_start_from=warm_start_from,
        )


def _with_broadcast(model_fn: Callable[..., Any], config: NPURunConfig) -> Callable[..., Any]:
    takes = function_utils.fn_args(model_fn)

    def wrapped(features: Any, labels: Any, mode: str, params: Any) -> Any:
        arguments = {"labels": labels, "mode": mode, "params": params, "config": config}
        kwargs = {name: value for name, value in arguments.items() if name in takes}
        spec = model_fn(features, **kwargs)
        if getattr(spec, "_host_call", None) is not None:
            log.warning("host_call runs only on the NPU; here it is left out")
        trains_with_others = mode == tf.estimator.ModeKeys.TRAIN and current_ranks().size > 1
        if not trains_with_others or config.horovod_mode:
            return spec
        hook = NPUBroadcastGlobalVariablesHook(0, current_ranks().rank)
        return spec._replace(training_hooks=(hook, *spec.training_hooks))

    return wrapped
