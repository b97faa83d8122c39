"""The folders in which a project divides, such as one for each model."""

import os
from collections import Counter, defaultdict
from typing import DefaultDict, List, Sequence, Tuple

from npu_migrate.reports.html.states import Share, counts_of
from npu_migrate.reports.visible import visible_line
from npu_migrate.results import FileResult

_FEWEST, _MOST = 3, 30
"""How many folders say something about a project."""


def folders_of(results: Sequence[FileResult]) -> Tuple[Share, ...]:
    """The folders of the first level that has some, by name; none where no level has."""
    paths = [_folders(result.path) for result in results]
    for depth in range(1, max(map(len, paths), default=0) + 1):
        names = {tuple(path[:depth]) for path in paths}
        if len(names) > _MOST:
            break
        if len(names) >= _FEWEST:
            return _shares(results, paths, depth)
    return ()


def _folders(path: str) -> List[str]:
    return os.path.normpath(path).split(os.sep)[:-1]


def _shares(
    results: Sequence[FileResult], paths: Sequence[List[str]], depth: int
) -> Tuple[Share, ...]:
    counts: DefaultDict[str, Counter[str]] = defaultdict(Counter)
    for result, path in zip(results, paths):
        counts[visible_line("/".join(path[:depth]) or os.curdir)].update(counts_of(result))
    return tuple(Share(name, counts[name]) for name in sorted(counts))
