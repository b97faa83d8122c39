"""Folders of their own for runs on disk."""

import os
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Iterator


@contextmanager
def current_folder() -> Iterator[None]:
    """A new folder, and the current one for a while."""
    before = os.getcwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
