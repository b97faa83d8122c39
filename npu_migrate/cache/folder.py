"""The folder of a cache: a file an entry, which is read whole and unharmed or not at all.

Nothing about the folder can fail a run: it may be read-only, full, foreign, or in use by other runs
at the same time.
"""

import contextlib
import hashlib
import os
import re
import sys
from typing import List, Optional

KEPT = 200
"""Entries that are kept; those that were used longest ago go first."""

_LARGEST = 200_000_000
"""Bytes of the largest file that can be an entry."""

_ENTRY = re.compile(r"[0-9a-f]{64}|\.[0-9a-f]{64}\..*")
_NOTES = {
    ".gitignore": "*\n",
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# What npu-migrate --check found in files; it can be deleted at any time.\n",
}


class Folder:
    """Entries by key, which are hexadecimal digests."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self, key: str) -> Optional[bytes]:
        """The entry of a key, where there is one and it is as it was written."""
        path = os.path.join(self._path, key)
        try:
            if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST:
                return None
            with open(path, "rb") as file:
                checksum, _, entry = file.read().partition(b"\n")
        except OSError:
            return None
        if checksum != _checksum(entry):
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return entry

    def write(self, key: str, entry: bytes) -> None:
        """Put an entry in its place at once: who reads finds the old one, the new one or none."""
        import tempfile  # what is known already needs none

        with contextlib.suppress(OSError):
            self._make()
            handle, temporary = tempfile.mkstemp(dir=self._path, prefix=f".{key}.")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_checksum(entry) + b"\n" + entry)
                os.replace(temporary, os.path.join(self._path, key))
            except BaseException:
                os.unlink(temporary)
                raise
            self._tidy()

    def _make(self) -> None:
        if os.path.isdir(self._path):
            return
        os.makedirs(self._path, mode=0o700, exist_ok=True)
        for name, text in _NOTES.items():
            with open(os.path.join(self._path, name), "w", encoding="ascii") as file:
                file.write(text)

    def _tidy(self) -> None:
        entries = [entry.path for entry in os.scandir(self._path) if _ENTRY.fullmatch(entry.name)]
        for path in _oldest(entries, len(entries) - KEPT):
            with contextlib.suppress(OSError):
                os.unlink(path)


def default_folder() -> str:
    """Where the user's caches are; nothing where that is not known."""
    if sys.platform == "win32":
        caches = os.environ.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        caches = os.path.expanduser("~/Library/Caches")
    else:
        caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(caches, "npu-migrate") if os.path.isabs(caches) else ""


def _checksum(entry: bytes) -> bytes:
    return hashlib.sha256(entry).hexdigest().encode("ascii")


def _oldest(paths: List[str], count: int) -> List[str]:
    return sorted(paths, key=_last_used)[:count] if count > 0 else []


def _last_used(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:  # another run was faster
        return 0.0
