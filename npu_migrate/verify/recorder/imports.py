"""Has modules of the user's folders imported from the working copy, whatever way they are found."""

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType
from typing import Any, Optional, Sequence

from npu_migrate.sources import is_inside


def import_from_copy(tree: str, roots: Sequence[str]) -> None:
    """Redirects imports from now on.

    Args:
      tree: folder that holds the working copy, in which paths go on as they are outside.
      roots: real paths of folders that are copied.
    """
    sys.meta_path.insert(0, _Copies(tree, roots))


class _Copies(MetaPathFinder):
    """Finds what the others find, but in the copy: a script may name its folders absolutely."""

    def __init__(self, tree: str, roots: Sequence[str]):
        self._tree = tree
        self._roots = roots

    def find_spec(
        self, name: str, path: Any = None, target: Optional[ModuleType] = None
    ) -> Optional[ModuleSpec]:
        if name.partition(".")[0] == "npu_migrate":
            return None
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                return self._moved(spec)
        return None

    def _moved(self, spec: ModuleSpec) -> ModuleSpec:
        places = spec.submodule_search_locations
        if spec.origin is None or not spec.has_location:
            if places is not None:  # a package without __init__
                spec.submodule_search_locations = [self._copy(place) for place in places]
            return spec
        copy = self._copy(spec.origin)
        if copy == spec.origin:
            return spec
        inner = None if places is None else [os.path.dirname(copy)]
        return spec_from_file_location(spec.name, copy, submodule_search_locations=inner) or spec

    def _copy(self, path: str) -> str:
        real = os.path.realpath(path)
        copy = self._tree + real
        is_copied = any(is_inside(real, root) for root in self._roots)
        return copy if is_copied and os.path.exists(copy) else path
