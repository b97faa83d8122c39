"""The first pass over the files of a run, the only one over most of them."""

from typing import TYPE_CHECKING, NamedTuple, Optional

from npu_migrate.options import Options
from npu_migrate.reader import Reader, ReadFile
from npu_migrate.results import FileResult
from npu_migrate.rules import Rules
from npu_migrate.scan import Scan
from npu_migrate.scripts import OtherLanguage
from npu_migrate.sources import Source, SourceError

if TYPE_CHECKING:
    from npu_migrate.by_itself import ByItself
    from npu_migrate.facts import NameFacts


class FirstLook(NamedTuple):
    """What the first look leaves of a file: what its text tells, or why it tells nothing."""

    scan: Optional[Scan] = None
    error: Optional[SourceError] = None
    skipped: str = ""
    names: "Optional[NameFacts]" = None
    """Its names, where it may hold something to migrate and they could be read."""
    result: Optional[FileResult] = None
    """What becomes of it, unless it turns out that another file of the run imports it."""


class FirstPass:
    """Looks at the files of a run, one after the other."""

    def __init__(self, rules: Rules, chosen: Rules, options: Options) -> None:
        self._rules = rules
        self._chosen = chosen
        self._options = options
        self._by_itself: Optional[ByItself] = None

    def __call__(self, reader: Reader, source: Source) -> FirstLook:
        try:
            scan, read = reader.look(source)
        except OtherLanguage as reason:
            return FirstLook(skipped=str(reason))
        except SourceError as error:
            return FirstLook(error=error)
        return FirstLook(scan) if read is None else self._close_look(reader, source, scan, read)

    def _close_look(self, reader: Reader, source: Source, scan: Scan, read: ReadFile) -> FirstLook:
        """Look at a file that may hold something to migrate; few files need the migrations."""
        from npu_migrate.by_itself import ByItself
        from npu_migrate.migrations.survey import Sought, name_facts

        if self._by_itself is None:
            self._by_itself = ByItself(self._rules, self._chosen, self._options)
        result = self._by_itself.result(reader, source, scan, read)
        if result is not None:
            reader.forget(source, read.index)
            return FirstLook(scan, result=result)
        training = frozenset((read.index.module,)) if scan.trains else frozenset()
        sought = Sought(training, missing_scaling=bool(self._options.loss_scale))
        try:
            names = name_facts(read.index, read.text, sought)
        except RecursionError:
            return FirstLook(scan)
        reader.done_with(source, read.index)
        return FirstLook(scan, names=names)
