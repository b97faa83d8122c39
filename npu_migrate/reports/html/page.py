"""What the page shows, as plain data."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, Tuple

from npu_migrate.plan import Finding, Status
from npu_migrate.reports import Run
from npu_migrate.reports.html.highlight import plain_lines, python_lines
from npu_migrate.reports.html.side_by_side import Hunk, hunks_of
from npu_migrate.reports.visible import visible
from npu_migrate.results import FileResult
from npu_migrate.rules import Rules
from npu_migrate.sources import SourceError, decode, is_notebook

STATUSES = tuple(status.value for status in Status)


@dataclass(frozen=True)
class Share:
    """How many findings of each status a family has, in the order of ``STATUSES``."""

    name: str
    counts: Tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.counts)


@dataclass(frozen=True)
class Page:
    """The data of the page; ``findings``, ``rules`` and ``diffs`` are for its script."""

    summary: Dict[str, int]
    written: bool
    families: Tuple[Share, ...]
    errors: Tuple[Tuple[str, str], ...]
    files: List[Dict[str, Any]]
    findings: List[List[Any]]
    rules: Dict[str, Dict[str, str]]
    diffs: List[List[Dict[str, Any]]]

    @property
    def statuses(self) -> Tuple[str, ...]:
        return STATUSES

    @property
    def widest(self) -> int:
        """The findings of the largest family."""
        return max((family.total for family in self.families), default=1)


def page_of(run: Run, rules: Rules) -> Page:
    """A run as the page shows it."""
    shown = [result for result in run.results if result.findings or result.is_changed]
    codes = sorted({finding.code for finding in run.findings})
    return Page(
        summary=run.summary,
        written=run.written,
        families=_families(run.findings, rules),
        errors=tuple((visible(error.place), _error_text(error)) for error in run.errors),
        files=[_file(result) for result in shown],
        findings=[
            _finding(finding, number)
            for number, result in enumerate(shown)
            for finding in result.findings
        ],
        rules={code: _rule(rules, code) for code in codes},
        diffs=[_diff(result) for result in shown],
    )


def _families(findings: Sequence[Finding], rules: Rules) -> Tuple[Share, ...]:
    counted = Counter((rules.by_code[f.code].family, f.status.value) for f in findings)
    names = dict.fromkeys(rules.by_code[code].family for code in sorted(rules.by_code))
    shares = (Share(name, tuple(counted[name, status] for status in STATUSES)) for name in names)
    return tuple(share for share in shares if share.total)


def _error_text(error: SourceError) -> str:
    return visible(f"{error.message}; {error.remedy}")


def _rule(rules: Rules, code: str) -> Dict[str, str]:
    rule = rules.by_code[code]
    return {
        "name": rule.name,
        "family": rule.family,
        "reason": rule.reason,
        "documentation": rule.documentation,
    }


def _file(result: FileResult) -> Dict[str, Any]:
    counts = Counter(finding.status.value for finding in result.findings)
    return {
        "path": visible(result.path),
        "changed": result.is_changed,
        "counts": [counts[status] for status in STATUSES],
    }


def _finding(finding: Finding, file: int) -> List[Any]:
    """File, cell, line, column, code, status, message, remedy: short, for there may be many."""
    return [
        file,
        finding.cell,
        finding.line,
        finding.column,
        finding.code,
        STATUSES.index(finding.status.value),
        visible(finding.message),
        visible(finding.remedy),
    ]


def _diff(result: FileResult) -> List[Dict[str, Any]]:
    before, after = (_text(result, data) for data in (result.before, result.after))
    placed = [finding for finding in result.findings if not finding.cell]
    hunks = hunks_of(before.split("\n"), after.split("\n"), placed)
    if not hunks:
        return []
    lines_of = plain_lines if is_notebook(result.path) else python_lines
    left = lines_of(before)
    right = lines_of(after) if after != before else left
    positions = {id(finding): number for number, finding in enumerate(result.findings)}
    return [_hunk(hunk, left, right, positions) for hunk in hunks]


def _text(result: FileResult, data: bytes) -> str:
    """The text with line feeds alone, so that all count the same lines."""
    text = decode(data, result.path)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _hunk(
    hunk: Hunk, left: Sequence[str], right: Sequence[str], positions: Dict[int, int]
) -> Dict[str, Any]:
    return {
        "findings": [positions[id(finding)] for finding in hunk.findings],
        "rows": [
            [row.left + 1, _line(left, row.left), row.right + 1, _line(right, row.right)]
            if row.changed
            else [row.left + 1, _line(left, row.left), row.right + 1]
            for row in hunk.rows
        ],
    }


def _line(lines: Sequence[str], number: int) -> str:
    return lines[number] if 0 <= number < len(lines) else ""
