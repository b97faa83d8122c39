"""Taking elements out of comma-separated lists, and adding them, without a trace in the layout.

An element here is anything with a ``comma``: an argument, an element of a list, an imported name.
"""

from typing import Any, List, Sequence, Set, Tuple

import libcst as cst

Space = cst.BaseParenthesizableWhitespace

NOTHING = cst.SimpleWhitespace("")


def without(
    elements: Sequence[Any], gone: Set[int], opening: Space
) -> Tuple[List[Any], Space]:
    """``elements`` less those at the positions ``gone``, and the space before the first.

    ``opening`` is the space between the opening bracket and the first element.
    """
    left = list(elements)
    for position in sorted(gone, reverse=True):
        opening = _take_out(left, position, opening)
    return left, opening


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
        last_comma = last.comma.with_changes(whitespace_after=_without_end_comment(closing))
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


def _take_out(elements: List[Any], position: int, opening: Space) -> Space:
    gone = elements.pop(position)
    comma = gone.comma if isinstance(gone.comma, cst.Comma) else None
    if not elements:
        return _joined(opening, comma.whitespace_after) if comma and _speaks(opening) else NOTHING
    if position == 0:
        assert comma is not None
        return _joined(opening, comma.whitespace_after, first=True)
    previous = elements[position - 1]
    if comma is not None:
        space = _joined(previous.comma.whitespace_after, comma.whitespace_after)
        kept = previous.comma.with_changes(whitespace_after=space)
        elements[position - 1] = previous.with_changes(comma=kept)
    elif _speaks(previous.comma.whitespace_after):
        space = _joined(previous.comma.whitespace_after, _space_behind(gone))
        kept = previous.comma.with_changes(whitespace_after=space)
        elements[position - 1] = previous.with_changes(comma=kept)
    else:
        last = previous.with_changes(comma=cst.MaybeSentinel.DEFAULT)
        elements[position - 1] = _with_space_behind(last, _space_behind(gone))
    return opening


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
