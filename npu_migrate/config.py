"""The settings of a project: the table ``[tool.npu-migrate]`` of its ``pyproject.toml``.

The closest file that has the table counts, upwards from what is migrated. Its paths and patterns
are relative to it.
"""

import os
import sys
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, NoReturn, Optional, Sequence, Tuple

NAME = "pyproject.toml"
_TOOL = "npu-migrate"
_MISSPELT = ("npu_migrate", "npumigrate", "NPU-migrate")
_TEXTS = ("select", "extend-select", "ignore", "exclude", "extend-exclude", "rules")
_TEXT = (
    "removed",
    "optimizer",
    "estimator",
    "loss-scale",
    "precision-mode",
    "baseline",
    "cache-dir",
)
_NUMBER = "jobs"
_IN_FILES = "per-file-ignores"
KEYS = (*_TEXTS, *_TEXT, _NUMBER, _IN_FILES)
_PATHS = ("rules", "baseline", "cache-dir")


class ConfigError(Exception):
    """A file of settings that cannot be read, or a key of it that means nothing."""

    def __init__(self, path: str, key: str, message: str) -> None:
        place = f"{path}: [tool.{_TOOL}] {key}" if key else path
        super().__init__(f"{place}: {message}")


class ConfigErrors(ConfigError):
    """Several of them, which a person corrects together."""

    def __init__(self, faults: Sequence[ConfigError]) -> None:
        Exception.__init__(self, "\n".join(map(str, faults)))


def raise_all(faults: Sequence[ConfigError]) -> None:
    """Raise what was found wrong, if anything was."""
    if faults:
        raise ConfigErrors(faults)


@dataclass(frozen=True)
class Config:
    """The settings of a file: ``values`` by key, of the kinds that the command line has."""

    path: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    in_files: Mapping[str, Tuple[str, ...]] = field(default_factory=dict)
    """Pattern -> the starts of codes that are ignored in files that it fits."""

    @property
    def folder(self) -> str:
        return os.path.dirname(os.path.abspath(self.path)) if self.path else os.path.abspath("")

    def fail(self, key: str, message: str) -> NoReturn:
        """Say what is wrong with a value."""
        raise ConfigError(self.path, key, message)

    def ignored_in(self, paths: Sequence[str]) -> Dict[str, Tuple[str, ...]]:
        """Path -> the starts of codes that are ignored in it, for those that have any."""
        if not self.in_files:
            return {}
        from pathspec import GitIgnoreSpec

        specs = [
            (GitIgnoreSpec.from_lines([pattern]), codes) for pattern, codes in self.in_files.items()
        ]
        found: Dict[str, Tuple[str, ...]] = {}
        home = os.path.realpath(self.folder)
        for path in paths:
            folder, name = os.path.split(os.path.abspath(path))
            inner = os.path.join(os.path.relpath(os.path.realpath(folder), home), name)
            inner = os.path.normpath(inner)
            codes = [code for spec, given in specs if spec.match_file(inner) for code in given]
            if codes and not inner.startswith(os.pardir):
                found[path] = tuple(codes)
        return found


def find(paths: Sequence[str]) -> Config:
    """The settings for what is to be migrated; none where no file has any."""
    start = _common_folder(paths)
    for folder in dict.fromkeys((*_upwards(start), *_upwards(os.path.realpath(start)))):
        path = os.path.join(folder, NAME)
        table = _table(path) if os.path.isfile(path) else None
        if table is not None:
            return _read(_shown(path), table)
    return Config()


def load(path: str) -> Config:
    """The settings in a file that the user names."""
    table = _table(path)
    if table is None:
        raise ConfigError(path, "", f"there is no table [tool.{_TOOL}]")
    return _read(path, table)


def _common_folder(paths: Sequence[str]) -> str:
    tops = [os.path.abspath("" if path == "-" else path) for path in paths] or [os.path.abspath("")]
    return os.path.commonpath([top if os.path.isdir(top) else os.path.dirname(top) for top in tops])


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _shown(path: str) -> str:
    """A path as short as it can be said."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def _table(path: str) -> Optional[Any]:
    """The table of a file; ``None`` where it has none."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(path, "", f"cannot be read: {reason}") from error
    if not any(name.encode() in data for name in (_TOOL, *_MISSPELT)):
        return None  # many are large, and few speak of this tool
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        tools = tomllib.loads(data.decode("utf-8-sig")).get("tool")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(_shown(path), "", f"no TOML: {error}") from error
    if not isinstance(tools, dict):
        return None
    for name in _MISSPELT:
        if name in tools:
            raise ConfigError(_shown(path), "", f"[tool.{name}] is written [tool.{_TOOL}]")
    return tools.get(_TOOL)


def _read(path: str, table: Any) -> Config:
    config = Config(path)
    if not isinstance(table, dict):
        config.fail("", f"keys with values belong here, not {_kind(table)}")
    values: Dict[str, Any] = {}
    faults: List[ConfigError] = []
    for key, value in table.items():
        try:
            values[key] = _value(config, key, value)
        except ConfigError as fault:
            faults.append(fault)
    raise_all(faults)
    in_files = values.pop(_IN_FILES, {})
    for key in _PATHS:
        if key in values:
            values[key] = _located(config, values[key])
    return Config(path, values, in_files)


def _value(config: Config, key: str, value: Any) -> Any:
    if key in _TEXTS:
        return _texts(config, key, value)
    if key in _TEXT:
        return _text(config, key, value)
    if key == _NUMBER:
        if not isinstance(value, int) or isinstance(value, bool):
            config.fail(key, f"a whole number belongs here, not {_kind(value)}")
        return value
    if key == _IN_FILES:
        return _in_files(config, value)
    config.fail(key, f"unknown key{_nearest(key)}")


def _texts(config: Config, key: str, value: Any) -> List[str]:
    if not isinstance(value, list):
        config.fail(key, f"a list of texts belongs here, not {_kind(value)}{_listed(value)}")
    for item in value:
        if not isinstance(item, str):
            config.fail(key, f"texts belong in this list, not {_kind(item)}")
    return value


def _text(config: Config, key: str, value: Any) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if key == "loss-scale" and is_number:
        return str(value)
    if not isinstance(value, str):
        config.fail(key, f"text belongs here, not {_kind(value)}")
    return value


def _in_files(config: Config, value: Any) -> Dict[str, Tuple[str, ...]]:
    if not isinstance(value, dict):
        config.fail(_IN_FILES, f"patterns with lists of codes belong here, not {_kind(value)}")
    return {
        pattern: tuple(
            "" if code.strip().upper() == "ALL" else code.strip().upper()
            for text in _texts(config, f"{_IN_FILES}.{pattern}", codes)
            for code in text.split(",")
        )
        for pattern, codes in value.items()
    }


def _located(config: Config, value: Any) -> Any:
    """Paths as they are reached from the current folder."""
    if isinstance(value, list):
        return [_located(config, path) for path in value]
    if not value:
        return value
    return os.path.normpath(os.path.join(os.path.dirname(config.path), os.path.expanduser(value)))


def _listed(value: Any) -> str:
    return f' (write ["{value}"])' if isinstance(value, str) else ""


def _nearest(key: str) -> str:
    import difflib

    known = key.replace("_", "-").lower()
    near = [known] if known in KEYS else difflib.get_close_matches(known, KEYS, 1)
    return f" (did you mean {near[0]}?)" if near else f"; there are {', '.join(KEYS)}"


def _kind(value: Any) -> str:
    kinds = {dict: "a table", list: "a list", str: f"the text {value!r}", bool: str(value).lower()}
    return kinds.get(type(value), str(value))
