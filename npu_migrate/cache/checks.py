"""The cache as a check sees it: results that are recalled, or remembered for the next time."""

from typing import List, Optional, Sequence

from npu_migrate.cache import entry
from npu_migrate.cache.folder import Folder
from npu_migrate.cache.key import run_key
from npu_migrate.options import Options
from npu_migrate.results import FileResult
from npu_migrate.sources import Source, SourceError


class Check:
    """One check, of certain files, of which a cache may know the results already.

    ``beside`` are files that are only read, and ``rules`` folders of rules beside the shipped ones.
    """

    def __init__(
        self,
        folder: str,
        sources: Sequence[Source],
        beside: Sequence[Source],
        options: Options,
        rules: Sequence[str],
    ) -> None:
        self._folder = Folder(folder)
        self._sources = (*sources, *beside)
        self._paths = [source.path for source in self._sources]
        self._checked = len(sources)
        self._options = options
        self._rules = rules
        self._key = ""

    def recall(self) -> Optional[List[FileResult]]:
        """The results, where this very check was made before."""
        texts = self._texts()
        self._key = self._key_of(texts)
        known = self._folder.read(self._key) if self._key else None
        if known is None:
            return None
        try:
            return entry.read(known, self._paths[: self._checked], texts)
        except ValueError:
            return None

    def remember(self, results: Sequence[FileResult]) -> None:
        """Keep the results, unless a file was changed while they were worked out."""
        written = entry.written(results)
        if written is not None and self._key and self._key_of(self._texts()) == self._key:
            self._folder.write(self._key, written)

    def _texts(self) -> List[bytes]:
        try:
            return [source.read() for source in self._sources]
        except SourceError:
            return []

    def _key_of(self, texts: Sequence[bytes]) -> str:
        """The key; none where something that has a say can't be read."""
        if len(texts) < len(self._paths):
            return ""
        try:
            return run_key(self._paths, texts, self._checked, self._options, self._rules)
        except OSError:
            return ""
