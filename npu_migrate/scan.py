"""The first look at a file: at its text, before any tree is walked.

Most files of a repository hold nothing to migrate. What they must still tell the others, which
modules they import and which tensors they fetch by name, is found by regular expressions; a match
in a comment or a string does no harm, since it only makes the run look closer.
"""

import re
from dataclasses import dataclass
from typing import FrozenSet, Iterable, List, Tuple

from npu_migrate.suppressions import MARK

OF_TRAINING = (
    "mixed_precision",
    "MIXED_PRECISION",
    "LossScale",
    "loss_scale:0",
    "horovod",
    "byteps",
    "npu_bridge",
    "ops_adapter",
    "RANK_",
    "is_finite",
    "is_nan",
    "is_inf",
)
"""Words of files that may hold loss scaling, averaging over ranks or a moved global step."""

CONCERNED = (
    *OF_TRAINING,
    "TF_XLA_FLAGS",
    "executing_eagerly",
    ".device(",
    "gpu:",
    "GPU:",
    "DeviceSpec",
    "visible_device",
    "CUDA_VISIBLE_DEVICES",
    "memory_growth",
    "list_physical_devices",
    "is_gpu_available",
    "is_built_with_cuda",
    "gpu_device_name",
    "nvml",
    "cupy",
    "nvtx",
    "GPUtil",
    "install_requires",
    "extras_require",
    "set_start_method",
    "get_context",
    "hccl.",
    "shape_invariants",
    "control_flow_v2",
)
"""Words of files that the migrations may concern whatever else the run holds."""

SESSIONS = (
    *("Session", "session_config", "managed_session", "custom_optimizers"),
    *("learning.train", "training.train", "evaluate_", "evaluation_loop"),
)
"""Words of what makes sessions."""

IN_MODULES = {
    "grad": ("gradients(",),
    "nvidia": ("dali",),
    "variables_initializer": (".initializer", "make_initializer"),
    "initialize_all_variables": (".initializer", "make_initializer"),
    "ataset": ("ariable(", "global_step", "backend", ".shuffle(", "shuffle_and_repeat("),
    "map": ("HashTable", "_table_from_", "VocabularyTable"),
    "num_threads": ("batch(",),
    "distribute": ("Strategy",),
    "self.": ("Session(",),
    "tensorflow": (
        *("float64", "double", "complex64", "complex128", "uint8"),
        *SESSIONS,
        *("jit", "xla", "XLA", "experimental_compile"),
    ),
}
"""The same, in files that hold another word too."""

ESTIMATORS = (
    "stimator",
    "contrib.learn",
    "contrib import learn",
    "contrib.factorization",
    "contrib.timeseries",
)
WITH_ESTIMATORS = ("RunConfig", "Classifier", "Regressor", "_to_estimator", "KMeans", "GMM", "SVM")
"""The same, in files that speak of Estimators, and not just of the ``EstimatorSpec``."""

KERAS_TRAINING = (".fit(", ".fit_generator(", ".train_on_batch(", "import keras", "from keras")
"""The same, in files that speak of Keras."""

IN_PROGRAM = ("Optimizer", "keras.optimizers", "minimize", "global_step", "assign_add", "hvd")
"""Words of files that matter in a program with loss scaling or Horovod."""

PROGRAM = (
    "LossScale",
    "mixed_precision",
    "horovod",
    "byteps",
    "ops_adapter",
    "allow_mix_precision",
    "mixed_float16",
)

TRAINING = ("minimize", "apply_gradients", "compile", "train_op", "optimize_loss")
"""Words of files that train, which matter where loss scaling is to be added."""

HOROVOD = ("horovod", "byteps", "ops_adapter")

_IMPORT = re.compile(rb"\bimport\b")
_BEFORE = re.compile(
    rb"(?:^|[;:])[ \t]*(?:from[ \t]+(\.*)[ \t]*([\w.]*)[ \t\\\r\n]+)?\Z", re.MULTILINE
)
_AFTER = re.compile(rb"[ \t]*(\([^)]*\)|[^\n;]*)")
_STRING = re.compile(rb"['\"]([\w/.]{1,200})['\"]")
_FETCH = re.compile(rb"['\"]([^'\"\s]{1,200}:0)['\"]")
_NAME = re.compile(r"[\w.]+|\*")
_CLOSED = re.compile(rb"(\w+)\.(?:close|__exit__)\b")
TINY = r"\d\.?[eE]-(?:0?[89]|[1-9]\d)\b"
_TINY = re.compile(TINY.encode("ascii"))
"""A number that is zero in float16, which matters where mixed precision may be on."""


