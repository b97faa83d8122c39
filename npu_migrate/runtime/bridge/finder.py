"""Serves the stand-in's `npu_bridge` and `hccl`, where nobody else has them."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from typing import Any, Optional, Sequence

_PACKAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "packages")


class StandInFinder(importlib.abc.MetaPathFinder):
    """Finds the two packages of the stand-in.

    It stands last in `sys.meta_path`, so a package of the vendor's is always found first.
    """

    def find_spec(
        self, fullname: str, path: Optional[Sequence[Any]] = None, target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        """Finds `npu_bridge` or `hccl`; what lies below them, Python finds by itself."""
        if fullname not in ("npu_bridge", "hccl"):
            return None
        folder = os.path.join(_PACKAGES, fullname)
        return importlib.util.spec_from_file_location(
            fullname,
            os.path.join(folder, "__init__.py"),
            submodule_search_locations=[folder],
        )


def serves(spec: importlib.machinery.ModuleSpec) -> bool:
    """Whether a module found is one of the stand-in's."""
    return bool(spec.origin and os.path.abspath(spec.origin).startswith(_PACKAGES + os.sep))


def install_finder() -> None:
    """Puts the finder at the end of `sys.meta_path`, once."""
    if not any(isinstance(finder, StandInFinder) for finder in sys.meta_path):
        sys.meta_path.append(StandInFinder())
