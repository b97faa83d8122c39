"""The run as one JSON object."""

import json
from typing import Any, Dict

from npu_migrate.findings import Finding
from npu_migrate.reports import Run
from npu_migrate.sources import SourceError

VERSION = 1


def render(run: Run) -> str:
    """Always a valid object, also where nothing was found."""
    report = json.dumps(
        {
            "version": VERSION,
            "findings": [_finding(finding) for finding in run.findings],
            "errors": [_error(error) for error in run.errors],
            "skipped": [{"path": path, "reason": reason} for path, reason in run.skipped],
            "summary": run.summary,
        },
        indent=2,
    )
    return report + "\n"


def _finding(finding: Finding) -> Dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "path": finding.path,
        **_cell(finding.cell),
        "line": finding.line,
        "column": finding.column,
        "symbol": finding.symbol,
        "status": finding.status.value,
        "assumed": finding.assumed,
        "message": finding.message,
        "remedy": finding.remedy,
    }


def _error(error: SourceError) -> Dict[str, Any]:
    return {
        "path": error.path,
        **_cell(error.cell),
        "line": error.line,
        "message": error.message,
        "remedy": error.remedy,
    }


def _cell(number: int) -> Dict[str, int]:
    """Only findings in a notebook have a cell."""
    return {"cell": number} if number else {}
