"""What the page shows, as plain data."""

from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

from npu_migrate.findings import Finding
from npu_migrate.reports import Run
from npu_migrate.reports.explain import in_words
from npu_migrate.reports.html.diffs import diff_of
from npu_migrate.reports.html.folders import folders_of
from npu_migrate.reports.html.states import (
    Counts,
    Progress,
    Share,
    State,
    counts_of,
    families_of,
    placed,
    progress_of,
    states_of,
    total_of,
)
from npu_migrate.reports.html.tasks import Task, tasks_of
from npu_migrate.reports.visible import visible, visible_line
from npu_migrate.results import FileResult
from npu_migrate.rules import Rule, Rules
from npu_migrate.sources import SourceError


@dataclass(frozen=True)
class Page:
    """The data of the page; ``files``, ``findings``, ``rules`` and ``diffs`` are for its script."""

    written: bool
    summary: Dict[str, int]
    states: Tuple[State, ...]
    counts: Counts
    progress: Progress
    families: Tuple[Share, ...]
    folders: Tuple[Share, ...]
    tasks: Tuple[Task, ...]
    errors: Tuple[Tuple[str, str], ...]
    skipped: Tuple[Tuple[str, str], ...]
    files: List[Dict[str, Any]]
    findings: List[List[Any]]
    rules: Dict[str, Dict[str, Any]]
    diffs: List[List[Dict[str, Any]]]

    @property
    def files_concerned(self) -> int:
        return len(self.files)

    def progress_of(self, share: Share) -> Progress:
        return progress_of(share.counts, self.written)


def page_of(run: Run, rules: Rules) -> Page:
    """A run as the page shows it."""
    shown = [
        result for result in run.results if result.is_changed or placed(result) or result.on_npu
    ]
    families = families_of(run, rules)
    counts = total_of(family.counts for family in families)
    states = states_of(counts, run.written)
    keys = [state.key for state in states]
    found = [(result, placed(result)) for result in shown]
    codes = sorted({finding.code for _, findings in found for finding, _ in findings})
    return Page(
        written=run.written,
        summary=run.summary,
        states=states,
        counts=counts,
        progress=progress_of(counts, run.written),
        families=families,
        folders=folders_of(shown),
        tasks=tasks_of(run, rules),
        errors=tuple((visible_line(e.place), _error_text(e)) for e in run.errors),
        skipped=tuple((visible_line(path), visible(reason)) for path, reason in run.skipped),
        files=[_file(result, keys, run.written) for result in shown],
        findings=[
            _finding(finding, number, keys.index(state))
            for number, (_, findings) in enumerate(found)
            for finding, state in findings
        ],
        rules={code: _rule(rules.by_code[code]) for code in codes},
        diffs=[diff_of(result, [finding for finding, _ in findings]) for result, findings in found],
    )


def _error_text(error: SourceError) -> str:
    return visible(f"{error.message}; {error.remedy}")


def _rule(rule: Rule) -> Dict[str, Any]:
    return {
        "name": rule.name,
        "family": rule.family,
        "message": in_words(rule.message, rule),
        "reason": rule.reason,
        "remedy": in_words(rule.remedy, rule) if rule.remedy else "",
        "documentation": rule.documentation,
        "examples": [[e.before, e.after, e.note] for e in rule.examples[:_EXAMPLES]],
    }


_EXAMPLES = 2
"""How many examples of a rule the page has."""


def _file(result: FileResult, keys: List[str], written: bool) -> Dict[str, Any]:
    counts = counts_of(result)
    progress = progress_of(counts, written)
    return {
        "path": visible_line(result.path),
        "changed": result.is_changed,
        "counts": [counts[key] for key in keys],
        "done": progress.percent_done if progress.total else None,
    }


def _finding(finding: Finding, file: int, state: int) -> List[Any]:
    """File, cell, line, column, code, state, message, remedy: short, for there may be many."""
    return [
        file,
        finding.cell,
        finding.line,
        finding.column,
        finding.code,
        state,
        visible(finding.message),
        visible(finding.remedy),
    ]
