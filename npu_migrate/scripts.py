"""The Python of a file, and the way back into the file."""

from dataclasses import dataclass

from npu_migrate.findings import Finding
from npu_migrate.sources import Source, is_notebook


class OtherLanguage(Exception):
    """A file that holds no Python: not a fault of it, but nothing to migrate either."""


@dataclass(frozen=True)
class Script:
    """A file that is Python as it is; ``file`` are its bytes."""

    file: bytes

    @property
    def python(self) -> bytes:
        return self.file

    def with_python(self, python: bytes) -> bytes:
        """The bytes of the file with other Python in it."""
        return python

    def placed(self, finding: Finding) -> Finding:
        """A finding in the Python, as people find it in the file."""
        return finding


def read_script(source: Source) -> Script:
    """The Python that a source holds."""
    data = source.read()
    if not is_notebook(source.path):
        return Script(data)
    from npu_migrate.notebooks import read_notebook  # json is only needed for these

    return read_notebook(source.path, data)
