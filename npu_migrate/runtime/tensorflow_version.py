"""Says clearly which TensorFlow is needed, before anything else fails on it."""


def require_tensorflow_1_15() -> None:
    """Imports TensorFlow and makes sure that it is 1.15.

    Raises:
      ImportError: TensorFlow is missing or is another version; the message says what to install.
    """
    try:
        import tensorflow as tf
    except ImportError as error:
        raise ImportError(
            "npu_migrate.runtime needs TensorFlow 1.15, which cannot be imported here "
            f"({error}). On Python 3.7: pip install 'npu-migrate[tensorflow]'"
        ) from error
    if not tf.__version__.startswith("1.15."):
        raise ImportError(
            f"npu_migrate.runtime needs TensorFlow 1.15, but this is {tf.__version__}. "
            "On Python 3.7: pip install 'npu-migrate[tensorflow]'"
        )
