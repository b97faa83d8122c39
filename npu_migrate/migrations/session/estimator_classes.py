"""The Estimators of TensorFlow, and what the configuration of each may hold."""

from typing import Dict

from npu_migrate.migrations import vocabulary


def _of(module: str, classes: str) -> Dict[str, int]:
    pairs = (entry.split(":") for entry in classes.split())
    return {f"tensorflow.{module}.{name}": int(position) for name, position in pairs}


CONFIG_AT = {
    **_of(
        "estimator",
        """
        Estimator:2 BaselineClassifier:5 BaselineEstimator:3 BaselineRegressor:4
        BoostedTreesClassifier:13 BoostedTreesEstimator:12 BoostedTreesRegressor:12
        DNNClassifier:10 DNNEstimator:8 DNNRegressor:9 DNNLinearCombinedClassifier:12
        DNNLinearCombinedEstimator:10 DNNLinearCombinedRegressor:11 LinearClassifier:6
        LinearEstimator:4 LinearRegressor:5 experimental.KMeans:9 tpu.TPUEstimator:2
        """,
    ),
    **_of(
        "contrib.learn",
        """
        Estimator:2 DNNClassifier:10 DNNEstimator:8 DNNRegressor:9 DNNLinearCombinedClassifier:13
        DNNLinearCombinedEstimator:11 DNNLinearCombinedRegressor:13 DynamicRnnEstimator:15
        KMeansClustering:9 LinearClassifier:8 LinearEstimator:7 LinearRegressor:8
        LogisticRegressor:3 SVM:8
        """,
    ),
    **_of(
        "contrib.estimator",
        """
        DNNClassifierWithLayerAnnotations:10 DNNRegressorWithLayerAnnotations:9 RNNClassifier:12
        RNNEstimator:10 boosted_trees_classifier_train_in_memory:13
        boosted_trees_regressor_train_in_memory:12
        """,
    ),
    **_of("contrib.factorization", "GMM:6 KMeansClustering:9 WALSMatrixFactorization:15"),
    **_of(
        "contrib.timeseries",
        "ARRegressor:12 StructuralEnsembleRegressor:11 TimeSeriesRegressor:4",
    ),
    vocabulary.MODEL_TO_ESTIMATOR: 4,
}
"""What makes an Estimator -> the position of its ``config``."""

ESTIMATOR = "tensorflow.estimator.Estimator"
TPU_ESTIMATOR = "tensorflow.estimator.tpu.TPUEstimator"
USE_TPU_AT = 4

RUN_CONFIG = "tensorflow.estimator.RunConfig"
RUN_CONFIGS = frozenset(
    (RUN_CONFIG, "tensorflow.estimator.tpu.RunConfig", "tensorflow.contrib.learn.RunConfig")
)
RUN_CONFIG_PARAMETERS = (
    "model_dir",
    "tf_random_seed",
    "save_summary_steps",
    "save_checkpoints_steps",
    "save_checkpoints_secs",
    "session_config",
    "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
    "train_distribute",
    "device_fn",
    "protocol",
    "eval_distribute",
    "experimental_distribute",
    "experimental_max_worker_delay_secs",
    "session_creation_timeout_secs",
)
"""Of ``tf.estimator.RunConfig`` 1.15, in order."""

STRATEGIES = ("train_distribute", "eval_distribute", "experimental_distribute")
"""Arguments of it that say how to train on several devices."""

WITHOUT_NPU = (*STRATEGIES, "device_fn", "protocol")
"""Arguments of it that have no meaning on the NPU."""

NOT_TAKEN = (
    *WITHOUT_NPU,
    "experimental_max_worker_delay_secs",
    "session_creation_timeout_secs",
)
"""Arguments of it that an ``NPURunConfig`` does without."""
