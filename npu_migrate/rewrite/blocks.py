"""Statements, comment lines and blank lines of a block."""

import re
from typing import Any, List, Sequence, Tuple, Union

import libcst as cst

from npu_migrate.rewrite.templates import Line, blank

Statement = Union[cst.BaseCompoundStatement, cst.SimpleStatementLine]

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)")
_PASS = cst.SimpleStatementLine([cst.Pass()])


def assemble(
    lines: Sequence[Line], footer: Sequence[cst.EmptyLine], may_be_empty: bool = False
) -> Tuple[List[Statement], List[cst.EmptyLine]]:
    """The statements and the footer of a block that consists of ``lines`` and ``footer``.

    libcst has comment and blank lines belong to the statement below them.
    """
    statements: List[Statement] = []
    loose: List[cst.EmptyLine] = []
    for line in lines:
        if isinstance(line, cst.EmptyLine):
            loose.append(line)
        elif loose:
            leading = [*loose, *line.leading_lines]
            statements.append(line.with_changes(leading_lines=leading))
            loose = []
        else:
            statements.append(line)
    if not statements and not may_be_empty:
        return [_PASS.with_changes(leading_lines=loose)], list(footer)
    return statements, [*loose, *footer]


def split_leading(lines: Sequence[Line]) -> Tuple[Sequence[Line], Sequence[Line]]:
    """The lines above a statement: down to the last blank one, and the comments below that."""
    blanks = [number for number, line in enumerate(lines) if blank(line)]
    cut = blanks[-1] + 1 if blanks else 0
    return lines[:cut], lines[cut:]


def split_header(lines: Sequence[Line]) -> Tuple[Sequence[Line], Sequence[Line]]:
    """The same for the first statement of a file: an unbroken comment there is the file's."""
    return split_leading(lines) if any(blank(line) for line in lines) else (lines, [])


def bare(statement: Any) -> Any:
    """``statement`` without the lines above it."""
    return statement.with_changes(leading_lines=[]) if statement.leading_lines else statement


def alone(small: cst.BaseSmallStatement, line: Any, last: bool) -> cst.SimpleStatementLine:
    """A statement that shares a line, or a suite, on a line of its own.

    The comment at the end of the shared line goes with its ``last`` statement.
    """
    small = small.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
    if not last:
        return cst.SimpleStatementLine([small])
    return cst.SimpleStatementLine([small], trailing_whitespace=line.trailing_whitespace)


def together(smalls: Sequence[cst.BaseSmallStatement], line: Any, last: bool) -> List[Line]:
    """Some statements of a line on one line, if any, with its end if they are its ``last``."""
    if not smalls:
        return []
    end = alone(smalls[-1], line, last)
    return [end.with_changes(body=[*smalls[:-1], *end.body])]


def as_line(suite: cst.SimpleStatementSuite) -> cst.SimpleStatementLine:
    """The ``a`` of ``if x: a`` as a line."""
    return cst.SimpleStatementLine(suite.body, trailing_whitespace=suite.trailing_whitespace)


def as_block(suite: cst.BaseSuite) -> cst.IndentedBlock:
    """``suite`` on lines of its own."""
    if isinstance(suite, cst.SimpleStatementSuite):
        return cst.IndentedBlock([as_line(suite)])
    assert isinstance(suite, cst.IndentedBlock)
    return suite


def at_margin(line: Any, indent: str) -> cst.EmptyLine:
    """A comment of the block around, placed in the footer of a block further in."""
    outer = indent if line.indent and line.comment is not None else ""
    return cst.EmptyLine(False, cst.SimpleWhitespace(outer + line.whitespace.value), line.comment)


def with_end_comment(lines: Sequence[Line], end: cst.TrailingWhitespace) -> List[Line]:
    """``lines`` with ``end`` behind the first statement among them."""
    for number, line in enumerate(lines):
        if not isinstance(line, cst.EmptyLine):
            return [*lines[:number], _with_end(line, end), *lines[number + 1 :]]
    return list(lines)


def end_comment(statement: Statement) -> cst.TrailingWhitespace:
    """What follows a statement, or the header of a compound one, on its line."""
    if isinstance(statement, cst.SimpleStatementLine):
        return statement.trailing_whitespace
    body: cst.BaseSuite = statement.body
    return body.header if isinstance(body, cst.IndentedBlock) else cst.TrailingWhitespace()


def _with_end(line: Any, end: cst.TrailingWhitespace) -> Any:
    if end_comment(line).comment is not None:
        return line
    if isinstance(line, cst.SimpleStatementLine):
        return line.with_changes(trailing_whitespace=end)
    if end.comment is not None and isinstance(line.body, cst.IndentedBlock):
        return line.with_changes(body=line.body.with_changes(header=end))
    return line


def commented_out(
    statement: Statement, indent: str, module: cst.Module, clause: str = ""
) -> List[Line]:
    """The lines of ``statement``, which stands at ``indent``, as comments.

    ``clause`` is what makes an ``elif`` of the ``if`` of the statement.
    """
    code = clause + _code(bare(statement), indent, module)
    lines = [_comment(line, indent, module) for line in _LINE.findall(code)]
    blanks = 0
    while lines[-1 - blanks].comment.value == "#":  # type: ignore[union-attr]
        blanks += 1
    return [*lines[: len(lines) - blanks], *[cst.EmptyLine(indent=False)] * blanks]


def _comment(line: str, indent: str, module: cst.Module) -> cst.EmptyLine:
    text = line.rstrip("\r\n")
    newline = line[len(text) :]
    inner = text[len(indent) :] if text.startswith(indent) else text
    return cst.EmptyLine(
        comment=cst.Comment(f"# {inner}" if inner.strip() else "#"),
        newline=cst.Newline(None if newline == module.default_newline else newline),
    )


def _code(statement: Statement, indent: str, module: cst.Module) -> str:
    """The text of ``statement`` as it stands in the file, from its first word on."""
    if not indent:
        return module.code_for_node(statement)
    holder = cst.If(cst.Name("_"), cst.IndentedBlock([statement], indent=indent))
    code = module.code_for_node(holder)
    return _LINE.sub("", code, 1)[len(indent) :]
