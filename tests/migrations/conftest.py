import sys

import pytest


@pytest.fixture(scope="module")
def bridge():
    """The stand-in for the vendor's packages, gone again afterwards."""
    from npu_migrate import runtime

    finders = list(sys.meta_path)
    assert runtime.install_bridge()
    yield
    sys.meta_path[:] = finders
    for name in [n for n in sys.modules if n.partition(".")[0] in ("npu_bridge", "hccl")]:
        del sys.modules[name]
