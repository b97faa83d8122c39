"""Carries the rules out over the files of a run."""

from dataclasses import dataclass
from typing import Iterator, Optional, Sequence, Tuple

from npu_migrate.plan import Finding
from npu_migrate.rules import Rules
from npu_migrate.sources import Source, SourceError, parse


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    select: Tuple[str, ...] = ()
    ignore: Tuple[str, ...] = ()
    removed: str = "comment"
    jobs: int = 1


@dataclass(frozen=True)
class FileResult:
    """What became of one file; ``before`` is ``after`` where nothing changes."""

    path: str
    before: bytes
    after: bytes
    findings: Tuple[Finding, ...] = ()
    error: Optional[SourceError] = None


def migrate(sources: Sequence[Source], rules: Rules, options: Options) -> Iterator[FileResult]:
    """The results in the order of ``sources``; a bad file is a result with an error."""
    for source in sources:
        try:
            data = source.read()
            parse(data, source.path)
        except SourceError as error:
            yield FileResult(source.path, b"", b"", error=error)
        else:
            yield FileResult(source.path, data, data)
