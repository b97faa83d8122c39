"""Taking elements out of comma-separated lists, and adding them, without a trace in the layout.

An element here is anything with a ``comma``: an argument, an element of a list, an imported name.
"""

from typing import Any, List, NamedTuple, Optional, Sequence, Set, Tuple

import libcst as cst

Space = cst.BaseParenthesizableWhitespace

NOTHING = cst.SimpleWhitespace("")


class Brackets(NamedTuple):
    """The space behind an opening bracket and the space before a closing one.

    The latter is empty for calls: there it belongs to the last argument.
    """

    opening: Space = NOTHING
    closing: Space = NOTHING


def without(
    elements: Sequence[Any], gone: Set[int], brackets: Brackets
) -> Tuple[List[Any], Brackets]:
    """``elements`` less those at the positions ``gone``, and the space between the brackets."""
    left = list(elements)
    for position in sorted(gone, reverse=True):
        brackets = _take_out(left, position, brackets)
    return left, brackets


def appended(elements: Sequence[Any], new: Any, opening: Space) -> List[Any]:
    """``elements`` and ``new`` at the end, on a line of its own where the last one is."""
    if not elements:
        return [new]
    *others, last = elements
    if not isinstance(last.comma, cst.Comma):
        return [*others, *_behind(last, new)]
    before = others[-1].comma.whitespace_after if others else opening
    closing = last.comma.whitespace_after
    if isinstance(before, cst.ParenthesizedWhitespace):
        comma = last.comma.with_changes(whitespace_after=_break(closing, before))
        last_comma = cst.Comma(whitespace_after=_without_end_comment(closing))
        return [*others, last.with_changes(comma=comma), new.with_changes(comma=last_comma)]
    return [
        *others,
        last.with_changes(comma=_comma(" ")),
        new.with_changes(comma=last.comma),
    ]


def inserted(elements: Sequence[Any], position: int, new: Any, opening: Space) -> List[Any]:
    """``elements`` with ``new`` before the one at ``position``, laid out like that one."""
    before = elements[position - 1].comma.whitespace_after if position else opening
    if isinstance(before, cst.ParenthesizedWhitespace):
        space: Space = _plain(before)
    else:
        space = before if position and not before.empty else cst.SimpleWhitespace(" ")
    new = new.with_changes(comma=cst.Comma(whitespace_after=space))
    return [*elements[:position], new, *elements[position:]]


def _take_out(elements: List[Any], position: int, brackets: Brackets) -> Brackets:
    element = elements.pop(position)
    comma = element.comma if isinstance(element.comma, cst.Comma) else None
    if not elements:
        return _emptied(element, comma, brackets)
    if position == len(elements):
        return _take_out_last(elements, element, comma, brackets)
    assert comma is not None
    if position == 0:
        opening = _joined(brackets.opening, comma.whitespace_after, first=True)
        return brackets._replace(opening=opening)
    previous = elements[position - 1]
    space = _joined(previous.comma.whitespace_after, comma.whitespace_after)
    elements[position - 1] = _with_comma(previous, space)
    return brackets


def _take_out_last(
    elements: List[Any], element: Any, comma: Optional[cst.Comma], brackets: Brackets
) -> Brackets:
    previous = elements[-1]
    before = previous.comma.whitespace_after
    behind = comma.whitespace_after if comma else _space_behind(element)
    ends_in_bracket = behind.empty and not isinstance(element, cst.Arg)
    space = _joined_last(before, brackets.closing if ends_in_bracket else behind)
    inner, closing = (NOTHING, space) if ends_in_bracket else (space, brackets.closing)
    if comma or _speaks(before):
        elements[-1] = _with_comma(previous, inner)
    else:
        last = previous.with_changes(comma=cst.MaybeSentinel.DEFAULT)
        elements[-1] = _with_space_behind(last, inner)
    return brackets._replace(closing=closing)


def _emptied(element: Any, comma: Optional[cst.Comma], brackets: Brackets) -> Brackets:
    """Comments that are not the element's own stay between the brackets."""
    behind = comma.whitespace_after if comma else _space_behind(element)
    space = _joined(brackets.opening, brackets.closing if behind.empty else behind)
    return Brackets(space if _speaks(space) else NOTHING)


def _joined_last(before: Space, after: Space) -> Space:
    if isinstance(after, cst.ParenthesizedWhitespace) or _speaks(before):
        return _joined(before, after)
    return after


def _joined(before: Space, after: Space, first: bool = False) -> Space:
    """The space that stays where an element between ``before`` and ``after`` goes.

    A comment that ends the element's own line goes with it; comments on lines of their own stay.
    """
    if not isinstance(after, cst.ParenthesizedWhitespace):
        return before
    if isinstance(before, cst.ParenthesizedWhitespace):
        lines = [*before.empty_lines, *after.empty_lines]
        return after.with_changes(first_line=before.first_line, empty_lines=lines)
    if first and not after.empty_lines:
        return before
    return after


def _speaks(space: Space) -> bool:
    """Whether there is a comment in ``space``."""
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return False
    return space.first_line.comment is not None or any(line.comment for line in space.empty_lines)


def _space_behind(element: Any) -> Space:
    """Of elements without a comma, arguments alone own the space that follows."""
    return element.whitespace_after_arg if isinstance(element, cst.Arg) else NOTHING


def _with_space_behind(element: Any, space: Space) -> Any:
    if not isinstance(element, cst.Arg):
        return element
    return element.with_changes(whitespace_after_arg=space)


def _behind(last: Any, new: Any) -> List[Any]:
    space = _space_behind(last)
    first = _with_space_behind(last, NOTHING).with_changes(comma=_comma(" "))
    return [first, _with_space_behind(new, space)]


def _with_comma(element: Any, space: Space) -> Any:
    return element.with_changes(comma=element.comma.with_changes(whitespace_after=space))


def _comma(space: str) -> cst.Comma:
    return cst.Comma(whitespace_after=cst.SimpleWhitespace(space))


def _plain(space: cst.ParenthesizedWhitespace) -> cst.ParenthesizedWhitespace:
    """The same line break without its comments."""
    return space.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=[])


def _break(closing: Space, before: cst.ParenthesizedWhitespace) -> cst.ParenthesizedWhitespace:
    """A line break like ``before``, with the comment that ends the line of ``closing``."""
    if isinstance(closing, cst.ParenthesizedWhitespace):
        return before.with_changes(first_line=closing.first_line, empty_lines=[])
    return _plain(before)


def _without_end_comment(space: Space) -> Space:
    if isinstance(space, cst.ParenthesizedWhitespace):
        return space.with_changes(first_line=cst.TrailingWhitespace())
    return space
