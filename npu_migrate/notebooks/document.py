"""The JSON text of a notebook, in which single sources are replaced and all else stays as it is."""

import codecs
import json
import re
from dataclasses import dataclass
from typing import Any, Dict, Iterator, Mapping, Tuple

from npu_migrate.sources import SourceError, TransientError

_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\r\n]*")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_CONVERT = "open and save it with a current Jupyter, or convert it with jupyter nbconvert"

Span = Tuple[int, int]


@dataclass(frozen=True)
class Code:
    """The source of a code cell; ``number`` counts all cells of the notebook from 1."""

    number: int
    text: str
    span: Span
    """Where its JSON value stands in the text of the file."""


class Document:
    """A notebook as text, with the places of its code."""

    def __init__(self, path: str, data: bytes) -> None:
        self._mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        self._text = _decoded(path, data[len(self._mark) :])
        content = _loaded(path, self._text)
        self.language = _language(content)
        self.cells = tuple(_code_cells(self._text))

    def replaced(self, texts: Mapping[int, str]) -> bytes:
        """The file with other sources for the cells of some numbers."""
        parts, done = [], 0
        for cell in self.cells:
            text = texts.get(cell.number, cell.text)
            if text != cell.text:
                start, end = cell.span
                raw = self._text[start:end]
                parts += [self._text[done:start], _spelled(raw, text, self._text.isascii())]
                done = end
        return self._mark + "".join((*parts, self._text[done:])).encode("utf-8")


def _decoded(path: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(path, "not UTF-8: this is no notebook", _CONVERT, line) from error


def _loaded(path: str, text: str) -> Dict[str, Any]:
    try:
        content = json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        message = f"broken JSON: {error.msg}"
        raise SourceError(path, message, _CONVERT, error.lineno) from error
    except RecursionError as error:
        raise TransientError(path, "its JSON is nested too deeply", _CONVERT) from error
    if isinstance(content, dict) and "worksheets" in content:
        raise SourceError(path, "a notebook of the old format 3", _CONVERT)
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        raise SourceError(path, "JSON, but no notebook: it has no list of cells", _CONVERT)
    return content


def _language(content: Dict[str, Any]) -> str:
    """The language of the kernel in small letters, or nothing where the notebook does not say."""
    metadata = content.get("metadata") or {}
    info, kernel = metadata.get("language_info") or {}, metadata.get("kernelspec") or {}
    return str(info.get("name") or kernel.get("language") or kernel.get("name") or "").lower()


def _code_cells(text: str) -> Iterator[Code]:
    start, _ = _members(text, _after_space(text, 0))["cells"]
    for number, (cell_start, cell_end) in enumerate(_items(text, start), 1):
        cell = json.loads(text[cell_start:cell_end], strict=False)
        source = cell.get("source") if isinstance(cell, dict) else None
        if source and cell.get("cell_type") == "code":
            span = _members(text, cell_start)["source"]
            yield Code(number, source if isinstance(source, str) else "".join(source), span)


def _members(text: str, start: int) -> Dict[str, Span]:
    """Where the values of the object at ``start`` stand."""
    found = {}
    position = _after_space(text, start + 1)
    while text[position] != "}":
        key, position = _DECODER.raw_decode(text, position)
        value = _after_space(text, _after_space(text, position) + 1)
        _, end = _DECODER.raw_decode(text, value)
        found[key] = value, end
        position = _next(text, end)
    return found


def _items(text: str, start: int) -> Iterator[Span]:
    """Where the values of the list at ``start`` stand."""
    position = _after_space(text, start + 1)
    while text[position] != "]":
        _, end = _DECODER.raw_decode(text, position)
        yield position, end
        position = _next(text, end)


def _next(text: str, end: int) -> int:
    """The start of the value or key after a comma, or the closing bracket."""
    position = _after_space(text, end)
    return _after_space(text, position + 1) if text[position] == "," else position


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    assert match is not None
    return match.end()


def _spelled(raw: str, text: str, ascii_only: bool) -> str:
    """The JSON of a source, laid out as ``raw`` is; lines that ``raw`` has stay as they stand."""
    if raw[0] != "[":
        return json.dumps(text, ensure_ascii=ascii_only)
    spans = list(_items(raw, 0))
    known = {json.loads(raw[start:end], strict=False): raw[start:end] for start, end in spans}
    opening, closing = raw[: spans[0][0]], raw[spans[-1][1] :]
    between = raw[spans[0][1] : spans[1][0]] if len(spans) > 1 else "," + (opening[1:] or " ")
    lines = [
        known.get(line) or json.dumps(line, ensure_ascii=ascii_only) for line in _LINE.findall(text)
    ]
    return opening + between.join(lines) + closing if lines else "[]"
