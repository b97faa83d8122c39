"""What the outcome of a check depends on, as one key.

A finding in one file may rest on any other file of the run, by names, by the program that they make
together or by what its optimizers do with the global step. So the key is one of the whole run: of
all its files, in order, with their contents, and of everything else that has a say.
"""

import hashlib
import json
import os
import sys
from dataclasses import fields
from typing import Iterator, List, Sequence, Tuple

from npu_migrate.layout import Layout
from npu_migrate.options import Options
from npu_migrate.rule_files import rule_files, shipped_rules

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OF_NO_EFFECT = ("jobs",)


def run_key(
    paths: Sequence[str],
    digests: Sequence[str],
    checked: int,
    options: Options,
    rules: Sequence[str],
) -> str:
    """The key of a check of the first ``checked`` files, beside which the others are read.

    ``digests`` are of their texts. The check is made by the shipped rules and those in the folders
    ``rules``.
    """
    asked = {
        "tool": _digests(sorted(_modules(_PACKAGE))),
        "python": [sys.version, sys.getrecursionlimit()],
        "options": {
            option.name: getattr(options, option.name)
            for option in fields(options)
            if option.name not in _OF_NO_EFFECT
        },
        "rules": [_digests(rule_files(folder)) for folder in (shipped_rules(), *rules)],
        "folder": os.getcwd(),
        "root": Layout(paths).root,
        "checked": checked,
        "files": list(zip(paths, digests)),
    }
    return digest(json.dumps(asked).encode("ascii"))


def _modules(folder: str) -> Iterator[str]:
    for entry in os.scandir(folder):
        if entry.is_dir():
            yield from _modules(entry.path)
        elif entry.name.endswith(".py"):
            yield entry.path


def _digests(paths: Sequence[str]) -> List[Tuple[str, str]]:
    found = []
    for path in paths:
        with open(path, "rb") as file:
            found.append((path, digest(file.read())))
    return found


def digest(data: bytes) -> str:
    """What no other data has."""
    return hashlib.sha256(data).hexdigest()
