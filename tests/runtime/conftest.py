"""What the tests of the runtime share."""

import os
import sys

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

RANK_VARIABLES = ("RANK_", "CM_", "HOROVOD_", "OMPI_", "DEVICE_ID", "ASCEND_DEVICE_ID", "JOB_ID")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """One process, default overflow mode, a new graph."""
    for name in list(os.environ):
        if name.startswith(RANK_VARIABLES):
            monkeypatch.delenv(name)
    monkeypatch.delenv("NPU_MIGRATE_OVERFLOW_MODE", raising=False)
    if "tensorflow" in sys.modules:
        import tensorflow.compat.v1 as tf

        tf.reset_default_graph()


@pytest.fixture(scope="session")
def float_status_library(tmp_path_factory):
    """Path of an op library with a status register and a saturating operation."""
    from float_status_library import build

    return build(tmp_path_factory.mktemp("float_status"))


@pytest.fixture
def saturating_npu(float_status_library, tmp_path, monkeypatch):
    """A machine whose `npu_bridge` is a vendor's, with a register; gives its op library."""
    import importlib

    from fake_vendor import on_path

    with on_path(tmp_path, monkeypatch, float_status_library):
        yield importlib.import_module("npu_bridge.helper.helper").get_gen_ops()
