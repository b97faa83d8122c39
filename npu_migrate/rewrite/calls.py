"""Changes to the callee and the arguments of a call."""

from typing import List, Mapping, Optional, Sequence, Set

import libcst as cst

from npu_migrate.plan import Argument
from npu_migrate.rewrite.commas import Brackets, appended, inserted, without
from npu_migrate.rewrite.errors import CannotPlace
from npu_migrate.rewrite.nodes import holds
from npu_migrate.rewrite.parentheses import fit, in_parentheses
from npu_migrate.rewrite.templates import expression

Parts = Mapping[str, cst.BaseExpression]


def edit_call(
    call: cst.Call,
    callee: str,
    arguments: Sequence[Argument],
    parts: Mapping[int, Parts],
    dropped: Set[int],
) -> cst.Call:
    """``call`` with its callee and arguments changed, and its layout kept.

    ``parts`` holds the parts of each of ``arguments``, by its id; ``dropped`` are positions in
    ``call.args`` that go in any case.
    """
    if callee:
        if holds(call.func, cst.Comment):
            raise CannotPlace("a comment stands inside the name that is replaced")
        call = call.with_changes(func=fit(expression(callee, {}), call, "func"))
    present = [(argument, _find(call.args, argument)) for argument in arguments]
    args = list(call.args)
    for argument, position in present:
        if position is not None and (argument.code or argument.rename):
            args[position] = _changed(args[position], argument, parts[id(argument)])
    gone = {at for arg, at in present if at is not None and not arg.code and not arg.rename}
    kept, brackets = without(args, gone | dropped, Brackets(call.whitespace_before_args))
    call = call.with_changes(args=kept, whitespace_before_args=brackets.opening)
    for argument, position in present:
        if position is None and argument.code:
            call = _with_argument(call, argument, parts[id(argument)])
    _check(call.args)
    return call


def _find(args: Sequence[cst.Arg], argument: Argument) -> Optional[int]:
    if isinstance(argument.at, str):
        names = [arg.keyword.value if arg.keyword else None for arg in args]
        return names.index(argument.at) if argument.at in names else None
    positional = [n for n, arg in enumerate(args) if arg.keyword is None and arg.star != "**"]
    return positional[argument.at] if argument.at < len(positional) else None


def _changed(arg: cst.Arg, argument: Argument, parts: Parts) -> cst.Arg:
    if arg.star:
        raise CannotPlace("an argument that is unpacked can only be dropped")
    if argument.code:
        value = expression(argument.code, {**parts, "it": arg.value})
        arg = arg.with_changes(value=fit(value, arg, "value"))
    if argument.rename and arg.keyword is not None:
        return arg.with_changes(keyword=arg.keyword.with_changes(value=argument.rename))
    if argument.rename:
        return arg.with_changes(keyword=cst.Name(argument.rename), equal=_equal())
    return arg


def _with_argument(call: cst.Call, argument: Argument, parts: Parts) -> cst.Call:
    if "$it" in argument.code:
        raise CannotPlace(f"the call has no argument {argument.at}")
    value = fit(expression(argument.code, parts), cst.Arg(cst.Name("_")), "value")
    if isinstance(argument.at, int):
        return _with_positional(call, argument.at, cst.Arg(value))
    new = cst.Arg(value, keyword=cst.Name(argument.at), equal=_equal())
    position = len(call.args)
    while position and call.args[position - 1].star == "**":
        position -= 1
    return _with_arg(call, position, new)


def _with_positional(call: cst.Call, at: int, new: cst.Arg) -> cst.Call:
    positional = [n for n, arg in enumerate(call.args) if arg.keyword is None and arg.star != "**"]
    if at != len(positional) or any(call.args[n].star for n in positional):
        raise CannotPlace(f"no argument can be put at position {at} of the call")
    return _with_arg(call, positional[-1] + 1 if positional else 0, new)


def _with_arg(call: cst.Call, position: int, new: cst.Arg) -> cst.Call:
    args: List[cst.Arg] = [_alone_no_more(arg) for arg in call.args]
    opening = call.whitespace_before_args
    if position == len(args):
        return call.with_changes(args=appended(args, new, opening))
    return call.with_changes(args=inserted(args, position, new, opening))


def _alone_no_more(arg: cst.Arg) -> cst.Arg:
    """A generator may share the call's parentheses only while it is the sole argument."""
    if isinstance(arg.value, cst.GeneratorExp) and not arg.value.lpar:
        return arg.with_changes(value=in_parentheses(arg.value))
    return arg


def _equal() -> cst.AssignEqual:
    nothing = cst.SimpleWhitespace("")
    return cst.AssignEqual(whitespace_before=nothing, whitespace_after=nothing)


def _check(args: Sequence[cst.Arg]) -> None:
    names = [arg.keyword.value for arg in args if arg.keyword is not None]
    if len(names) != len(set(names)):
        raise CannotPlace("the call would have an argument twice")
    named = False
    for arg in args:
        if named and arg.keyword is None and not arg.star:
            raise CannotPlace("a positional argument would follow a keyword argument")
        named = named or arg.keyword is not None or arg.star == "**"