@dataclass(frozen=True)
class ImportedNames:
    """``from module import names`` (with dots counted in ``level``), or ``import module``."""

    module: str
    level: int
    names: Tuple[str, ...] = ()


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
    """Scans texts for the words of a set of rules.

    ``tabled`` are names that need no judgement; ``training`` makes files that train concerned.
    """

    def __init__(self, tabled: Iterable[str], training: bool = False) -> None:
        of_training = TRAINING if training else ()
        concerned = {*CONCERNED, *of_training}
        in_modules = {module: set(words) for module, words in IN_MODULES.items()}
        for name in tabled:
            *modules, last = name.split(".")
            if len(modules) > 1:  # many names are common words outside of their modules
                for start in (".", " "):
                    in_modules.setdefault(start + modules[-1], set()).add(last)
            else:
                concerned.add(last)
        self._concerned = _encoded(_shortest(concerned))
        self._in_modules = tuple(
            (module.encode("ascii"), _encoded(_shortest(words - concerned)))
            for module, words in sorted(in_modules.items())
        )
        self._of_training = _encoded([*OF_TRAINING, *of_training])
        self._with_gradients = _encoded(IN_MODULES["grad"])
        self._estimators = _encoded(ESTIMATORS)
        self._with_estimators = _encoded(WITH_ESTIMATORS)
        self._keras_training = _encoded(KERAS_TRAINING)
        self._in_program = _encoded(IN_PROGRAM)
        self._program = _encoded([*PROGRAM, *of_training])
        self._horovod = _encoded(HOROVOD)

    def __call__(self, data: bytes) -> Scan:
        trains_keras = b"keras" in data and _holds(data, self._keras_training)
        concerned = (
            trains_keras
            or _holds(data, self._concerned)
            or any(module in data and _holds(data, words) for module, words in self._in_modules)
            or self._makes_estimator(data)
        )
        in_program = _holds(data, self._in_program)
        return Scan(
            concerned=concerned,
            concerned_in_program=not concerned and (in_program or _TINY.search(data) is not None),
            trains=concerned
            and (
                _holds(data, self._of_training)
                or (b"grad" in data and _holds(data, self._with_gradients))
            ),
            trains_in_program=in_program,
            makes_program=concerned and _holds(data, self._program),
            has_horovod=concerned and _holds(data, self._horovod),
            trains_keras=trains_keras,
            is_main=b"__main__" in data,
            has_embeddings=b"embedding" in data,
            imports=tuple(_imports(data)),
            fetches=frozenset(name.decode("utf-8", "replace") for name in _fetched(data)),
            closed=frozenset(name.decode("utf-8", "replace") for name in _closed(data)),
            suppresses=MARK in data,
        )

    def _makes_estimator(self, data: bytes) -> bool:
        if not _holds(data, self._estimators):
            return False
        others = data.count(b"EstimatorSpec")
        return data.count(b"Estimator") > others or _holds(data, self._with_estimators)


def _shortest(words: Iterable[str]) -> Iterable[str]:
    """The words without those that hold another one."""
    shortest: List[str] = []
    for word in sorted(words, key=lambda word: (len(word), word)):
        if not any(other in word for other in shortest):
            shortest.append(word)
    return shortest


def _encoded(words: Iterable[str]) -> Tuple[bytes, ...]:
    return tuple(word.encode("ascii") for word in words)


def _holds(data: bytes, words: Tuple[bytes, ...]) -> bool:
    """Whether a text holds one of the words: many times as fast as one regular expression."""
    return any(word in data for word in words)


def _fetched(data: bytes) -> Iterable[bytes]:
    found = _FETCH.findall(data) if b":0" in data else []
    if b"TensorHook" in data or b"_by_name" in data:
        found += [name + b":0" for name in _STRING.findall(data)]
    return found


def _closed(data: bytes) -> Iterable[bytes]:
    return _CLOSED.findall(data) if b".close" in data or b".__exit__" in data else ()


def _imports(data: bytes) -> Iterable[ImportedNames]:
    for word in _IMPORT.finditer(data):
        before = _BEFORE.search(data, _line_start(data, word.start()), word.start())
        after = _AFTER.match(data, word.end())
        if before is None or after is None:
            continue
        names = after.group(1).decode("utf-8", "replace")
        if before.group(2) is not None:
            module = before.group(2).decode("utf-8", "replace")
            yield ImportedNames(module, len(before.group(1)), _names(names))
        else:
            for name in _names(names):
                yield ImportedNames(name, 0)


def _line_start(data: bytes, position: int) -> int:
    """Where the line begins, with the lines before that a backslash joins to it."""
    start = data.rfind(b"\n", 0, position) + 1
    while start > 1 and data[max(start - 3, 0) : start].rstrip(b"\r\n").endswith(b"\\"):
        start = data.rfind(b"\n", 0, start - 1) + 1
    return start


def _names(text: str) -> Tuple[str, ...]:
    """The names of ``a, b as c``, without what they are renamed to."""
    found = []
    for part in text.strip("()").split(","):
        match = _NAME.search(part)
        if match is not None:
            found.append(match.group())
    return tuple(found)
