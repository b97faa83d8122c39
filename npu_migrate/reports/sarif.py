"""The run in SARIF 2.1.0, which code-scanning services and editors read.

Of a file that is migrated each finding carries the same fix, the whole change to the file: its
changes belong together. Where there are very many, the first carries it alone.
"""

import difflib
import io
import json
import os
import re
from typing import Any, Dict, Iterator, List, Sequence
from urllib.parse import quote

from npu_migrate import __version__
from npu_migrate.findings import Finding, Status
from npu_migrate.reports import Run
from npu_migrate.reports.explain import in_words
from npu_migrate.results import FileResult
from npu_migrate.rules import Rule, Rules
from npu_migrate.sources import SourceError, decode, is_project_file

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_MOST_WITH_FIX = 50
"""Findings of a file that each carry its fix: a log grows with the square of their number."""

_LINE_END = re.compile("\r\n|\r|\n")
_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|[\w.-]*\w)?""")

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
    results = [described for result in run.results for described in _results(result, run, codes)]
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
    remedy = in_words(rule.remedy, rule) if rule.remedy else ""
    help_text = f"{rule.reason}\n\nWhat to do: {remedy}" if remedy else rule.reason
    described: Dict[str, Any] = {
        "id": rule.code,
        "name": "".join(word.title() for word in rule.name.split("-")),
        "shortDescription": {"text": _sentence(in_words(rule.message, rule))},
        "fullDescription": {"text": rule.reason},
        "help": {"text": help_text},
        "defaultConfiguration": {"level": _LEVELS[rule.status]},
        "properties": {"tags": [rule.family]},
    }
    if rule.documentation:
        described["helpUri"] = rule.documentation
    return described


def _sentence(text: str) -> str:
    first = text.partition(" ")[0]
    return f"{text[:1].upper()}{text[1:]}." if first.isalpha() else f"{text}."


def _results(result: FileResult, run: Run, codes: List[str]) -> Iterator[Dict[str, Any]]:
    if not result.findings:
        return
    lines = _LINE_END.split(_text(result))
    fixed = [f for f in result.findings if f.status is Status.MIGRATED and not f.cell]
    with_fix = set(fixed if len(fixed) <= _MOST_WITH_FIX else fixed[:1])
    fixes = [_fix(result)] if with_fix and result.is_changed else []
    for finding in result.findings:
        described = _result(finding, run.said(finding), codes.index(finding.code), lines)
        if fixes and finding in with_fix:
            described["fixes"] = fixes
        yield described


def _result(
    finding: Finding, message: str, rule_index: int, lines: Sequence[str]
) -> Dict[str, Any]:
    text = f"{message}: {finding.remedy}" if finding.remedy else message
    return {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.status],
        "message": {"text": text},
        "locations": [_located(finding, lines)],
        "properties": {
            "status": finding.status.value,
            "symbol": finding.symbol,
            "assumed": finding.assumed,
        },
    }


def _located(finding: Finding, lines: Sequence[str]) -> Dict[str, Any]:
    """The place of a finding, which ends where the name or the word ends that begins there."""
    location = _location(finding.path, finding.line, finding.column, finding.cell)
    region = location["physicalLocation"].get("region")
    if region is not None:
        rest = lines[finding.line - 1][finding.column - 1 :] if finding.line <= len(lines) else ""
        length = _WORD.match(rest).end()  # type: ignore[union-attr]
        if length:
            region.update(endLine=finding.line, endColumn=region["startColumn"] + length)
    return location


def _text(result: FileResult) -> str:
    if is_project_file(result.path):
        return result.before.decode("utf-8", "replace")
    return decode(result.before, result.path)


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
    return quote(os.fsencode(path.replace(os.sep, "/")), safe="/")


def _fix(result: FileResult) -> Dict[str, Any]:
    before, after = (_lines(result.path, data) for data in (result.before, result.after))
    matcher = difflib.SequenceMatcher(None, before, after)
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
