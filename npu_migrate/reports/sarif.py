"""The run in SARIF 2.1.0, which code-scanning services and editors read.

Of a file that is migrated each finding carries the same fix, the whole change to the file: its
changes belong together.
"""

import difflib
import io
import json
import os
from typing import Any, Dict, List
from urllib.parse import quote

from npu_migrate import __version__
from npu_migrate.plan import Finding, Status
from npu_migrate.reports import Run
from npu_migrate.results import FileResult
from npu_migrate.rules import Rule, Rules
from npu_migrate.sources import SourceError, decode

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_LEVELS = {
    Status.MIGRATED: "warning",
    Status.MANUAL: "error",
    Status.UNSUPPORTED: "error",
    Status.NOTE: "note",
}


def render(run: Run, rules: Rules) -> str:
    """Always a valid log, also where nothing was found."""
    codes = sorted({finding.code for finding in run.findings})
    driver = {
        "name": "npu-migrate",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(rules.by_code[code]) for code in codes],
    }
    results = [
        _result(finding, codes.index(finding.code), result)
        for result in run.results
        for finding in result.findings
    ]
    invocation = {
        "executionSuccessful": not run.errors,
        "toolExecutionNotifications": [_notification(error) for error in run.errors],
    }
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "invocations": [invocation],
                "results": results,
            }
        ],
    }
    return json.dumps(log, indent=2) + "\n"


def _rule(rule: Rule) -> Dict[str, Any]:
    help_text = rule.reason if not rule.remedy else f"{rule.reason}\n\n{rule.remedy}"
    described: Dict[str, Any] = {
        "id": rule.code,
        "name": "".join(word.title() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.name.replace("-", " ")},
        "fullDescription": {"text": rule.reason},
        "help": {"text": help_text},
        "defaultConfiguration": {"level": _LEVELS[rule.status]},
        "properties": {"tags": [rule.family]},
    }
    if rule.documentation:
        described["helpUri"] = rule.documentation
    return described


def _result(finding: Finding, rule_index: int, result: FileResult) -> Dict[str, Any]:
    text = f"{finding.message}: {finding.remedy}" if finding.remedy else finding.message
    described: Dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.status],
        "message": {"text": text},
        "locations": [_location(finding.path, finding.line, finding.column, finding.cell)],
        "properties": {
            "status": finding.status.value,
            "symbol": finding.symbol,
            "assumed": finding.assumed,
        },
    }
    if finding.status is Status.MIGRATED and result.is_changed and not finding.cell:
        described["fixes"] = [_fix(result)]
    return described


def _location(path: str, line: int, column: int, cell: int) -> Dict[str, Any]:
    place: Dict[str, Any] = {"artifactLocation": {"uri": _uri(path)}}
    if line and not cell:
        place["region"] = {"startLine": line, "startColumn": max(column, 1)}
    location: Dict[str, Any] = {"physicalLocation": place}
    if cell:
        location["message"] = {"text": f"cell {cell}, line {line}"}
    return location


def _uri(path: str) -> str:
    """Relative where the path is, so that the log means the same on every machine."""
    return quote(os.fsencode(path.replace(os.sep, "/")), safe="/<>")


def _fix(result: FileResult) -> Dict[str, Any]:
    before, after = (_lines(result.path, data) for data in (result.before, result.after))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    replacements = [
        {
            "deletedRegion": {
                **_position("start", before, start),
                **_position("end", before, end),
            },
            "insertedContent": {"text": "".join(after[first:last])},
        }
        for kind, start, end, first, last in matcher.get_opcodes()
        if kind != "equal"
    ]
    change = {"artifactLocation": {"uri": _uri(result.path)}, "replacements": replacements}
    return {"description": {"text": "Migrate the file"}, "artifactChanges": [change]}


def _position(which: str, lines: List[str], number: int) -> Dict[str, int]:
    """Where the line of a number begins; the end of a text whose last line has no end."""
    if number == len(lines) and lines and not lines[-1].endswith(("\n", "\r")):
        return {f"{which}Line": number, f"{which}Column": len(lines[-1]) + 1}
    return {f"{which}Line": number + 1, f"{which}Column": 1}


def _lines(path: str, data: bytes) -> List[str]:
    return list(io.StringIO(decode(data, path), newline=""))


def _notification(error: SourceError) -> Dict[str, Any]:
    return {
        "level": "error",
        "message": {"text": f"{error.message}; {error.remedy}"},
        "locations": [_location(error.path, error.line, 1, error.cell)],
    }
