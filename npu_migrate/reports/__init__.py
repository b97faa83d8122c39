"""What a run found, and the formats that tell it: one module a format, each ``Run -> text``."""

from collections import Counter
from dataclasses import dataclass
from typing import Dict, Tuple

from npu_migrate.findings import Finding, Status
from npu_migrate.results import FileResult
from npu_migrate.sources import SourceError

TO_MIGRATE = "to migrate (run npu-migrate)"
"""What a run that writes nothing says of what another would migrate."""


@dataclass(frozen=True)
class Run:
    """The results of all files, and the problems that are no file's result.

    ``written`` says whether the changes were made, or only looked at.
    """

    results: Tuple[FileResult, ...]
    problems: Tuple[SourceError, ...] = ()
    written: bool = True

    @property
    def findings(self) -> Tuple[Finding, ...]:
        return tuple(finding for result in self.results for finding in result.findings)

    @property
    def migrated(self) -> Tuple[Finding, ...]:
        """What edits take care of."""
        return tuple(found for found in self.findings if found.status is Status.MIGRATED)

    @property
    def left(self) -> Tuple[Finding, ...]:
        """What is left for a person."""
        return tuple(found for found in self.findings if found.status.is_left)

    @property
    def notes(self) -> Tuple[Finding, ...]:
        """What asks nothing of anybody."""
        return tuple(found for found in self.findings if found.status is Status.NOTE)

    def said(self, finding: Finding) -> str:
        """The message of a finding, which speaks of the code once it is migrated."""
        is_ahead = finding.status is Status.MIGRATED and not self.written
        return f"{TO_MIGRATE}: {finding.message}" if is_ahead else finding.message

    @property
    def errors(self) -> Tuple[SourceError, ...]:
        return (*self.problems, *(result.error for result in self.results if result.error))

    @property
    def skipped(self) -> Tuple[Tuple[str, str], ...]:
        """Files that were not looked at, each with the reason."""
        return tuple((result.path, result.skipped) for result in self.results if result.skipped)

    @property
    def summary(self) -> Dict[str, int]:
        statuses = Counter(finding.status for finding in self.findings)
        return {
            "files": len(self.results),
            "changed": sum(result.is_changed for result in self.results),
            **{status.value: statuses[status] for status in Status},
            "suppressed": sum(len(result.suppressed) for result in self.results),
            "known": sum(len(result.known) for result in self.results),
            "errors": len(self.errors),
        }
