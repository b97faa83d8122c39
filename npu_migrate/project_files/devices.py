"""``CUDA_VISIBLE_DEVICES``, which says nothing to an NPU."""

import re
from typing import Iterator, List, Tuple

from npu_migrate.project_files.finding import Found
from npu_migrate.project_files.launching import is_launched
from npu_migrate.project_files.shell import Command, Script

RULE = "cuda-visible-devices-in-shell"
NAME = "CUDA_VISIBLE_DEVICES"

_PYTHON = re.compile(r"(?:\S*/)?python[\d.]*$")
_NONE = {"", "-1", "none", "NONE", "no", "''", '""'}


def find(script: Script) -> Iterator[Found]:
    """The lines that choose GPUs; those that hide all of them are left."""
    for command in script.commands():
        for number, word in enumerate(command):
            name, is_set, value = word.text.partition("=")
            bare = value.strip("\"'")
            if name == NAME and is_set and bare not in _NONE:
                line, column = script.place(word.start)
                advice = _advice(bare, command, number)
                yield Found(RULE, line, column, NAME, {"devices": bare, "line": advice})


def _advice(devices: str, command: Command, number: int) -> str:
    if is_launched(command):
        return "leave it out: npu-run gives each process a device of its own"
    before = [word.text for word in command[:number]]
    rest = [word.text for word in command[number + 1 :]]
    if before[:1] in (["export"], ["declare"], ["local"]) or not rest:
        if _is_one(devices):
            return f"write: export ASCEND_DEVICE_ID={devices}{_if_one(devices)}"
        return (
            "leave it out: one process drives one NPU, and npu-run -np N gives each of N processes "
            "a device of its own"
        )
    before, rest = _started_by_npu_run(before, rest)
    if _is_one(devices):
        line = " ".join([*before, f"ASCEND_DEVICE_ID={devices}", *rest])
        return f"write: {line}{_if_one(devices)}"
    count = len(devices.split(","))
    one = " ".join([*before, *rest])
    if "$" in devices or "npu-run" not in rest:
        return f"write: {one} (one process drives one NPU)"
    several = one.replace("npu-run", f"npu-run -np {count}", 1)
    return f"write: {several} (one process drives one NPU; on a single one: {one})"


def _is_one(devices: str) -> bool:
    return "," not in devices and bool(re.match(r"\d+$|\$\{?\w+\}?$", devices))


def _if_one(devices: str) -> str:
    return f" (where {devices} is one number)" if "$" in devices else ""


def _started_by_npu_run(before: List[str], rest: List[str]) -> Tuple[List[str], List[str]]:
    """``python train.py`` becomes ``npu-run train.py``."""
    for position, word in enumerate(rest):
        if _PYTHON.match(word) and position + 1 < len(rest):
            following = rest[position + 1 :]
            unbuffered = ["PYTHONUNBUFFERED=1"] if following[0] == "-u" else []
            following = following[1:] if unbuffered else following
            if not following or following[0].startswith("-"):
                break
            return before, [*unbuffered, *rest[:position], "npu-run", *following]
        if "=" not in word:
            break
    return before, rest
