"""The cache as a check sees it: results that are recalled, or remembered for the next time."""

import os
from typing import List, Optional, Sequence, Tuple

from npu_migrate.cache import entry
from npu_migrate.cache.folder import Folder
from npu_migrate.cache.key import digest, run_key
from npu_migrate.options import Options
from npu_migrate.results import FileResult
from npu_migrate.sources import Source


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
        self._states = [_state(source.path) for source in (*sources, *beside)]
        self.sources = [source.with_text() for source in sources]
        """The files with their texts, of which the results are to be worked out."""
        self.beside = [source.with_text() for source in beside]
        self._all = (*self.sources, *self.beside)
        self._options = options
        self._rules = rules
        self._digests: Sequence[str] = ()
        self._key = ""

    def recall(self) -> Optional[List[FileResult]]:
        """The results, where this very check was made before."""
        if any(source.given is None for source in self._all):
            return None
        self._digests = [digest(source.read()) for source in self._all]
        self._key = self._key_now()
        known = self._folder.read(self._key) if self._key else None
        if known is None:
            return None
        try:
            return entry.read(known, self.sources)
        except ValueError:
            return None

    def remember(self, results: Sequence[FileResult]) -> None:
        """Keep the results, unless something was changed while they were worked out."""
        written = entry.written(results)
        if written is not None and self._key and self._is_as_it_was():
            self._folder.write(self._key, written)

    def _is_as_it_was(self) -> bool:
        states = [_state(source.path) for source in self._all]
        return states == self._states and self._key_now() == self._key

    def _key_now(self) -> str:
        """The key; none where something that has a say can't be read."""
        paths = [source.path for source in self._all]
        try:
            checked = len(self.sources)
            return run_key(paths, self._digests, checked, self._options, self._rules)
        except OSError:
            return ""


def _state(path: str) -> Tuple[int, ...]:
    """What becomes another when somebody writes to a file or puts another in its place."""
    try:
        state = os.stat(path)
    except OSError:
        return ()
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
