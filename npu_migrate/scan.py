"""The first look at a file: at its text, before any tree is walked.

Most files of a repository hold nothing to migrate. A sign in a comment or a string does no harm,
since it only makes the run look closer. What such files must still tell the others is found here
too: which modules they import, and which tensors they fetch by name.
"""

import ast
import re
from dataclasses import dataclass
from typing import Dict, FrozenSet, Iterable, Iterator, Set, Tuple

from npu_migrate.migrations import signs
from npu_migrate.migrations.signs import Signs, Text
from npu_migrate.outline import Outline
from npu_migrate.programs import ImportedNames

_STRING = re.compile(rb"['\"]([\w/.]{1,200})['\"]")
_FETCH = re.compile(rb"['\"]([^'\"\s]{1,200}:0)['\"]")
_CLOSED = re.compile(rb"(\w+)\.(?:close|__exit__)\b")
TINY = r"\d\.?[eE]-(?:0?[89]|[1-9]\d)\b"
_TINY = re.compile(TINY.encode("ascii"))
"""A number that is zero in float16, which matters where mixed precision may be on."""


@dataclass(frozen=True)
class Scan:
    """What the text of a file tells."""

    concerned: bool
    """It may hold something to migrate."""
    concerned_in_program: bool
    """It may, if its program has loss scaling or Horovod."""
    trains: bool
    """It may hold loss scaling, averaging over ranks or a moved global step."""
    trains_in_program: bool
    """It may, if its program has loss scaling or Horovod."""
    makes_program: bool
    """Its program has loss scaling or Horovod."""
    has_horovod: bool
    trains_keras: bool
    is_main: bool
    """It may be run as a program."""
    has_embeddings: bool
    imports: Tuple[ImportedNames, ...]
    fetches: FrozenSet[str]
    """Names of tensors, as ``session.run`` and ``get_tensor_by_name`` take them."""
    closed: FrozenSet[str]
    """Names that have ``close`` called on them, or are left as a context."""
    suppresses: bool = False
    """It may have comments that suppress findings."""


class Scanner:
    """Looks at texts for the signs of a set of rules.

    ``tabled`` are names that need no judgement; ``training`` makes files that train concerned.
    """

    def __init__(self, tabled: Iterable[str], training: bool = False) -> None:
        of_training = (signs.TRAINING,) if training else ()
        self._concerned = (*signs.CONCERNED, *of_training)
        self._of_training = (*signs.OF_TRAINING, *of_training)
        self._program = (signs.LOSS_SCALING, signs.HOROVOD, *of_training)
        self._alone: Set[bytes] = set()
        self._in_modules: Dict[bytes, Set[bytes]] = {}
        for name in tabled:
            *modules, last = name.encode("ascii").split(b".")
            if len(modules) > 1:  # many names are common words outside of their modules
                self._in_modules.setdefault(modules[-1], set()).add(last)
            else:
                self._alone.add(last)

    def __call__(self, text: Text, outline: Outline, suppresses: bool) -> Scan:
        code = text.code
        concerned = self._is_tabled(text.words) or _shows(text, self._concerned)
        in_program = text.shows(signs.IN_PROGRAM)
        return Scan(
            concerned=concerned,
            concerned_in_program=not concerned and (in_program or _has_tiny(code)),
            trains=concerned and _shows(text, self._of_training),
            trains_in_program=in_program,
            makes_program=concerned and _shows(text, self._program),
            has_horovod=concerned and text.shows(signs.HOROVOD),
            trains_keras=text.shows(signs.KERAS_TRAINING),
            is_main=b"__main__" in text.words,
            has_embeddings=b"embedding" in code,
            imports=tuple(_imports(outline)),
            fetches=frozenset(name.decode("utf-8", "replace") for name in _fetched(code)),
            closed=frozenset(name.decode("utf-8", "replace") for name in _closed(code)),
            suppresses=suppresses,
        )

    def _is_tabled(self, words: FrozenSet[bytes]) -> bool:
        return not words.isdisjoint(self._alone) or any(
            module in words and not words.isdisjoint(names)
            for module, names in self._in_modules.items()
        )


def _shows(text: Text, signs: Iterable[Signs]) -> bool:
    return any(map(text.shows, signs))


def _has_tiny(code: bytes) -> bool:
    return (b"e-" in code or b"E-" in code) and _TINY.search(code) is not None


def _fetched(code: bytes) -> Iterable[bytes]:
    found = _FETCH.findall(code) if b":0" in code else []
    if b"TensorHook" in code or b"_by_name" in code:
        found += [name + b":0" for name in _STRING.findall(code)]
    return found


def _closed(code: bytes) -> Iterable[bytes]:
    return _CLOSED.findall(code) if b".close" in code or b".__exit__" in code else ()


def _imports(outline: Outline) -> Iterator[ImportedNames]:
    for statement in outline.imports:
        if isinstance(statement, ast.ImportFrom):
            names = tuple([alias.name for alias in statement.names])
            yield ImportedNames(statement.module or "", statement.level or 0, names)
        else:
            for alias in statement.names:
                yield ImportedNames(alias.name, 0)
