"""The verification as one JSON object."""

import json
import math
from dataclasses import asdict
from typing import Any, Dict, Optional

from npu_migrate.findings import Finding
from npu_migrate.verify.comparison import Compared, Comparison, Difference
from npu_migrate.verify.recording import Recording
from npu_migrate.verify.reports import Verification, commands
from npu_migrate.verify.verdict import Answer

VERSION = 1


def render(verification: Verification) -> str:
    """Always a valid object: Inf and NaN are the strings `inf`, `-inf` and `nan`."""
    return _dumped(_report(verification))


def render_refusal(message: str, exit_code: int) -> str:
    """Why nothing was trained, as an object with the first keys of the others."""
    answer = Answer.UNKNOWN.name.lower()
    return _dumped(
        {"version": VERSION, "answer": answer, "exit_code": exit_code, "paragraph": message}
    )


def _dumped(report: Dict[str, Any]) -> str:
    return json.dumps(_plain(report), indent=2, allow_nan=False) + "\n"


def _report(verification: Verification) -> Dict[str, Any]:
    verdict, request = verification.verdict, verification.request
    comparison = verdict.comparison
    return {
        "version": VERSION,
        "answer": verdict.answer.name.lower(),
        "exit_code": verdict.answer.exit_code,
        "paragraph": verdict.paragraph,
        **dict(zip(("original", "migrated"), commands(request))),
        "changes_by_npu_migrate": _own_changes(verification),
        "processes": request.processes,
        "injected_overflows": str(request.overflows),
        "steps": comparison.steps,
        "same_to_the_last_bit": comparison.is_bitwise,
        "original_repeats_to_the_last_bit": comparison.is_repeatable_bitwise,
        "first_difference": _difference(comparison.first),
        "length": None if comparison.length is None else asdict(comparison.length),
        "quantities": [_compared(compared) for compared in comparison.quantities],
        "skipped": dict(zip(("original", "migrated"), comparison.skipped)),
        "gathering": comparison.gathering,
        "adjusted_original": None if verdict.adjusted is None else _adjusted(verdict.adjusted),
        "known_differences": [asdict(known) for known in verdict.known],
        "faults": [asdict(fault) for fault in verdict.faults],
        "concerned": [_finding(finding) for finding in verdict.concerned],
        "found_in_migrated": [_finding(finding) for finding in verdict.wrong],
        "departures": [asdict(departure) for departure in verdict.departures],
        "failures": [
            {
                "run": failed.run,
                "kind": failed.failure.kind.value,
                "message": failed.failure.message,
                "rank": failed.failure.rank,
                "last_lines": failed.tail,
            }
            for failed in verdict.failures
        ],
        "cautions": verdict.cautions,
        "recordings": {
            name: [_recording(recording) for recording in outcome.recordings]
            for name, outcome in (
                ("original", verification.experiment.original),
                ("repeated", verification.experiment.repeated),
                ("migrated", verification.experiment.migrated),
            )
        },
    }


def _own_changes(verification: Verification) -> Optional[Dict[str, int]]:
    if verification.own_changes is None:
        return None
    return dict(zip(("changes", "files"), verification.own_changes))


def _adjusted(comparison: Comparison) -> Dict[str, Any]:
    """How an original with the known differences compares with the migrated training."""
    return {
        "is_same": comparison.is_same,
        "same_to_the_last_bit": comparison.is_bitwise,
        "first_difference": _difference(comparison.first),
    }


def _difference(difference: Optional[Difference]) -> Optional[Dict[str, Any]]:
    if difference is None:
        return None
    return {**asdict(difference), "quantity": difference.quantity.field}


def _compared(compared: Compared) -> Dict[str, Any]:
    return {
        **asdict(compared),
        "quantity": compared.quantity.field,
        "first": _difference(compared.first),
    }


def _finding(finding: Finding) -> Dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "path": finding.path,
        "line": finding.line,
        "status": finding.status.value,
        "message": finding.message,
    }


def _recording(recording: Recording) -> Dict[str, Any]:
    return {
        "rank": recording.rank,
        "loss_name": recording.loss_name,
        "end": recording.end,
        "facts": [asdict(fact) for fact in recording.facts],
        "steps": [asdict(step) for step in recording.steps],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
