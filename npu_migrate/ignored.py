"""What a search leaves out: by the ``.gitignore`` files of a tree, and by patterns like theirs."""

import fnmatch
import os
from dataclasses import dataclass, replace
from typing import Any, Collection, Iterable, List, Optional, Sequence, Tuple

GITIGNORE = ".gitignore"


class Patterns:
    """The lines of one ``.gitignore``, which speak of what lies below ``folder``."""

    def __init__(self, folder: str, lines: Iterable[str]) -> None:
        from pathspec import GitIgnoreSpec  # slow to import, and many trees need none

        lines = [line.rstrip("\r\n") for line in lines]
        self._start = os.path.join(folder, "")
        patterns = GitIgnoreSpec.from_lines(lines).patterns
        self._lines = [
            _Line(line.rstrip(), pattern)
            for line, pattern in zip(reversed(lines), reversed(list(patterns)))
            if pattern.include is not None
        ]

    def covers(self, folder: str) -> bool:
        """Whether they speak of what lies in a folder."""
        return os.path.join(folder, "").startswith(self._start)

    def verdict(self, path: str, is_folder: bool) -> Optional[bool]:
        """Whether they leave a path out; ``None`` where they do not speak of it.

        What lies below a folder that is left out is not asked about.
        """
        if not path.startswith(self._start):
            return None
        inner = path[len(self._start) :].replace(os.sep, "/")
        return next((line.leaves_out for line in self._lines if line.fits(inner, is_folder)), None)


class _Line:
    """A pattern that fits a path itself; those of ``pathspec`` also fit what lies below it."""

    def __init__(self, text: str, pattern: Any) -> None:
        self.leaves_out: bool = pattern.include
        self._pattern = pattern
        self._only_folders = text.endswith("/")
        last = text.lstrip("!").rstrip("/").rpartition("/")[2]
        self._last = "*" if "**" in last or "\\" in last else last

    def fits(self, path: str, is_folder: bool) -> bool:
        if self._only_folders and not is_folder:
            return False
        if not fnmatch.fnmatchcase(path.rpartition("/")[2], self._last):
            return False
        return self._pattern.match_file(path + "/" * self._only_folders) is not None


@dataclass(frozen=True)
class Exclusion:
    """Patterns as of a ``.gitignore`` in the folder ``home``."""

    patterns: Tuple[str, ...]
    home: str = os.curdir

    def around(self, folder: str) -> Patterns:
        """What they say of a folder that the user named, whose name is the stronger word."""
        here = Patterns(os.path.realpath(self.home), self.patterns)
        counts = here.covers(folder) and not here.verdict(folder, True)
        return here if counts else Patterns(folder, self.patterns)


@dataclass(frozen=True)
class Ignored:
    """What is left out in one folder; of several ``.gitignore`` the innermost decides.

    All paths are real ones.
    """

    levels: Tuple[Patterns, ...] = ()
    excluded: Tuple[Patterns, ...] = ()

    @classmethod
    def around(cls, folder: str, exclusions: Sequence[Exclusion] = ()) -> "Ignored":
        """For a folder that the user named: what is said of it from outside counts inside it too.

        Where it is left out itself, its name on the command line is the stronger word.
        """
        ignored = cls(excluded=tuple(e.around(folder) for e in exclusions if e.patterns))
        outer = cls()
        for holder, inner in _down_to(folder):
            outer = outer.inside(holder, _names(holder))
            if outer.leaves_out(inner, True):
                return ignored
        return replace(ignored, levels=outer.levels)

    def inside(self, folder: str, names: Collection[str]) -> "Ignored":
        """The same in a folder with entries of these names."""
        if GITIGNORE not in names:
            return self
        try:
            with open(os.path.join(folder, GITIGNORE), encoding="utf-8", errors="replace") as file:
                return replace(self, levels=(*self.levels, Patterns(folder, file)))
        except OSError:
            return self

    def leaves_out(self, path: str, is_folder: bool) -> bool:
        if any(patterns.verdict(path, is_folder) for patterns in self.excluded):
            return True
        for level in reversed(self.levels):
            verdict = level.verdict(path, is_folder)
            if verdict is not None:
                return verdict
        return False


def _down_to(folder: str) -> List[Tuple[str, str]]:
    """The folders from the top of the repository down to ``folder``, each with the next."""
    steps: List[Tuple[str, str]] = []
    inner = folder
    while not os.path.exists(os.path.join(inner, ".git")):
        holder = os.path.dirname(inner)
        if holder == inner:
            return []  # no repository
        steps.insert(0, (holder, inner))
        inner = holder
    return steps


def _names(folder: str) -> Collection[str]:
    return (GITIGNORE,) if os.path.isfile(os.path.join(folder, GITIGNORE)) else ()
