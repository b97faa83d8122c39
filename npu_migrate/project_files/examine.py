"""One project file: read, judged by what it is, and nothing of it changed."""

import os
import re
from collections import defaultdict
from typing import Iterator

from npu_migrate.plan import Finding, Status
from npu_migrate.project_files import devices, launching, requirements
from npu_migrate.project_files.finding import Found
from npu_migrate.project_files.shell import Script
from npu_migrate.results import FileResult
from npu_migrate.rules import Rules
from npu_migrate.sources import Source, SourceError

_INSTRUCTION = re.compile(r"^[ \t]*(RUN|CMD|ENTRYPOINT|ENV|FROM|ARG|[A-Z]{3,})\b", re.MULTILINE)
_DEVICES = re.compile(r"^([ \t]*)ENV([ \t]+)CUDA_VISIBLE_DEVICES[ \t]+", re.MULTILINE)


def examine(source: Source, rules: Rules) -> FileResult:
    """The findings of a file that is no script of Python."""
    try:
        data = source.read()
    except SourceError as error:
        return FileResult(source.path, b"", b"", error=error)
    text = data.decode("utf-8", "replace")
    by_name = {rule.name: rule for rule in rules.by_code.values()}
    findings = []
    for found in _found(os.path.basename(source.path), text):
        rule = by_name.get(found.rule)
        if rule is None:
            continue
        details = defaultdict(str, {"symbol": found.symbol, "name": found.symbol, **found.details})
        findings.append(
            Finding(
                rule.code,
                rule.name,
                source.path,
                found.line,
                found.column,
                found.symbol,
                rule.status,
                rule.message.format_map(details),
                remedy="" if rule.status is Status.NOTE else rule.remedy.format_map(details),
            )
        )
    findings.sort(key=lambda f: (f.line, f.column, f.code))
    return FileResult(source.path, data, data, tuple(findings))


def _found(name: str, text: str) -> Iterator[Found]:
    lower = name.lower()
    if lower.endswith((".sh", ".bash", ".slurm", ".sbatch")):
        yield from _in_shell(text)
    elif lower.endswith((".yml", ".yaml")):
        yield from requirements.in_environment(text)
    elif lower.endswith((".toml", ".cfg")) or lower == "pipfile":
        yield from requirements.in_settings(text)
    elif lower.endswith(".txt"):
        yield from requirements.in_list(text)
    else:
        yield from requirements.in_dockerfile(text)
        yield from _in_shell(_as_shell(text))


def _in_shell(text: str) -> Iterator[Found]:
    script = Script(text)
    yield from launching.find(script)
    yield from devices.find(script)
    yield from requirements.in_commands(script)


def _as_shell(text: str) -> str:
    """The commands of a Dockerfile, each where it stands; other instructions go blank."""
    text = _DEVICES.sub(lambda match: match.group()[:-1].rstrip() + "=", text)
    return _INSTRUCTION.sub(_blank, text)


def _blank(match: "re.Match[str]") -> str:
    runs = match.group(1) in ("RUN", "CMD", "ENTRYPOINT", "ENV")
    return " " * len(match.group()) if runs else "#" + " " * (len(match.group()) - 1)
