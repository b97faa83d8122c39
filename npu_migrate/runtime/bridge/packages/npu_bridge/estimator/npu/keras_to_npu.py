"""Stand-in for the vendor's module of this name."""

from typing import Any

import tensorflow.compat.v1 as tf

from npu_bridge.estimator.npu.npu_estimator import NPUEstimator


def model_to_npu_estimator(
    keras_model: Any = None,
    keras_model_path: Any = None,
    custom_objects: Any = None,
    model_dir: Any = None,
    checkpoint_format: str = "saver",
    config: Any = None,
    job_start_file: str = "",
) -> NPUEstimator:
    """Makes an NPUEstimator of a compiled Keras model; see `tf.keras.estimator.model_to_estimator`.

    Args:
      config: an `NPURunConfig`.
      job_start_file: of the job, for the NPU.
    """
    converted = tf.keras.estimator.model_to_estimator(
        keras_model=keras_model,
        keras_model_path=keras_model_path,
        custom_objects=custom_objects,
        model_dir=model_dir,
        config=tf.estimator.RunConfig(model_dir=model_dir),
        checkpoint_format=checkpoint_format,
    )
    return NPUEstimator(
        model_fn=converted._model_fn,
        model_dir=model_dir,
        config=config,
        job_start_file=job_start_file,
        warm_start_from=converted._warm_start_settings,
    )
