"""One project file: read, judged by what it is, and nothing of it changed."""

import os
import re
from collections import defaultdict
from dataclasses import replace
from typing import Iterable, Iterator, Tuple

from npu_migrate.plan import Finding
from npu_migrate.project_files import devices, launching, requirements
from npu_migrate.project_files.finding import Found
from npu_migrate.project_files.shell import Script
from npu_migrate.results import FileResult
from npu_migrate.rules import Rule, Rules
from npu_migrate.sources import Source, SourceError

_INSTRUCTION = re.compile(r"^[ \t]*(RUN|CMD|ENTRYPOINT|ENV|FROM|ARG|[A-Z]{3,})\b", re.MULTILINE)
_RECIPE = re.compile(r"^(\t[@+-]*)?.*(?:\\\r?\n.*)*", re.MULTILINE)
_DEVICES = re.compile(r"^([ \t]*)ENV([ \t]+)CUDA_VISIBLE_DEVICES[ \t]+", re.MULTILINE)


def examine(source: Source, rules: Rules) -> FileResult:
    """The findings of a file that is no script of Python."""
    try:
        data = source.read()
    except SourceError as error:
        return FileResult(source.path, b"", b"", error=error)
    text = data.decode("utf-8", "replace")
    found = _found(os.path.basename(source.path), text)
    return FileResult(source.path, data, data, _findings(source.path, found, rules))


def with_commands(result: FileResult, rules: Rules) -> FileResult:
    """The result of a notebook, with what its shell commands are found to do."""
    from npu_migrate.notebooks.commands import shell_cells

    if result.error is not None or result.skipped:
        return result
    findings = result.findings
    for cell, text, sign in shell_cells(result.path, result.before):
        for finding in _findings(result.path, _in_shell(text), rules):
            remedy = re.sub("^write: (?:export )?", f"write: {sign}", finding.remedy)
            findings += (replace(finding, cell=cell, remedy=remedy if sign else finding.remedy),)
    ordered = sorted(findings, key=lambda f: (f.cell, f.line, f.column, f.code))
    return replace(result, findings=tuple(ordered))


def _findings(path: str, found: Iterable[Found], rules: Rules) -> Tuple[Finding, ...]:
    by_name = {rule.name: rule for rule in rules.by_code.values()}
    findings = [_finding(path, one, by_name[one.rule]) for one in found if one.rule in by_name]
    return tuple(sorted(findings, key=lambda f: (f.line, f.column, f.code)))


def _finding(path: str, found: Found, rule: Rule) -> Finding:
    details = defaultdict(str, {"symbol": found.symbol, "name": found.symbol, **found.details})
    return Finding(
        code=rule.code,
        name=rule.name,
        path=path,
        line=found.line,
        column=found.column,
        symbol=found.symbol,
        status=rule.status,
        message=rule.message.format_map(details),
        remedy=rule.remedy.format_map(details) if rule.status.is_left else "",
    )


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
    elif lower.endswith(("makefile", ".mk")):
        yield from _in_shell(_RECIPE.sub(_recipe, text))
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


def _recipe(match: "re.Match[str]") -> str:
    """A line of a Makefile, with its continuations: a recipe, or nothing to the shell."""
    text = match.group()
    sign = match.group(1)
    return " " * len(sign) + text[len(sign) :] if sign else "\n" * text.count("\n")


def _blank(match: "re.Match[str]") -> str:
    runs = match.group(1) in ("RUN", "CMD", "ENTRYPOINT", "ENV")
    return " " * len(match.group()) if runs else "#" + " " * (len(match.group()) - 1)
