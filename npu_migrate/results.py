"""What became of the files of a run, and that a program is never migrated by half."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Iterable, List, Mapping, Optional, Tuple

from npu_migrate.findings import Finding
from npu_migrate.sources import SourceError

if TYPE_CHECKING:
    from npu_migrate.changes import Change
    from npu_migrate.scripts import Script


@dataclass(frozen=True)
class FileResult:
    """What became of one file; ``before`` is ``after`` where nothing changes.

    ``program`` names the program whose files change all or none, where the file's changes belong to
    one. ``is_held_back`` says that the file should have changed with it and could not.
    """

    path: str
    before: bytes
    after: bytes
    findings: Tuple[Finding, ...] = ()
    error: Optional[SourceError] = None
    program: str = ""
    is_held_back: bool = False
    skipped: str = ""
    """Why the file was not looked at, where it was not."""
    suppressed: Tuple[Finding, ...] = ()
    """What comments or the configuration suppress."""
    known: Tuple[Finding, ...] = ()
    """What a baseline has."""
    changes: "Tuple[Change, ...]" = ()
    """Which lines change for which finding, where that was asked for."""
    on_npu: Mapping[str, int] = field(default_factory=dict)
    """Family -> places that were on the NPU already, where that was asked for."""
    would_change: bool = False
    """The file would change; its new text was not asked for."""

    @property
    def is_changed(self) -> bool:
        return self.would_change or self.before != self.after

    def unchanged(self, reason: str) -> "FileResult":
        """The same file left as it was: what was to be migrated is left to a person."""
        findings = tuple(finding.left(reason) for finding in self.findings)
        return replace(self, after=self.before, findings=findings, would_change=False)


def placed(script: "Script", findings: Iterable[Finding]) -> Tuple[Finding, ...]:
    """Findings in the order of a script, as people find them in the file."""
    return tuple(script.placed(finding) for finding in sorted(findings, key=_by_place))


def _by_place(finding: Finding) -> Tuple[int, int, str]:
    return finding.line, finding.column, finding.code


def all_or_none(results: Iterable[FileResult]) -> List[FileResult]:
    """The results, without the changes to programs of which some file is held back."""
    results = list(results)
    culprits = {r.program: r.path for r in reversed(results) if r.is_held_back and r.program}
    return [
        result.unchanged(f"{culprits[result.program]}, which belongs to it, could not be changed")
        if result.is_changed and result.program in culprits
        else result
        for result in results
    ]
