"""The scripts that run together with files that are given by themselves.

A file that is given alone is judged with the program that it belongs to: what imports it and what
it imports, as far as the folders of its project hold it. These files are only read.
"""

import os
import re
from typing import Dict, Iterable, Iterator, List, Sequence

from npu_migrate.ignored import Exclusion
from npu_migrate.layout import Layout
from npu_migrate.programs import ImportedNames, Imports
from npu_migrate.scripts import OtherLanguage, read_script
from npu_migrate.sources import Source, SourceError, find, is_project_file

_TOPS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
"""What the top folder of a project holds."""

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n#;]+)"
    rb"|import[ \t]+([^\n#;]+))",
    re.MULTILINE,
)
_NAME = re.compile(rb"([\w.]+)(?:[ \t]+as[ \t]+\w+)?")


def beside(paths: Sequence[str], exclusions: Sequence[Exclusion]) -> List[Source]:
    """The scripts that imports join with the files ``paths``, none where a folder is given."""
    if not all(map(os.path.isfile, paths)):
        return []
    given = {os.path.realpath(path): Source(os.path.normpath(path)) for path in paths}
    near, _ = find(_searched(paths), exclusions)
    others = [s for s in near if os.path.realpath(s.path) not in given]
    sources = [*given.values(), *(s for s in others if not is_project_file(s.path))]
    layout = Layout(source.path for source in sources)
    modules = {layout.module(source.path): source for source in sources}
    imports = Imports(
        {module: list(_imports(source)) for module, source in modules.items()},
        lambda module, dotted, level: layout.resolve(modules[module].path, dotted, level),
    )
    joined = imports.around(layout.module(source.path) for source in given.values())
    return [source for source in sources[len(given) :] if layout.module(source.path) in joined]


def _searched(paths: Sequence[str]) -> List[str]:
    """Where the programs of files may lie: their projects, or what is close to them."""
    searched: Dict[str, None] = {}
    for path in paths:
        folder = os.path.dirname(os.path.abspath(path))
        top = _top(folder)
        searched.update(dict.fromkeys([top] if top else _close(folder)))
    return [os.path.relpath(path) for path in searched]


def is_top(folder: str) -> bool:
    """Whether a folder is the top of a project."""
    return any(os.path.exists(os.path.join(folder, name)) for name in _TOPS)


def _top(folder: str) -> str:
    """The closest folder upwards that is the top of a project."""
    while not is_top(folder):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return folder


def _close(folder: str) -> Iterator[str]:
    """The scripts and packages of a folder that is no project: others may be large."""
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    for entry in os.scandir(folder):
        is_package = os.path.isfile(os.path.join(entry.path, "__init__.py"))
        if is_package or (entry.name.endswith(".py") and entry.is_file()):
            yield entry.path


def _imports(source: Source) -> Iterator[ImportedNames]:
    """What a text seems to import; which files belong together is decided from trees later."""
    try:
        data = read_script(source).python
    except (SourceError, OtherLanguage):
        return
    for dots, module, names, modules in _IMPORT.findall(data):
        if modules:
            yield from (ImportedNames(name, 0) for name in _names(modules))
        else:
            yield ImportedNames(module.decode(), len(dots), tuple(_names(names)))


def _names(text: bytes) -> Iterable[str]:
    return (name.decode("utf-8", "replace") for name in _NAME.findall(text))
