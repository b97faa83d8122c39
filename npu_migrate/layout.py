"""Which file of a run an import means, by where the files lie; nothing is imported."""

import os
from typing import Dict, Iterable, Optional, Set, Tuple

Parts = Tuple[str, ...]

OF_OTHERS = frozenset(
    (
        *("tensorflow", "tensorflow_core", "tensorflow_estimator", "tf_slim", "keras"),
        *("horovod", "byteps", "npu_bridge", "npu_device", "npu_migrate", "hccl"),
        *("absl", "numpy"),
    )
)
"""Packages that no file of a run stands for, whatever it is called.

A folder of examples is often called ``tensorflow``, and the module for one backend of several
``keras``: what they import by that name is not themselves.
"""


class Layout:
    """The modules of a run, found by folder as the interpreter would from any folder above.

    A module's name is ``:`` and its dotted path below the folder that holds all files of the run.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._parts = {path: _parts(path) for path in paths}
        folders = [parts[:-1] for parts in self._parts.values()]
        self.root = self._above_packages(_common(folders))
        """The folder that modules are named from; files outside of the run have a say in it."""
        self._homes = self._package_homes()
        self._modules: Dict[Parts, str] = {}
        self._packages: Dict[Parts, str] = {}
        for parts in self._parts.values():
            module = parts[:-1] if parts[-1] == "__init__" else parts
            self._modules[module] = self._name(module)
            for depth in range(len(self.root) + 1, len(parts)):
                self._packages[parts[:depth]] = self._name(parts[:depth])
        self._last = {parts[-1] for parts in (*self._modules, *self._packages) if parts}

    def _package_homes(self) -> Set[Parts]:
        """The folders that hold an outermost package, as ``src`` does."""
        packages = {parts[:-1] for parts in self._parts.values() if parts[-1] == "__init__"}
        return {p[:-1] for p in packages if p[:-1] not in packages}

    def _above_packages(self, folder: Parts) -> Parts:
        """The folder above the outermost package: a package may import itself by its name."""
        given = set(self._parts.values())
        while folder:
            init = folder + ("__init__",)
            if init not in given and not os.path.isfile(os.sep.join(init) + ".py"):
                break
            folder = folder[:-1]
        return folder

    def holds_others(self, path: str) -> bool:
        """Whether other files of the run are named below a file's module."""
        parts = self._parts[path]
        return (parts[:-1] if parts[-1] == "__init__" else parts) in self._packages

    def module(self, path: str) -> str:
        """The name of a file's module."""
        parts = self._parts[path]
        return self._name(parts[:-1] if parts[-1] == "__init__" else parts)

    def resolve(self, path: str, dotted: str, level: int) -> str:
        """The qualified name of ``import dotted`` (or ``from . import``) in a file."""
        folder = self._parts[path][:-1]
        names = tuple(dotted.split(".")) if dotted else ()
        if level:
            above = folder[: len(folder) - (level - 1)]
            return self._find(above + names) or self._name(above + names)
        if names[0] in OF_OTHERS or names[0] not in self._last:
            return dotted
        for depth in range(len(folder), len(self.root) - 1, -1):
            found = self._find_outermost(folder[:depth], names)
            if found:
                return found
        elsewhere = {self._find_outermost(home, names) for home in self._homes} - {""}
        return elsewhere.pop() if len(elsewhere) == 1 else dotted

    def _find_outermost(self, folder: Parts, names: Parts) -> str:
        """Decide by the first name, as the interpreter does."""
        first = folder + names[:1]
        if first in self._modules or self._holds(first, names):
            return ".".join((self._name(first),) + names[1:])
        return ""

    def _holds(self, first: Parts, names: Parts) -> bool:
        """Whether a folder without ``__init__`` is the package that is meant."""
        if first not in self._packages:
            return False
        whole = first + names[1:]
        return whole in self._modules or whole in self._packages

    def _find(self, module: Parts) -> Optional[str]:
        return self._modules.get(module) or self._packages.get(module)

    def _name(self, module: Parts) -> str:
        return ":" + ".".join(module[len(self.root) :])


def _parts(path: str) -> Parts:
    absolute = os.path.abspath(path)
    stem = absolute[:-3] if absolute.endswith(".py") else absolute
    return tuple(stem.split(os.sep))


def _common(folders: Iterable[Parts]) -> Parts:
    common: Optional[Parts] = None
    for folder in folders:
        if common is None:
            common = folder
            continue
        length = 0
        for left, right in zip(common, folder):
            if left != right:
                break
            length += 1
        common = common[:length]
    return common or ()
