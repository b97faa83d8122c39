"""The first look at a file: at its text, before any tree is walked.

Most files of a repository hold nothing to migrate. A sign in a comment or a string does no harm,
since it only makes the run look closer. What such files must still tell the others is found here
too: which modules they import, and which tensors they fetch by name.
"""

import ast
import re
from typing import Dict, FrozenSet, Iterable, Iterator, NamedTuple, Set, Tuple

from npu_migrate.migrations import signs
from npu_migrate.migrations.signs import Signs, Text
from npu_migrate.outline import Outline
from npu_migrate.programs import ImportedNames

_STRING = re.compile(rb"['\"]([\w/.]{1,200})['\"]")
_FETCH = re.compile(rb"['\"]([^'\"\s]{1,200}:0)['\"]")
_CLOSED = re.compile(rb"(\w+)\.(?:close|__exit__)\b")
_SMALL = r"-(?:0?[89]|[1-9]\d)\b"
TINY = rf"\d\.?[eE]{_SMALL}"
"""A number that is zero in float16, which matters where mixed precision may be on."""
_TINY = re.compile(TINY.encode("ascii"))
_EXPONENTS = [re.compile(e + _SMALL.encode("ascii")) for e in (b"e", b"E")]
"""The ends of such numbers: what begins with a known text is found faster."""


class Scan(NamedTuple):
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
    says_precision: bool = False
    """It may switch mixed precision on, or configure the NPU."""
    on_npu: bool = False
    """It may use the NPU's packages already."""
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
        concerned = self._is_tabled(text.words) or _shows(text, self._concerned)
        in_program = text.shows(signs.IN_PROGRAM)
        return Scan(
            concerned=concerned,
            concerned_in_program=not concerned and (in_program or _has_tiny(text)),
            trains=concerned and _shows(text, self._of_training),
            trains_in_program=in_program,
            makes_program=concerned and _shows(text, self._program),
            has_horovod=concerned and text.shows(signs.HOROVOD),
            trains_keras=text.shows(signs.KERAS_TRAINING),
            is_main=b"__main__" in text.words,
            has_embeddings=text.mentions(b"embedding"),
            imports=tuple(_imports(outline)),
            fetches=frozenset(name.decode("utf-8", "replace") for name in _fetched(text)),
            closed=frozenset(name.decode("utf-8", "replace") for name in _closed(text)),
            says_precision=_shows(text, (signs.PRECISION, signs.NPU_CONFIGS)),
            on_npu=text.shows(signs.ON_NPU),
            suppresses=suppresses,
        )

    def _is_tabled(self, words: FrozenSet[bytes]) -> bool:
        return not words.isdisjoint(self._alone) or any(
            module in words and not words.isdisjoint(names)
            for module, names in self._in_modules.items()
        )


def _shows(text: Text, signs: Iterable[Signs]) -> bool:
    return any(map(text.shows, signs))


def _has_tiny(text: Text) -> bool:
    ends = any(exponent.search(text.code) for exponent in _EXPONENTS)
    return ends and _TINY.search(text.code) is not None


def _fetched(text: Text) -> Iterable[bytes]:
    found = _FETCH.findall(text.code) if b":0" in text.code else []
    if text.mentions(b"TensorHook") or text.mentions(b"_by_name"):
        found += [name + b":0" for name in _STRING.findall(text.code)]
    return found


def _closed(text: Text) -> Iterable[bytes]:
    if not text.mentions(b" close") and not text.mentions(b" __exit__"):
        return ()
    lines = [line for line in text.code.split(b"\n") if b".close" in line or b".__exit__" in line]
    return _CLOSED.findall(b"\n".join(lines))


def _imports(outline: Outline) -> Iterator[ImportedNames]:
    for statement in outline.imports:
        if isinstance(statement, ast.ImportFrom):
            names = tuple([alias.name for alias in statement.names])
            yield ImportedNames(statement.module or "", statement.level or 0, names)
        else:
            for alias in statement.names:
                yield ImportedNames(alias.name, 0)
