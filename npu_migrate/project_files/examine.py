"""One project file: read, judged by what it is, and nothing of it changed."""

import os
import re
from collections import defaultdict
from dataclasses import replace
from typing import Iterable, Iterator, List, Mapping, Tuple

from npu_migrate.findings import Finding
from npu_migrate.project_files import devices, graph_rewrites, launching, requirements
from npu_migrate.project_files.finding import Found
from npu_migrate.project_files.shell import Script
from npu_migrate.results import FileResult
from npu_migrate.rules import Rule, Rules
from npu_migrate.sources import Source, SourceError
from npu_migrate.suppressions import Suppressions, are_in, read_lines

_SHELL = (".sh", ".bash", ".slurm", ".sbatch")
_INSTRUCTION = re.compile(r"^[ \t]*(RUN|CMD|ENTRYPOINT|ENV|FROM|ARG|[A-Z]{3,})\b", re.MULTILINE)
_RECIPE = re.compile(r"^(\t[@+-]*)?.*(?:\\\r?\n.*)*", re.MULTILINE)
_ENVIRONMENT = re.compile(r"^([ \t]*ENV[ \t]+\w+)[ \t]+(?=\S)", re.MULTILINE)
_EXPORT = re.compile(r"export[ \t]+\w+[ \t]*:?=[ \t]*")


class Examiner:
    """Finds by the rules that were ``chosen`` among those ``known``.

    ``ignored_in`` has the starts of codes that are ignored in some files, by path.
    """

    def __init__(
        self,
        known: Rules,
        chosen: Rules,
        ignored_in: Mapping[str, Tuple[str, ...]],
        add_ignores: bool = False,
    ) -> None:
        self._known = known
        self._chosen = chosen
        self._by_name = {rule.name: rule for rule in chosen.by_code.values()}
        self._ignored_in = ignored_in
        self._add_ignores = add_ignores

    def examine(self, source: Source) -> FileResult:
        """The findings of a file that is no script of Python."""
        path = source.path
        try:
            data = source.read()
        except SourceError as error:
            return FileResult(path, b"", b"", error=error)
        result = self._judged(path, data)
        return self._with_ignores(result) if self._add_ignores else result

    def _judged(self, path: str, data: bytes) -> FileResult:
        text = data.decode("utf-8", "replace")
        found = self._findings(path, text, _found(os.path.basename(path), text))
        shown, suppressed = (tuple(sorted(part, key=_by_place)) for part in found)
        return FileResult(path, data, data, shown, suppressed=suppressed)

    def _with_ignores(self, result: FileResult) -> FileResult:
        """The file with comments that suppress what is left, where they can do so."""
        from npu_migrate.add_ignores import can_be_ignored, with_ignores_above

        left = [f for f in result.findings if f.status.is_left and can_be_ignored(f)]
        after = with_ignores_above(result.before, left)
        ignored = self._judged(result.path, after)
        if any(f.status.is_left and can_be_ignored(f) for f in ignored.findings):
            return result
        return replace(ignored, before=result.before)

    def with_commands(self, result: FileResult) -> FileResult:
        """The result of a notebook, with what its shell commands are found to do."""
        from npu_migrate.notebooks.commands import shell_cells

        if result.error is not None or result.skipped:
            return result
        shown, suppressed = list(result.findings), list(result.suppressed)
        for cell, text, sign in shell_cells(result.path, result.before):
            found, hidden = self._findings(result.path, text, _in_shell(text))
            for finding in found:
                remedy = re.sub("^write: (?:export )?", f"write: {sign}", finding.remedy)
                remedy = remedy if sign else finding.remedy
                shown.append(replace(finding, cell=cell, remedy=remedy))
            suppressed += [replace(finding, cell=cell) for finding in hidden]
        shown.sort(key=_by_place)
        return replace(result, findings=tuple(shown), suppressed=tuple(suppressed))

    def _findings(
        self, path: str, text: str, found: Iterable[Found]
    ) -> Tuple[List[Finding], List[Finding]]:
        """What is reported, and what is suppressed."""
        findings = [
            _finding(path, one, self._by_name[one.rule])
            for one in found
            if one.rule in self._by_name
        ]
        is_shell = path.lower().endswith((*_SHELL, ".ipynb"))
        marked = are_in(text.encode("utf-8", "replace"))
        suppressions = read_lines(text, is_shell) if marked else Suppressions()
        suppressions = replace(suppressions, everywhere=self._ignored_in.get(path, ()))
        suppressed = [finding for finding in findings if suppressions.holds(finding)]
        shown = [finding for finding in findings if not suppressions.holds(finding)]
        shown += suppressions.judged(path, suppressed, self._chosen, self._known)
        return shown, suppressed


def _by_place(finding: Finding) -> Tuple[int, int, int, str]:
    return finding.cell, finding.line, finding.column, finding.code


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
    if lower.endswith(_SHELL):
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
    yield from graph_rewrites.find(script)
    yield from requirements.in_commands(script)


def _as_shell(text: str) -> str:
    """The commands of a Dockerfile, each where it stands; other instructions go blank."""
    text = _ENVIRONMENT.sub(r"\1=", text)
    return _INSTRUCTION.sub(_blank, text)


def _recipe(match: "re.Match[str]") -> str:
    """A line of a Makefile, with what continues it: a recipe or export, or nothing to the shell."""
    text = match.group()
    if _EXPORT.match(text):
        return re.sub(r"[ \t]*:?=[ \t]*", "=", text, count=1)
    sign = match.group(1)
    return " " * len(sign) + text[len(sign) :] if sign else "\n" * text.count("\n")


def _blank(match: "re.Match[str]") -> str:
    runs = match.group(1) in ("RUN", "CMD", "ENTRYPOINT", "ENV")
    return " " * len(match.group()) if runs else "#" + " " * (len(match.group()) - 1)
