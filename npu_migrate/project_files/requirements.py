"""Packages and images that need a GPU, where a project says what it is installed with."""

import re
from typing import Iterator

from npu_migrate.project_files.finding import Found
from npu_migrate.project_files.packages import rule_of
from npu_migrate.project_files.shell import Script

IMAGE = "gpu-image"

_EGG = re.compile(r"#egg=([A-Za-z0-9][\w.-]*)")
_ITEM = re.compile(r"\s*-\s+[\"']?(?:[\w.-]+::)?(?=[A-Za-z])")
_SECTION = re.compile(r"\s*\[+\s*([^\]\n]+?)\s*\]+\s*(?:#.*)?$")
_KEY = re.compile(r"([A-Za-z][\w.-]*)\s*=(?!=)")
_NEEDS = re.compile(r"depend|require")
_QUOTED = re.compile(r"[\"']([A-Za-z][^\"']*)[\"']")
_PIP = re.compile(r"(?:\S*/)?(?:pip[\d.]*|conda|mamba)$")
_IMAGE = re.compile(
    r"(?:nvcr\.io/nvidia/(?:tensorflow|cuda|tritonserver)|nvidia/cuda|horovod/horovod"
    r"|tensorflow/tensorflow:\S*gpu)\S*"
)
_ARGUMENT = re.compile(r"ARG\s+(\w+)=(\S+)", re.IGNORECASE)
_FROM = re.compile(r"FROM\s+(?:--\S+\s+)*(\S+)", re.IGNORECASE)


def in_list(text: str) -> Iterator[Found]:
    """``requirements.txt``."""
    for number, line in enumerate(text.split("\n"), 1):
        start = len(line) - len(line.lstrip())
        egg = _EGG.search(line)
        if line[start : start + 1] == "#":
            continue
        if egg and egg.group(1):
            yield from _package(egg.group(1), number, egg.start(1) + 1)
        else:
            yield from _package(line[start:], number, start + 1)


def in_environment(text: str) -> Iterator[Found]:
    """``environment.yml``."""
    for number, line in enumerate(text.split("\n"), 1):
        match = _ITEM.match(line)
        if match:
            yield from _package(line[match.end() :], number, match.end() + 1)


def in_settings(text: str) -> Iterator[Found]:
    """``pyproject.toml``, ``setup.cfg`` and ``Pipfile``: what stands under dependencies."""
    section = key = ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith(("#", ";")):
            continue
        heading = _SECTION.match(line)
        if heading and not line.startswith((" ", "\t")):
            section, key = heading.group(1), ""
            continue
        assigned = _KEY.match(line)
        if assigned:
            key = assigned.group(1)
            is_table = bool(re.search(r"dependencies$|packages$", section))
            if is_table and "extras" not in section and "optional" not in section:
                yield from _package(key, number, 1)
        if not _NEEDS.search(f"{section} {key}"):
            continue
        start = assigned.end() if assigned else 0
        quoted = list(_QUOTED.finditer(line, start))
        for match in quoted:
            yield from _package(match.group(1), number, match.start(1) + 1)
        bare = line[start:].strip()
        if not quoted and bare:
            yield from _package(bare, number, line.index(bare, start) + 1)


def in_commands(script: Script) -> Iterator[Found]:
    """``pip install``."""
    for command in script.commands():
        words = [word.text for word in command]
        tools = [n for n, word in enumerate(words) if _PIP.match(word)]
        if not tools or "install" not in words[tools[0] :]:
            continue
        for word in command[words.index("install", tools[0]) + 1 :]:
            if not word.text.startswith("-"):
                yield from _package(word.bare, *script.place(word.start))


def in_dockerfile(text: str) -> Iterator[Found]:
    """The images that a ``Dockerfile`` starts from."""
    arguments = {}
    for number, line in enumerate(text.split("\n"), 1):
        argument, start = _ARGUMENT.match(line), _FROM.match(line)
        if argument:
            arguments[argument.group(1)] = argument.group(2), number, argument.start(2) + 1
        elif start:
            image = start.group(1), number, start.start(1) + 1
            image = arguments.get(start.group(1).strip("${}"), image)
            if _IMAGE.match(image[0]):
                yield Found(IMAGE, image[1], image[2], image[0], {"package": image[0]})


def _package(requirement: str, line: int, column: int) -> Iterator[Found]:
    rule, name = rule_of(requirement)
    if rule:
        yield Found(rule, line, column, name, {"package": name})
