"""Loads the rules, which are data: ``rules/*.yaml``, one file a family.

A file that does not follow the schema is a :class:`RuleError` that names its file and line.
"""

import contextlib
import keyword
import os
import re
import string
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import (
    Any,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    NoReturn,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
)

import yaml

from npu_migrate.findings import Status
from npu_migrate.rule_files import rule_files, shipped_rules

HUNDREDS = {
    "suppressions": "NPU0",
    "loss scaling": "NPU1",
    "distribution": "NPU2",
    "global step": "NPU3",
    "session": "NPU4",
    "replacements": "NPU5",
    "devices": "NPU6",
    "known failures": "NPU7",
    "unsupported": "NPU9",
}
"""Family -> what its codes start with. NPU8 and other letters are for the rules of users."""

NAMES = "names.yaml"


class RuleError(Exception):
    """A rule file that cannot be read or does not follow the schema."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(path, line, message)
        self.path = path
        self.line = line
        self.message = message

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.message}"


class UnknownCode(Exception):
    """A code, or the start of one, that no rule has."""


@dataclass(frozen=True)
class Example:
    """What a rule makes of a piece of code, with ``count`` findings of the rule's code.

    ``file`` is a name that says what the code is, where it is no Python script.
    """

    before: str
    after: str
    status: Status
    note: str = ""
    count: int = 1
    loss_scale: str = ""
    """What ``--loss-scale`` has to ask for."""
    file: str = "example.py"


class Rule(NamedTuple):
    """One thing that concerns the move to the NPU, and what becomes of it.

    ``match`` are the qualified names it goes by. ``migration`` is the module of
    ``npu_migrate.migrations`` that judges; a rule without one is carried out as the table says:
    ``target`` takes the place of the name, ``arguments`` maps old keywords to new ones (None drops
    one), ``positional`` names the parameters of the original.
    """

    code: str
    name: str
    family: str
    match: Tuple[str, ...]
    status: Status
    message: str
    reason: str
    migration: str = ""
    target: str = ""
    arguments: Mapping[str, Optional[str]] = {}
    positional: Tuple[str, ...] = ()
    remedy: str = ""
    documentation: str = ""
    default: bool = True
    once: bool = False
    """It is found only as long as what it comes from is not migrated."""
    examples: Tuple[Example, ...] = ()


@dataclass(frozen=True)
class Rules:
    """All rules of a run, and the table of names that lead to one canonical name.

    ``canonical`` maps prefixes of dotted names to prefixes, ``exact`` whole names to names.
    """

    by_code: Mapping[str, Rule]
    by_match: Mapping[str, Rule]
    canonical: Mapping[str, str]
    exact: Mapping[str, str]

    @classmethod
    def of(
        cls, rules: Iterable[Rule], canonical: Mapping[str, str], exact: Mapping[str, str]
    ) -> "Rules":
        by_code = {rule.code: rule for rule in rules}
        by_match = {match: rule for rule in by_code.values() for match in rule.match}
        return cls(by_code, by_match, canonical, exact)

    def select(
        self, select: Sequence[str] = (), ignore: Sequence[str] = (), extend: Sequence[str] = ()
    ) -> "Rules":
        """The rules whose codes start with one of ``select`` (or all) and none of ``ignore``.

        ``extend`` are further starts, beside those of ``select`` or beside all. The longest start
        decides, at equal length ``ignore``. ``ALL`` is the start of all codes. A rule that is off
        by default takes a start that names its family.
        """
        if not (select or ignore or extend):
            chosen = [rule for rule in self.by_code.values() if rule.default]
            return Rules.of(chosen, self.canonical, self.exact)
        wanted = (self.starts(select) or [""]) + self.starts(extend)
        unwanted = self.starts(ignore)
        chosen = [
            rule
            for rule in self.by_code.values()
            if _reach(rule.code, wanted) > _reach(rule.code, unwanted)
            and (rule.default or _reach(rule.code, wanted) >= len(_family_start(rule.code)))
        ]
        return Rules.of(chosen, self.canonical, self.exact)

    def find(self, code: str) -> Rule:
        """The rule of a code or a name; :class:`UnknownCode` where there is none."""
        for rule in self.by_code.values():
            if code.upper() == rule.code or code.lower() == rule.name:
                return rule
        names = [name for rule in self.by_code.values() for name in (rule.code, rule.name)]
        raise UnknownCode(f"there is no rule {code}{_nearest(code, names)}")

    def starts(self, selectors: Sequence[str]) -> List[str]:
        """The starts of codes that selectors mean; :class:`UnknownCode` for what no code has."""
        starts = ["" if text.upper() == "ALL" else text.upper() for text in selectors]
        for start in starts:
            if not any(code.startswith(start) for code in self.by_code):
                named = [rule for rule in self.by_code.values() if rule.name == start.lower()]
                hint = f" (the rule {named[0].name} has the code {named[0].code})" if named else ""
                hint = hint or _nearest(start, self.by_code)
                raise UnknownCode(f"no rule's code is or starts with {start}{hint}")
        return starts


def _reach(code: str, starts: Sequence[str]) -> int:
    """The length of the longest of ``starts`` that ``code`` has, -1 for none."""
    return max((len(start) for start in starts if code.startswith(start)), default=-1)


def _family_start(code: str) -> str:
    """The start that a code shares with its family: its letters and the hundred."""
    return code[:-2]


# Loading


def load(folders: Sequence[str] = ()) -> Rules:
    """The shipped rules and those of ``folders``.

    Where a user's rule has the code, the name or a match of a shipped one, the user's holds.
    """
    rules: Dict[str, Rule] = {}
    canonical: Dict[str, str] = {}
    exact: Dict[str, str] = {}
    for folder in (shipped_rules(), *folders):
        own = _load_folder(folder, canonical, exact)
        names = {rule.name for rule in own.values()}
        rules = {
            code: rule for code, rule in rules.items() if code not in own and rule.name not in names
        }
        rules.update(own)
    return Rules.of(rules.values(), canonical, exact)


def _load_folder(folder: str, canonical: Dict[str, str], exact: Dict[str, str]) -> Dict[str, Rule]:
    if not os.path.isdir(folder):
        raise RuleError(folder, 0, "no such folder")
    files = rule_files(folder)
    if not files:
        raise RuleError(folder, 0, "no rule files (*.yaml) here")
    rules: Dict[str, Rule] = {}
    taken: Set[str] = set()
    for path in files:
        with _located(path) as top:
            if os.path.basename(path) == NAMES:
                top.allow("canonical", "exact")
                canonical.update(top.names("canonical"))
                exact.update(top.names("exact"))
            else:
                rules.update((rule.code, rule) for rule in _read_rules(top, taken))
    return rules


def _read_rules(top: "_Table", taken: Set[str]) -> Iterator[Rule]:
    top.allow("family", "documentation", "rules")
    family, documentation = top.text("family"), top.text("documentation", "")
    for table in top.tables("rules"):
        rule = _read_rule(table, family, documentation)
        keys = [("code", rule.code), ("name", rule.name)]
        for key, value in keys + [("match", match) for match in rule.match]:
            if value in taken:
                table.fail(key, f"another rule has {value} already")
            taken.add(value)
        yield rule


_RULE_KEYS = tuple(key for key in Rule._fields if key != "family")
_EXAMPLE_KEYS = tuple(field.name for field in fields(Example))


def _read_rule(table: "_Table", family: str, documentation: str) -> Rule:
    table.allow(*_RULE_KEYS)
    migration = table.text("migration", "")
    target = table.text("target", "")
    status = table.status(Status.MIGRATED if target or migration else None)
    rule = Rule(
        code=table.text("code"),
        name=table.text("name"),
        family=family,
        match=table.texts("match"),
        status=status,
        message=table.text("message"),
        reason=table.text("reason"),
        migration=migration,
        target=target,
        arguments=table.names("arguments"),
        positional=table.texts("positional"),
        remedy=table.text("remedy", ""),
        documentation=table.text("documentation", documentation),
        default=table.flag("default", True),
        once=table.flag("once", False),
        examples=tuple(_read_example(example, status) for example in table.tables("examples")),
    )
    _check_rule(table, rule)
    return rule


def _read_example(table: "_Table", status: Status) -> Example:
    table.allow(*_EXAMPLE_KEYS)
    status = table.status(status)
    count = table.number("count", 1)
    before = table.text("before")
    stays = status is not Status.MIGRATED or count == 0
    return Example(
        before=before,
        after=table.text("after", before if stays else None),
        status=status,
        note=table.text("note", ""),
        count=count,
        loss_scale=table.text("loss_scale", ""),
        file=table.text("file", "example.py"),
    )


_CODE = re.compile(r"[A-Z]+[0-9]{3}$")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*$")
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*$")
_TABLE_FIELDS = {"name", "symbol", "target"}


def _check_rule(table: "_Table", rule: Rule) -> None:
    if not _CODE.match(rule.code):
        table.fail("code", f"{rule.code} is no code, such as NPU101")
    _check_family(table, rule)
    if not _NAME.match(rule.name):
        table.fail("name", f"{rule.name!r} is not in kebab-case")
    for key, names in (("match", rule.match), ("target", [rule.target] if rule.target else [])):
        for name in names:
            if not _DOTTED.match(name) or any(map(keyword.iskeyword, name.split("."))):
                table.fail(key, f"{name!r} is no dotted name")
    if not rule.match and not rule.migration:
        table.fail("code", "a rule without a migration needs names to match")
    if rule.status.is_left and not rule.migration and not rule.remedy:
        table.fail("status", f"a rule of status {rule.status.value} needs a remedy")
    if rule.migration and not _is_migration(rule.migration):
        hint = _nearest(rule.migration, _migrations())
        table.fail("migration", f"there is no migration {rule.migration!r}{hint}")
    for key, text in (("message", rule.message), ("remedy", rule.remedy)):
        _check_placeholders(table, key, text, bool(rule.migration))


_JUDGING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "migrations")
_JUDGING_TOO = frozenset(("project_files", "suppressions"))


@lru_cache(maxsize=None)
def _is_migration(name: str) -> bool:
    """Whether a module judges; that is not asked where the package is no folder of files."""
    path = os.path.join(_JUDGING, *name.split(".")) + ".py"
    return name in _JUDGING_TOO or os.path.isfile(path) or not os.path.isdir(_JUDGING)


def _migrations() -> FrozenSet[str]:
    modules = [
        os.path.relpath(os.path.join(folder, name), _JUDGING)[: -len(".py")].replace(os.sep, ".")
        for folder, _, names in os.walk(_JUDGING)
        for name in names
        if name.endswith(".py") and name != "__init__.py"
    ]
    return _JUDGING_TOO.union(modules)


def _check_family(table: "_Table", rule: Rule) -> None:
    start = HUNDREDS.get(rule.family)
    if start and not rule.code.startswith(start):
        table.fail("code", f"{rule.code} is not in the family {rule.family!r} ({start}xx)")
    if not start and rule.code.startswith(tuple(HUNDREDS.values())):
        message = f"the codes {rule.code[:4]}xx are not of the family {rule.family!r}"
        table.fail("code", message + _nearest(rule.family, HUNDREDS))


def _check_placeholders(table: "_Table", key: str, text: str, judged: bool) -> None:
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
    except ValueError as error:
        table.fail(key, f"{error}; a brace that stands for itself is doubled: {{{{ }}}}")
    for name in names:
        if not name.isidentifier():
            table.fail(key, f"the placeholder {{{name}}} is no name")
        if not judged and name not in _TABLE_FIELDS:
            hint = _nearest(name, _TABLE_FIELDS)
            table.fail(key, f"a rule without a migration has no placeholder {{{name}}}{hint}")


def _nearest(word: str, known: Iterable[str]) -> str:
    known = list(known)
    import difflib

    near = difflib.get_close_matches(word, known, n=len(known) or 1)
    best = max(near, key=lambda name: len(os.path.commonprefix([name, word])), default="")
    return f" (did you mean {best}?)" if best else ""


# YAML


Key = Union[str, int]
Where = Tuple[Key, ...]


_TEXT = "tag:yaml.org,2002:str"


class _Invalid(Exception):
    def __init__(self, where: Where, message: str) -> None:
        super().__init__(message)
        self.where = where


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A loader that takes no key twice, and for the most part finds text."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        is_text = node.tag == _TEXT and isinstance(node, yaml.ScalarNode)
        return node.value if is_text else super().construct_object(node, deep)

    def construct_mapping(self, node: Any, deep: bool = False) -> Dict[Any, Any]:
        seen: Set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                message = f"the key {key.value} stands here twice"
                raise yaml.constructor.ConstructorError(None, None, message, key.start_mark)
            seen.add(key.value)
        return dict(super().construct_mapping(node, deep))


@contextlib.contextmanager
def _located(path: str) -> Iterator["_Table"]:
    """The content of a file; what is found wrong with it is given its line."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        yield _Table(yaml.load(text, _Loader), ())
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(path, 0, f"cannot be read: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        raise RuleError(path, mark.line + 1 if mark else 0, problem) from error
    except _Invalid as error:
        raise RuleError(path, _line(text, error.where), str(error)) from error


def _line(text: str, where: Where) -> int:
    """The line of what the keys lead to; where a key is missing, of what should have it."""
    node: Any = yaml.compose(text, _Loader)
    line = 0
    for key in where:
        if isinstance(key, int):
            node = node.value[key]
            line = node.start_mark.line
            continue
        pair = next((pair for pair in node.value if pair[0].value == key), None)
        if pair is None:
            break
        line, node = pair[0].start_mark.line, pair[1]
    return int(line) + 1


class _Table:
    """A mapping of a rule file and the keys that led to it; every reader checks what it reads."""

    def __init__(self, value: Any, where: Where) -> None:
        if not isinstance(value, dict):
            raise _Invalid(where, f"keys with values belong here, not {_kind(value)}")
        self._value = value
        self._where = where

    def fail(self, key: Key, message: str) -> NoReturn:
        raise _Invalid((*self._where, key), message)

    def allow(self, *known: str) -> None:
        for key in self._value:
            if key not in known:
                self.fail(key, f"unknown key {key}{_nearest(str(key), known)}")

    def text(self, key: str, default: Optional[str] = None) -> str:
        value = self._value.get(key, default)
        if key not in self._value and default is None:
            self.fail(key, f"the key {key} is missing")
        if not isinstance(value, str):
            self.fail(key, f"{key} is text, not {_kind(value)}")
        return value

    def texts(self, key: str) -> Tuple[str, ...]:
        return tuple(self._items(key, str, "text"))

    def names(self, key: str) -> Dict[str, Any]:
        """A mapping of names to names; None is for what is dropped."""
        value = self._value.get(key) or {}
        if not isinstance(value, dict):
            self.fail(key, f"{key} are names with names, not {_kind(value)}")
        for old, new in value.items():
            if not isinstance(old, str) or not (new is None or isinstance(new, str)):
                self.fail(key, f"{old}: {new} are no two names")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self._value.get(key, default)
        if not isinstance(value, bool):
            self.fail(key, f"{key} is true or false, not {_kind(value)}")
        return value

    def number(self, key: str, default: int) -> int:
        value = self._value.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(key, f"{key} is a whole number, not {_kind(value)}")
        return value

    def status(self, default: Optional[Status]) -> Status:
        value = self.text("status", default.value if default else None)
        try:
            return Status(value)
        except ValueError:
            known = [status.value for status in Status]
            self.fail(
                "status", f"unknown status {value}: {', '.join(known)}{_nearest(value, known)}"
            )

    def tables(self, key: str) -> Iterator["_Table"]:
        for position, item in enumerate(self._items(key, dict, "keys with values")):
            yield _Table(item, (*self._where, key, position))

    def _items(self, key: str, kind: type, what: str) -> List[Any]:
        items = self._value.get(key) or []
        if not isinstance(items, list):
            self.fail(key, f"{key} is a list, not {_kind(items)}")
        for position, item in enumerate(items):
            if not isinstance(item, kind):
                where = (*self._where, key, position)
                raise _Invalid(where, f"{what} belongs here, not {_kind(item)}")
        return items


def _kind(value: Any) -> str:
    kinds = {dict: "keys with values", list: "a list", str: "text", type(None): "nothing"}
    return kinds.get(type(value), f"{value!r} (put it in quotes to make it text)")
