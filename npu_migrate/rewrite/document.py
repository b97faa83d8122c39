"""Bytes to text to libcst's trees, and back.

Mostly the whole file is one chunk. libcst is not the last word on a file, though: some it can't
parse (mixed line endings, a tab after a space) and some it does not give back as they were (form
feeds). Then each top-level statement is a chunk of its own, parsed only if it is edited, and what
lies between chunks is copied.
"""

import ast
import io
import re
import tokenize
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import libcst as cst

from npu_migrate.rewrite.errors import RewriteError

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_LONE_CARRIAGE_RETURN = re.compile(r"\r(?!\n)")


class Style(NamedTuple):
    """What a file uses, for statements that are too short to show it."""

    newline: str
    indent: str


def parse(text: str) -> cst.Module:
    """libcst's tree of ``text``; :class:`RewriteError` whatever goes wrong."""
    if _LONE_CARRIAGE_RETURN.search(text):
        raise RewriteError("a carriage return stands alone, without a line feed")
    try:
        return cst.parse_module(text)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # pyo3's PanicException is no Exception
        reason = str(error).splitlines() or [type(error).__name__]
        raise RewriteError(f"libcst can't parse it: {reason[0]}") from error


class Chunk:
    """A run of top-level statements whose text libcst works on as one module."""

    def __init__(
        self,
        text: str,
        statements: Sequence[ast.stmt],
        style: Optional[Style] = None,
        ending: str = "",
    ) -> None:
        self.text = text
        self.statements = statements
        self.ending = ending
        self._style = style
        self._module: Optional[cst.Module] = None
        self._codes: Dict[int, str] = {}

    @property
    def module(self) -> cst.Module:
        """The tree, which is certain to give the text back."""
        if self._module is None:
            try:
                self._module = _in_style(self._faithful(), self.text, self._style)
            except RewriteError as error:
                line = self.statements[0].lineno
                raise RewriteError(
                    f"the statement at line {line} can't be edited: {error}"
                ) from error
        return self._module

    def _faithful(self) -> cst.Module:
        module = parse(self.text)
        try:
            self._codes = {id(line): module.code_for_node(line) for line in module.body}
        except RecursionError as error:
            raise RewriteError("it is nested too deeply") from error
        if self.code(module) != self.text:
            raise RewriteError("libcst does not give the text back as it was")
        return module

    def code(self, module: cst.Module) -> str:
        """The text of ``module``: of unchanged statements that which was made before."""
        lines = [module.code_for_node(line) for line in module.header]
        lines += [self._codes.get(id(line)) or module.code_for_node(line) for line in module.body]
        lines += [module.code_for_node(line) for line in module.footer]
        text = "".join(lines)
        if module.has_trailing_newline:
            return text
        return text[: -len(module.default_newline)] if text.endswith(("\n", "\r")) else text


def _in_style(module: cst.Module, text: str, style: Optional[Style]) -> cst.Module:
    if style is None or not all(isinstance(ln, cst.SimpleStatementLine) for ln in module.body):
        return module
    newline = module.default_newline if "\n" in text else style.newline
    return module.with_changes(default_indent=style.indent, default_newline=newline)


Piece = Union[str, Chunk]


class Document:
    """A file as a sequence of chunks, with the text between them."""

    def __init__(self, data: bytes, tree: ast.Module) -> None:
        self._encoding, text = _decode(data)
        self._pieces = _pieces(text, tree.body)
        self._chunks = {
            id(statement): piece
            for piece in self._pieces
            if isinstance(piece, Chunk)
            for statement in piece.statements
        }

    def chunk(self, statement: ast.stmt) -> Chunk:
        """The chunk that holds a top-level statement."""
        return self._chunks[id(statement)]

    def render(self, modules: Dict[int, cst.Module]) -> bytes:
        """The file with other trees in place of some; ``modules`` goes by the old one's id."""
        text = "".join(self._render(piece, modules) for piece in self._pieces)
        try:
            return text.encode(self._encoding)
        except UnicodeEncodeError as error:
            raise RewriteError(
                f"{error.object[error.start : error.end]!r} can't be written in the file's "
                f"encoding, {self._encoding}"
            ) from error

    @staticmethod
    def _render(piece: Piece, modules: Dict[int, cst.Module]) -> str:
        if isinstance(piece, str):
            return piece
        if piece._module is None or id(piece._module) not in modules:
            return piece.text + piece.ending
        code = piece.code(modules[id(piece._module)])
        return code + piece.ending if code else code


