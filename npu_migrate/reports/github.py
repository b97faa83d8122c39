"""The run as annotations that a GitHub workflow shows beside the lines concerned."""

from typing import Iterator

from npu_migrate.findings import Finding, Status
from npu_migrate.reports import Run
from npu_migrate.sources import SourceError


def render(run: Run) -> str:
    """One workflow command a line; nothing where nothing was found.

    What fails the run is an error, what was migrated and what is only worth knowing a notice.
    """
    return "".join(f"{line}\n" for line in _lines(run))


def _lines(run: Run) -> Iterator[str]:
    for error in run.errors:
        yield _error(error)
    for finding in run.findings:
        is_done = finding.status is Status.MIGRATED and run.written
        is_failure = not is_done and finding.status is not Status.NOTE
        yield _finding(finding, run.said(finding), "error" if is_failure else "notice")


def _finding(finding: Finding, message: str, level: str) -> str:
    place = f"file={_property(finding.path)}"
    if not finding.cell:  # a line of a cell is none of the file
        place += f",line={finding.line},col={finding.column}"
    title = _property(f"{finding.code} {finding.name}")
    text = " ".join(part for part in (message, _sentence(finding.remedy)) if part)
    return f"::{level} {place},title={title}::{_data(_in_cell(finding.cell, finding.line) + text)}"


def _error(error: SourceError) -> str:
    line = f",line={error.line}" if error.line and not error.cell else ""
    text = f"{_in_cell(error.cell, error.line)}{error.message}; {error.remedy}"
    return f"::error file={_property(error.path)}{line},title=npu-migrate::{_data(text)}"


def _in_cell(number: int, line: int) -> str:
    place = f"cell {number}, line {line}" if line else f"cell {number}"
    return f"{place}: " if number else ""


def _sentence(remedy: str) -> str:
    return f"({remedy})" if remedy else ""


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
