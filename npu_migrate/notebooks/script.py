"""The code cells of a notebook as one script.

Cells share one namespace and are taken to run in their order. A statement that does nothing stands
between two cells; no edit moves it, so it tells where each cell of the new script begins.
"""

import re
from dataclasses import dataclass, replace
from typing import Dict, List, Tuple

from npu_migrate.findings import Finding
from npu_migrate.notebooks.document import Code, Document
from npu_migrate.notebooks.magics import Python, to_python
from npu_migrate.rewrite.errors import RewriteError
from npu_migrate.scripts import OtherLanguage, Script
from npu_migrate.sources import SourceError, parse

_BORDER = '"npu-migrate: cell {}"\n'
_BORDERS = re.compile(r'^"npu-migrate: cell (\d+)"\n', re.MULTILINE)
_LINE_END = re.compile("\r\n|\r|\n")

Place = Tuple[int, int]
"""A cell and a line in it, both from 1."""


@dataclass(frozen=True)
class Notebook(Script):
    """A notebook whose cells are one script."""

    document: Document
    cells: Dict[int, Python]
    """The cells that hold Python, by their numbers."""
    script: bytes
    places: Tuple[Place, ...]
    """Where each line of the script stands."""

    @property
    def python(self) -> bytes:
        return self.script

    def with_python(self, python: bytes) -> bytes:
        if python == self.script:
            return self.file
        first, *others = _BORDERS.split(python.decode("utf-8"))
        numbers = [next(iter(self.cells)), *map(int, others[::2])]
        if numbers != list(self.cells):
            raise RewriteError("the borders of its cells were lost")
        texts = {}
        for number, text in zip(numbers, [first, *others[1::2]]):
            cell = self.cells[number]
            if not cell.keeps(text[:-1]):
                raise RewriteError(f"a magic of cell {number} stands before what must change")
            texts[number] = cell.restored(text[:-1])
        return self.document.replaced(texts)

    def placed(self, finding: Finding) -> Finding:
        cell, line = self.places[min(finding.line, len(self.places)) - 1]
        column = finding.column + self.cells[cell].column(line)
        return replace(finding, cell=cell, line=line, column=column)


def read_notebook(path: str, data: bytes) -> Notebook:
    """The notebook in ``data``; :class:`OtherLanguage` where it holds no Python."""
    document = Document(path, data)
    if document.language and not document.language.startswith(("python", "ipython")):
        raise OtherLanguage(f"its kernel speaks {document.language}, not Python")
    cells: Dict[int, Python] = {}
    script: List[str] = []
    places: List[Place] = []
    for code in document.cells:
        python = to_python(code.text)
        if not python.is_python or not python.text.strip():
            continue
        _check(path, code, python)
        if cells:
            script.append(_BORDER.format(code.number))
            places.append((code.number, 1))
        cells[code.number] = python
        script.append(python.text + "\n")
        places += [(code.number, line) for line in python.lines]
        if _LINE_END.search(python.text[-1:]):
            places.append((code.number, python.lines[-1] + 1))
    return Notebook(data, document, cells, "".join(script).encode("utf-8"), tuple(places))


def _check(path: str, code: Code, python: Python) -> None:
    """A cell must be whole by itself: what it leaves open would swallow the next."""
    try:
        parse(python.text.encode("utf-8"), path)
    except UnicodeEncodeError as error:
        message = "half of a surrogate pair: this is no text"
        raise SourceError(path, message, "write the character anew", 0, code.number) from error
    except SourceError as error:
        line = python.lines[min(error.line, len(python.lines)) - 1] if error.line else 0
        raise type(error)(path, error.message, error.remedy, line, code.number) from error
