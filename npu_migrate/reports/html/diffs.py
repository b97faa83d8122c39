"""The changes of a file, or of the cells of a notebook, as plain data."""

from typing import Any, Dict, Iterator, List, Sequence, Tuple

from npu_migrate.findings import Finding
from npu_migrate.reports.html.highlight import PYTHON, coloured_lines
from npu_migrate.reports.html.side_by_side import Hunk, Row, hunks_of
from npu_migrate.results import FileResult
from npu_migrate.sources import decode, is_notebook, is_project_file

KINDS = ("code", "import", "dropped import")
"""The kinds of changes for findings that stand elsewhere; the page has their numbers."""

Text = Tuple[int, str, str]
"""A cell (0 for a file as a whole), before and after."""


def diff_of(result: FileResult, findings: Sequence[Finding]) -> List[Dict[str, Any]]:
    """Each hunk with the positions of its findings, in the order of the file."""
    positions = {finding: number for number, finding in reversed(list(enumerate(findings)))}
    hunks: List[Dict[str, Any]] = []
    for cell, before, after in _texts(result):
        mine = [finding for finding in findings if finding.cell == cell]
        changes = [change for change in result.changes if change.cell == cell]
        if before == after and not mine:
            continue
        name = PYTHON if cell else result.path
        found = hunks_of(before.split("\n"), after.split("\n"), mine, changes)
        left, right = _coloured(name, before, after, [row for hunk in found for row in hunk.rows])
        hunks += [_hunk(cell, hunk, left, right, positions) for hunk in found]
    return hunks


def _coloured(
    name: str, before: str, after: str, rows: Sequence[Row]
) -> Tuple[List[str], List[str]]:
    """The lines of both sides, as far as some rows need them."""
    left = coloured_lines(name, before, max((row.left + 1 for row in rows), default=0))
    if after == before:
        return left, left
    return left, coloured_lines(name, after, max((row.right + 1 for row in rows), default=0))


def _texts(result: FileResult) -> Iterator[Text]:
    if is_notebook(result.path) and result.before:
        from npu_migrate.notebooks.document import Document

        after = {c.number: c.text for c in Document(result.path, result.after).cells}
        for cell in Document(result.path, result.before).cells:
            yield cell.number, _lines(cell.text), _lines(after.get(cell.number, ""))
    else:
        yield 0, _text(result, result.before), _text(result, result.after)


def _text(result: FileResult, data: bytes) -> str:
    is_other = is_project_file(result.path)
    return _lines(data.decode("utf-8", "replace") if is_other else decode(data, result.path))


def _lines(text: str) -> str:
    """With line feeds alone, so that all count the same lines."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _hunk(
    cell: int,
    hunk: Hunk,
    left: Sequence[str],
    right: Sequence[str],
    positions: Dict[Finding, int],
) -> Dict[str, Any]:
    others = dict.fromkeys(
        (KINDS.index(change.kind.value), positions[change.finding])
        for change in hunk.others
        if change.finding in positions
    )
    return {
        "cell": cell,
        "findings": [positions[finding] for finding in hunk.findings],
        "others": sorted(others),
        "rows": [
            [row.left + 1, _line(left, row.left), row.right + 1, _line(right, row.right)]
            if row.changed
            else [row.left + 1, _line(left, row.left), row.right + 1]
            for row in hunk.rows
        ],
    }


def _line(lines: Sequence[str], number: int) -> str:
    return lines[number] if 0 <= number < len(lines) else ""
