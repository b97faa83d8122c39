"""The results of a check as the bytes of an entry, and back.

They are JSON, and whatever does not look like them is refused: the folder may be anybody's.
"""

import json
from typing import Any, Dict, List, Optional, Sequence, Tuple

from npu_migrate.findings import Finding, Status
from npu_migrate.results import FileResult
from npu_migrate.sources import Source, SourceError, TransientError

_FINDING = (str, str, int, int, str, str, str, bool, str, int)
_ERROR = (str, str, int, int)
_RESULT = (list, list, list, str, bool, str, bool)


def written(results: Sequence[FileResult]) -> Optional[bytes]:
    """The bytes for results; none where they may be others next time."""
    if any(isinstance(result.error, TransientError) for result in results):
        return None
    untouched = _row(FileResult("", b"", b""))
    entry: Dict[str, Any] = {
        str(number): row for number, row in enumerate(map(_row, results)) if row != untouched
    }
    return json.dumps(entry, separators=(",", ":")).encode("ascii")


def read(entry: bytes, sources: Sequence[Source]) -> List[FileResult]:
    """The results for files, which have their texts; a ``ValueError`` for a foreign entry."""
    try:
        rows = json.loads(entry)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(rows, dict) or not rows.keys() <= set(map(str, range(len(sources)))):
        raise ValueError("no results of these files")
    return [
        _result(source.path, source.read(), rows[str(number)])
        if str(number) in rows
        else FileResult(source.path, source.read(), source.read())
        for number, source in enumerate(sources)
    ]


def _row(result: FileResult) -> List[Any]:
    error = result.error
    return [
        [] if error is None else [error.message, error.remedy, error.line, error.cell],
        [_finding_row(finding) for finding in result.findings],
        [_finding_row(finding) for finding in result.suppressed],
        result.program,
        result.is_held_back,
        result.skipped,
        result.is_changed,
    ]


def _finding_row(finding: Finding) -> List[Any]:
    return [
        finding.code,
        finding.name,
        finding.line,
        finding.column,
        finding.symbol,
        finding.status.value,
        finding.message,
        finding.assumed,
        finding.remedy,
        finding.cell,
    ]


def _result(path: str, text: bytes, row: Any) -> FileResult:
    error, findings, suppressed, program, is_held_back, skipped, would_change = _typed(row, _RESULT)
    known = b"" if error else text
    return FileResult(
        path,
        known,
        known,
        _findings(path, findings),
        error=SourceError(path, *_typed(error, _ERROR)) if error else None,
        program=program,
        is_held_back=is_held_back,
        skipped=skipped,
        suppressed=_findings(path, suppressed),
        would_change=would_change,
    )


def _findings(path: str, rows: Sequence[Any]) -> Tuple[Finding, ...]:
    return tuple(_finding(path, *_typed(row, _FINDING)) for row in rows)


def _finding(
    path: str, code: str, name: str, line: int, column: int, symbol: str, *rest: Any
) -> Finding:
    status, message, assumed, remedy, cell = rest
    kind = Status(status)
    return Finding(code, name, path, line, column, symbol, kind, message, assumed, remedy, cell)


def _typed(row: Any, types: Tuple[type, ...]) -> List[Any]:
    if not isinstance(row, list) or tuple(map(type, row)) != types:
        raise ValueError("values of other types")
    return row
