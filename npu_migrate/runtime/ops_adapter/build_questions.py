"""Horovod's questions about how it was built, answered for what carries tensors here."""

from npu_migrate.runtime.engines import current_engine
from npu_migrate.runtime.engines.horovod import HorovodEngine


def gloo_enabled() -> bool:
    """Whether Gloo connects the processes: yes, off the NPU."""
    return isinstance(current_engine(), HorovodEngine)


def gloo_built() -> bool:
    """Whether Gloo could connect them."""
    return gloo_enabled()


def mpi_enabled() -> bool:
    """Whether MPI connects the processes: never."""
    return False


def mpi_built() -> bool:
    """Whether MPI could connect them: no."""
    return False


def mpi_threads_supported() -> bool:
    """Whether a script may use MPI besides, from any thread: yes, since nothing here uses it."""
    return True


def nccl_built() -> int:
    """Version of NCCL, a library for GPUs: 0 for none."""
    return 0


def ddl_built() -> bool:
    """Whether IBM's DDL is there: no."""
    return False


def ccl_built() -> bool:
    """Whether Intel's oneCCL is there: no."""
    return False


def cuda_built() -> bool:
    """Whether CUDA is there: no."""
    return False


def rocm_built() -> bool:
    """Whether ROCm is there: no."""
    return False
