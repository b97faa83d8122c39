"""The settings of a project: the table ``[tool.npu-migrate]`` of its ``pyproject.toml``.

The closest file that has the table counts, upwards from what is migrated. Its paths and patterns
are relative to it.
"""

import difflib
import os
import sys
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, NoReturn, Optional, Sequence, Tuple

NAME = "pyproject.toml"
_TOOL = "npu-migrate"
_TEXTS = ("select", "extend-select", "ignore", "exclude", "rules")
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
        for path in paths:
            inner = os.path.relpath(os.path.abspath(path), self.folder)
            codes = [code for spec, given in specs if spec.match_file(inner) for code in given]
            if codes and not inner.startswith(os.pardir):
                found[path] = tuple(codes)
        return found


def find(paths: Sequence[str]) -> Config:
    """The settings for what is to be migrated; none where no file has any."""
    for folder in _upwards(_common_folder(paths)):
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
    if _TOOL.encode() not in data:  # many are large, and few speak of this tool
        return None
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        tools = tomllib.loads(data.decode("utf-8")).get("tool")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(_shown(path), "", f"no TOML: {error}") from error
    return tools.get(_TOOL) if isinstance(tools, dict) else None


def _read(path: str, table: Any) -> Config:
    config = Config(path)
    if not isinstance(table, dict):
        config.fail("", f"keys with values belong here, not {_kind(table)}")
    values: Dict[str, Any] = {}
    for key, value in table.items():
        if key in _TEXTS:
            values[key] = _texts(config, key, value)
        elif key in _TEXT:
            values[key] = _text(config, key, value)
        elif key == _NUMBER:
            if not isinstance(value, int) or isinstance(value, bool):
                config.fail(key, f"a whole number belongs here, not {_kind(value)}")
            values[key] = value
        elif key != _IN_FILES:
            config.fail(key, f"unknown key{_nearest(key)}")
    in_files = _in_files(config, table.get(_IN_FILES, {}))
    for key in _PATHS:
        if key in values:
            values[key] = _located(config, values[key])
    return Config(path, values, in_files)


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
            "" if code.upper() == "ALL" else code.upper()
            for code in _texts(config, f"{_IN_FILES}.{pattern}", codes)
        )
        for pattern, codes in value.items()
    }


def _located(config: Config, value: Any) -> Any:
    """Paths as they are reached from the current folder."""
    if isinstance(value, list):
        return [_located(config, path) for path in value]
    return os.path.normpath(os.path.join(os.path.dirname(config.path), os.path.expanduser(value)))


def _listed(value: Any) -> str:
    return f' (write ["{value}"])' if isinstance(value, str) else ""


def _nearest(key: str) -> str:
    known = key.replace("_", "-").lower()
    near = [known] if known in KEYS else difflib.get_close_matches(known, KEYS, 1)
    return f" (did you mean {near[0]}?)" if near else f"; there are {', '.join(KEYS)}"


def _kind(value: Any) -> str:
    kinds = {dict: "a table", list: "a list", str: f"the text {value!r}", bool: str(value).lower()}
    return kinds.get(type(value), str(value))
