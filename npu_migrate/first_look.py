"""The first pass over the files of a run, the only one over most of them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

from npu_migrate.reader import Reader
from npu_migrate.scan import Scan
from npu_migrate.scripts import OtherLanguage
from npu_migrate.sources import Source, SourceError

if TYPE_CHECKING:
    from npu_migrate.facts import NameFacts


@dataclass(frozen=True)
class FirstLook:
    """What the first look leaves of a file: what its text tells, or why it tells nothing."""

    scan: Optional[Scan] = None
    error: Optional[SourceError] = None
    skipped: str = ""
    names: "Optional[NameFacts]" = None
    """Its names, where it may hold something to migrate and they could be read."""


def first_look(missing_scaling: bool, reader: Reader, source: Source) -> FirstLook:
    """Look at a file; ``missing_scaling`` says that loss scaling is to be added where it lacks."""
    try:
        scan, read = reader.look(source)
    except OtherLanguage as reason:
        return FirstLook(skipped=str(reason))
    except SourceError as error:
        return FirstLook(error=error)
    if read is None:
        return FirstLook(scan)
    from npu_migrate.migrations.survey import Sought, name_facts  # few files need the migrations

    training = frozenset((read.index.module,)) if scan.trains else frozenset()
    try:
        names = name_facts(read.index, read.text, Sought(training, missing_scaling=missing_scaling))
    except RecursionError:
        return FirstLook(scan)
    reader.done_with(source, read.index)
    return FirstLook(scan, names=names)
