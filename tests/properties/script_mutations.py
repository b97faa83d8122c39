"""Mutations of real scripts: each gives another script that still compiles, or the same one.

They cut, rename, nest, double and reformat what people wrote, into what nobody thought of.
"""

import ast
import io
import keyword
import re
import tokenize
import warnings
from random import Random
from typing import Callable, List, Optional, Sequence, Tuple

Mutation = Callable[[str, Random], str]

_NAMES = ("tf", "hvd", "opt", "optimizer", "global_step", "loss", "np", "x", "self", "config", "_")
_WRAPS = (
    "if flag:",
    "if True:",
    "for _ in range(2):",
    "while True:",
    "with scope():",
    "with tf.device('/gpu:0'):",
    "def inner():",
    "class Inner(object):",
    "try:",
    "async def later():",
)


def mutate(text: str, random: Random, most: int = 4) -> Tuple[str, List[str]]:
    """Applies one to `most` mutations; returns the new script and what was done to it."""
    done = []
    for _ in range(random.randint(1, most)):
        mutation = random.choice(MUTATIONS)
        new = mutation(text, random)
        if new != text and _compiles(new):
            text = new
            done.append(mutation.__name__)
    return text, done


def cut_statement(text: str, random: Random) -> str:
    """Takes a statement out, or puts `pass` in its place."""
    span = _some_statement(text, random)
    if span is None:
        return text
    lines, (first, last) = text.splitlines(True), span
    indent = _indent(lines[first])
    instead = [indent + "pass\n"] if random.random() < 0.6 else []
    return "".join([*lines[:first], *instead, *lines[last:]])


def double_statement(text: str, random: Random) -> str:
    """Has a statement twice."""
    span = _some_statement(text, random)
    if span is None:
        return text
    lines, (first, last) = text.splitlines(True), span
    return "".join([*lines[:last], *_ended(lines[first:last]), *lines[last:]])


def move_statement(text: str, random: Random) -> str:
    """Puts a copy of a statement somewhere else, at the indentation of that place."""
    span, place = _some_statement(text, random), _some_statement(text, random)
    if span is None or place is None:
        return text
    lines = text.splitlines(True)
    moved = _indented(_ended(lines[span[0] : span[1]]), _indent(lines[place[0]]))
    return "".join([*lines[: place[0]], *moved, *lines[place[0] :]])


def wrap_statements(text: str, random: Random) -> str:
    """Puts some statements of a block below a header."""
    span = _some_statements(text, random)
    if span is None:
        return text
    lines, (first, last) = text.splitlines(True), span
    indent, header = _indent(lines[first]), random.choice(_WRAPS)
    body = _indented(_ended(lines[first:last]), indent + "    ")
    after = []
    if header == "try:":
        handler = random.choice(("except ImportError:", "finally:", "except:"))
        after = [f"{indent}{handler}\n", f"{indent}    pass\n"]
    elif header == "if flag:" and random.random() < 0.5:
        after = [f"{indent}else:\n", *body]
    return "".join([*lines[:first], f"{indent}{header}\n", *body, *after, *lines[last:]])


def rename(text: str, random: Random) -> str:
    """Gives a name of the script another one, perhaps one that it has already."""
    names = sorted({t.string for t in _tokens(text) if _is_name(t)})
    if not names:
        return text
    old = random.choice(names)
    new = random.choice((*_NAMES, f"{old}_2", random.choice(names)))
    return re.sub(rf"(?<![\w.]){re.escape(old)}\b", new, text)


def rename_once(text: str, random: Random) -> str:
    """Gives one place another name."""
    tokens = [t for t in _tokens(text) if _is_name(t)]
    if not tokens:
        return text
    token, names = random.choice(tokens), [t.string for t in tokens]
    return _replaced(text, token, random.choice((*_NAMES, random.choice(names))))


def parenthesize(text: str, random: Random) -> str:
    """Puts what stands between two brackets or after `=` into brackets of its own, on new lines."""
    lines = text.splitlines(True)
    places = [
        n for n, line in enumerate(lines) if re.match(r"\s*[\w.]+ = [^#\\]*[^#\\(\[{,:]\n", line)
    ]
    if not places:
        return text
    number = random.choice(places)
    left, _, right = lines[number].rstrip("\n").partition(" = ")
    form = random.choice(
        ("({})", "(\n{}\n)", "(  # why\n  {} )", "({},)[0]", "({} if flag else None)")
    )
    lines[number] = f"{left} = {form.format(right)}\n"
    return "".join(lines)