def _decode(data: bytes) -> Tuple[str, str]:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, LookupError, UnicodeDecodeError) as error:
        raise RewriteError(f"it can't be decoded: {error}") from error
    if text.encode(encoding) != data:
        raise RewriteError(f"its encoding, {encoding}, does not give the bytes back")
    return encoding, text


# --- one chunk a statement -------------------------------------------------------------------


def _pieces(text: str, statements: Sequence[ast.stmt]) -> List[Piece]:
    """The whole text as one chunk if libcst can take it so."""
    if not statements:
        return [text]
    whole = Chunk(text, statements)
    try:
        whole.module  # noqa: B018
    except RewriteError:
        return list(_small_pieces(text, statements))
    return [whole]


def _small_pieces(text: str, statements: Sequence[ast.stmt]) -> Iterator[Piece]:
    lines = _LINE.findall(text)
    if "\r" in text and "\n" not in text:
        raise RewriteError("its lines end in carriage returns without line feeds")
    style = _style(lines, statements)
    done = 0
    for start, end, group in _groups(lines, statements):
        whole = "".join(lines[start:end])
        code = whole.lstrip("\f")
        yield "".join(lines[done:start]) + whole[: len(whole) - len(code)]
        body = code[:-1] if code.endswith("\r") else code
        yield Chunk(body, group, style, code[len(body) :])
        done = end
    yield "".join(lines[done:])


def _style(lines: Sequence[str], statements: Sequence[ast.stmt]) -> Style:
    endings = [line[len(line.rstrip("\r\n")) :] for line in lines]
    newline = max(("\n", "\r\n"), key=endings.count)
    indents = filter(None, (_indentation(lines, statement) for statement in statements))
    return Style(newline, next(indents, "    "))


def _indentation(lines: Sequence[str], statement: ast.stmt) -> Optional[str]:
    body = getattr(statement, "body", None)
    if not body or body[0].lineno <= statement.lineno:
        return None
    line = lines[body[-1].lineno - 1]
    indent: str = line[: len(line) - len(line.lstrip(" \t"))]
    return indent or None


def _groups(
    lines: Sequence[str], statements: Sequence[ast.stmt]
) -> List[Tuple[int, int, List[ast.stmt]]]:
    """Lines (start and end, counted from 0) and the top-level statements that stand on them."""
    starts: List[Tuple[int, List[ast.stmt]]] = []
    for statement in statements:
        start = _first_line(statement)
        if starts and (start is None or start <= _last_line(starts[-1][1][-1], starts[-1][0])):
            starts[-1][1].append(statement)
        else:
            starts.append((0 if start is None else start, [statement]))
    following = [start for start, _ in starts[1:]] + [len(lines)]
    return [
        (start, max(_last_line(group[-1], _last_code(lines, start, end)) + 1, start + 1), group)
        for (start, group), end in zip(starts, following)
    ]


def _first_line(statement: ast.stmt) -> Optional[int]:
    """Unknown where Python 3.7 has only the last line of a multi-line string."""
    if statement.col_offset < 0:
        return None
    decorators = getattr(statement, "decorator_list", [])
    first: int = min(node.lineno for node in [statement, *decorators])
    return first - 1


def _last_line(statement: ast.stmt, unknown: int) -> int:
    end: Optional[int] = getattr(statement, "end_lineno", None)
    return unknown if end is None else end - 1


def _last_code(lines: Sequence[str], start: int, end: int) -> int:
    """The last line before ``end`` that is neither blank nor a comment."""
    code = [n for n in range(start, end) if lines[n].strip() and lines[n].lstrip()[0] != "#"]
    return code[-1] if code else start
