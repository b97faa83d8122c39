"""A package `npu_bridge` in the vendor's place, with the op library of the tests."""

import contextlib
import importlib
import sys

_FILES = {
    "npu_bridge/__init__.py": "",
    "npu_bridge/helper/__init__.py": "",
    "npu_bridge/helper/helper.py": """
import tensorflow
_library = tensorflow.load_op_library({library!r})
def get_gen_ops():
    return _library
""",
    "npu_bridge/estimator/__init__.py": "",
    "npu_bridge/estimator/npu/__init__.py": "",
    "npu_bridge/estimator/npu/npu_plugin.py": """
inf_nan = False
def is_inf_nan_enabled():
    return inf_nan
""",
    "npu_bridge/hccl/__init__.py": "",
    "npu_bridge/hccl/hccl_ops.py": """
calls = []
def allreduce(tensor, reduction, fusion=1, fusion_id=-1, group="hccl_world_group"):
    calls.append(("allreduce", reduction, fusion, group))
    return tensor
def allgather(tensor, rank_size, group="hccl_world_group", fusion=0, fusion_id=-1):
    calls.append(("allgather", rank_size, fusion, group))
    return tensor
def broadcast(tensor, root_rank, fusion=2, fusion_id=0, group="hccl_world_group"):
    calls.append(("broadcast", root_rank, fusion, group))
    return tensor
def all_to_all_v(send_data, send_counts, send_displacements, recv_counts, recv_displacements):
    calls.append(("all_to_all_v", send_counts, send_displacements))
    return send_data
""",
}


def write(folder, library=""):
    """Writes the package below a folder."""
    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{library!r}", repr(str(library))))


@contextlib.contextmanager
def on_path(folder, monkeypatch, library=""):
    """Makes the package importable for a while."""
    write(folder, library)
    _forget()
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield
    _forget()


def _forget():
    for name in list(sys.modules):
        if name.split(".")[0] in ("npu_bridge", "hccl"):
            del sys.modules[name]
    importlib.invalidate_caches()