def reformat(text: str, random: Random) -> str:
    """Comments, blank lines, form feeds and spaces between and behind lines."""
    lines = text.splitlines(True)
    if not lines:
        return text
    for _ in range(random.randint(1, 6)):
        number = random.randrange(len(lines))
        ending = random.choice(("  # é \n", " \n", "\t\n", ";\n", "  # type: ignore\n"))
        if random.random() < 0.5:
            lines[number] = lines[number].rstrip("\r\n") + ending
        else:
            lines.insert(
                number, random.choice(("\n", "# x\n", "\f\n", _indent(lines[number]) + "#!\n"))
            )
    return "".join(lines)


def join_lines(text: str, random: Random) -> str:
    """Puts two simple statements on a line."""
    lines = text.splitlines(True)
    places = [
        n
        for n in range(len(lines) - 1)
        if _indent(lines[n]) == _indent(lines[n + 1])
        and re.match(r"\s*[\w.]+( =|\()", lines[n + 1])
    ]
    if not places:
        return text
    number = random.choice(places)
    joined = lines[number].rstrip("\r\n") + "; " + lines[number + 1].lstrip()
    return "".join([*lines[:number], joined, *lines[number + 2 :]])


def tabs(text: str, random: Random) -> str:
    """Indents with tabs."""
    unit = random.choice(("    ", "  "))
    return "".join(
        "\t" * (len(_indent(line)) // len(unit)) + line.lstrip(" ")
        if set(_indent(line)) <= {" "}
        else line
        for line in text.splitlines(True)
    )


def argument(text: str, random: Random) -> str:
    """Takes an argument away, doubles it, or makes it positional or a keyword."""
    matches = list(re.finditer(r"([(,] *)(\w+) ?= ?([\w.]+)(?=[,)])", text))
    if not matches:
        return text
    match = random.choice(matches)
    before, name, value = match.groups()
    forms = (
        "{value}",
        "{name}=*{value}",
        "**{value}",
        "{name}=lambda: {value}",
        "{value}, {name}=x",
    )
    new = before + random.choice(forms).format(name=name, value=value)
    return text[: match.start()] + new + text[match.end() :]


MUTATIONS: Sequence[Mutation] = (
    cut_statement,
    double_statement,
    move_statement,
    wrap_statements,
    wrap_statements,
    rename,
    rename_once,
    parenthesize,
    reformat,
    join_lines,
    tabs,
    argument,
)


def _compiles(text: str) -> bool:
    """Whether Python takes it: `ast` alone takes a keyword that a call gives twice, for one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "mutated", "exec", dont_inherit=True)
            _tokens(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
            return False
    return True


def _tokens(text: str) -> List[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(text).readline))


def _is_name(token: tokenize.TokenInfo) -> bool:
    return token.type == tokenize.NAME and not keyword.iskeyword(token.string)


def _replaced(text: str, token: tokenize.TokenInfo, new: str) -> str:
    lines = text.splitlines(True)
    number, start = token.start
    line = lines[number - 1]
    lines[number - 1] = line[:start] + new + line[token.end[1] :]
    return "".join(lines)


def _blocks(text: str) -> List[List[Tuple[int, int]]]:
    """The spans of lines, from 0, of the statements of each block; those that share none."""
    found = []
    for node in ast.walk(ast.parse(text)):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block and all(isinstance(s, ast.stmt) for s in block):
                found.append(_spans(block))
    return [spans for spans in found if spans]


def _spans(block: Sequence[ast.stmt]) -> List[Tuple[int, int]]:
    spans: List[Tuple[int, int]] = []
    for statement in block:
        decorators = getattr(statement, "decorator_list", [])
        first = min([statement.lineno, *(d.lineno for d in decorators)]) - 1
        last = getattr(statement, "end_lineno", None)
        if last is None or (spans and first < spans[-1][1]):
            return []
        spans.append((first, last))
    return spans


def _some_statement(text: str, random: Random) -> Optional[Tuple[int, int]]:
    blocks = _blocks(text)
    return random.choice(random.choice(blocks)) if blocks else None


def _some_statements(text: str, random: Random) -> Optional[Tuple[int, int]]:
    blocks = _blocks(text)
    if not blocks:
        return None
    block = random.choice(blocks)
    start = random.randrange(len(block))
    end = random.randrange(start, len(block))
    return block[start][0], block[end][1]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _ended(lines: Sequence[str]) -> List[str]:
    return [line if line.endswith("\n") else line + "\n" for line in lines]


def _indented(lines: Sequence[str], indent: str) -> List[str]:
    own = _indent(lines[0])
    return [indent + line[len(own) :] if line.startswith(own) else line for line in lines]
