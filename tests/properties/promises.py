"""What holds of every run, whatever the scripts: the promises of the rewriter.

Nothing here knows how the tool works. A line belongs to a *logical* line, as the tokenizer sees
it; a finding may change the logical line that it stands on, and little else.
"""

import ast
import io
import re
import tokenize
import warnings
from collections import Counter
from typing import Dict, List, Mapping, NamedTuple, Sequence, Set, Tuple

from pyflakes import checker, messages

from npu_migrate import rules
from npu_migrate.engine import migrate as run_engine
from npu_migrate.options import Options
from npu_migrate.plan import Finding, Status
from npu_migrate.sources import Source, decode

RULES = rules.load(())
SAID_ONCE = {rule.code for rule in RULES.by_code.values() if rule.once}
"""What is said of the change itself, which a later run can't see."""


class Result(NamedTuple):
    """What became of one file."""

    before: bytes
    after: bytes
    findings: Tuple[Finding, ...]

    @property
    def left(self) -> List[Finding]:
        return [f for f in self.findings if f.status is not Status.MIGRATED]


def run(files: Mapping[str, bytes], jobs: int = 1) -> Dict[str, Result]:
    """Migrate files as one run, in the order given; every one must be read and written."""
    sources = [Source(path, data) for path, data in files.items()]
    results = {}
    for result in run_engine(sources, RULES, Options(jobs=jobs)):
        assert result.error is None, str(result.error)
        results[result.path] = Result(result.before, result.after, result.findings)
    return results


def check(files: Mapping[str, bytes]) -> Dict[str, Result]:
    """Migrate files as one run, and the output again; assert all promises."""
    results = run(files)
    for path, result in results.items():
        assert result.before == files[path]
        parses(result)
        nothing_half_done(result, results)
        binds_its_names(result)
        keeps_other_lines(result)
    again = run({path: result.after for path, result in results.items()})
    for path, result in again.items():
        is_settled(results[path], result)
    return results


def parses(result: Result) -> None:
    tree_of(result.after)


STAYS_ON_HOROVOD = {"NPU206", "NPU208", "NPU918"}
"""What a person must do before anything of a program can leave Horovod."""


def nothing_half_done(result: Result, run: Mapping[str, Result]) -> None:
    """What the plan wanted was done, and what changed is accounted for."""
    for finding in result.findings:
        if re.search(
            r"\(not done: (only together with|.* keeps the program on Horovod)", finding.message
        ):
            left = {one.code for each in run.values() for one in each.left}
            assert left & STAYS_ON_HOROVOD, finding
        elif "(not done" in finding.message:
            by_others = "which belongs to it" in finding.message
            culprits = run.values() if by_others else [result]
            assert any(_has_comment_in_a_name(one.before) for one in culprits), finding
    migrated = len(result.findings) - len(result.left)
    assert (result.before != result.after) is (migrated > 0), "changed without a finding"


def _has_comment_in_a_name(data: bytes) -> bool:
    """Whether a comment stands beside a dot, where a name that is replaced would take it along."""
    tokens = [
        token.string if token.type != tokenize.COMMENT else "#"
        for token in tokenize.tokenize(io.BytesIO(data).readline)
        if token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    ]
    text = " ".join(tokens)
    return ". #" in text or "# ." in text


def is_settled(first: Result, second: Result) -> None:
    """A second run changes nothing, and leaves to a person what the first one left."""
    assert second.after == second.before == first.after, _show(second.before, second.after)
    assert len(second.left) == len(second.findings), second.findings
    # The guide's form has a wrap for one rank and one for several: what is left may stand twice.
    new = Counter(f.code for f in second.findings) - Counter(f.code for f in first.left * 2)
    assert not new, [f for f in second.findings if f.code in new]
    lost = {f.code for f in first.left} - {f.code for f in second.left} - SAID_ONCE
    assert not lost, [f for f in first.left if f.code in lost]


def binds_its_names(result: Result) -> None:
    """No name becomes undefined, and no import is added or left over that nothing uses."""
    before, after = complaints(result.before), complaints(result.after)
    assert not after - before, f"{sorted(after - before)} in\n{text_of(result.after)}"


OUR_IMPORTS = ("tensorflow.contrib.mixed_precision", "horovod", "npu_bridge", "npu_migrate")
"""What comes and goes by the tool; other imports, of TensorFlow above all, stay."""


def complaints(data: bytes) -> Set[Tuple[str, str]]:
    """What pyflakes says of names: kind and name."""
    kinds = (
        messages.UndefinedName,
        messages.UndefinedLocal,
        messages.UndefinedExport,
        messages.UnusedImport,
    )
    parameters = {node.arg for node in ast.walk(tree_of(data)) if isinstance(node, ast.arg)}
    found = set()
    for message in checker.Checker(tree_of(data)).messages:
        if isinstance(message, messages.ImportStarUsage):  # it may be undefined
            found.add((messages.UndefinedName.__name__, str(message.message_args[0])))
        if isinstance(message, kinds):
            name = str(message.message_args[0])
            bound = name.split(" as ")[-1]
            is_import = isinstance(message, messages.UnusedImport)
            if is_import and parameters & {"hvd", "horovod"} and "ops_adapter" in name:
                continue  # the import says what the parameter is
            # A local name that is read before it is bound is as undefined as any.
            is_local = isinstance(message, messages.UndefinedLocal)
            kind = messages.UndefinedName if is_local else type(message)
            if not is_import or name.startswith(OUR_IMPORTS):
                found.add((kind.__name__, bound))
    return found


# Lines ------------------------------------------------------------------------------------------

MAY_CHANGE = {"import", "horovod", "return", "global_step"}


LISTS_DEVICES = {"list_physical_devices", "list_logical_devices"}
CHOOSES_DEVICES = {
    *("visible_device_list", "set_memory_growth", "set_visible_devices"),
    *("set_virtual_device_configuration", '"CUDA_VISIBLE_DEVICES"', "'CUDA_VISIBLE_DEVICES'"),
    *LISTS_DEVICES,
}
"""What goes without a trace, and with it the headers of blocks that do nothing else."""


def keeps_other_lines(result: Result) -> None:
    """Lines that no finding is about are there after the run: in order, byte by byte.

    A finding is about the logical line that it stands on. Besides, there may change:

    - imports, and dotted names that start with a module of an import (``horovod.tensorflow.rank``);
    - what goes with a finding: statements commented out, which leave their text behind a ``#``, and
      statements that read what those bound;
    - in a class that has a finding, what returns or reads the step;
    - the headers of blocks that only choose a device, and lists of devices that only those read.

    Comments right above a statement that may change move with it.

    Of several statements on one line, the others must be there as they were but for the layout.
    """
    before, after = logical_lines(result.before), logical_lines(result.after)
    gone = _gone(before, after, result.after)
    free = _free(before, result.findings, gone)
    touched = {number for line in free for number in range(line.first, line.last + 1)}
    lines = physical_lines(result.before)
    new_lines = physical_lines(result.after)
    there = {form for new in new_lines for form in (new.strip(), _commented(new))}
    for number in sorted(_comments_above(lines, touched)):
        text = lines[number - 1]
        assert text.strip() in there, f"{text!r} is lost"
    touched |= _comments_above(lines, touched)
    kept = [line for number, line in enumerate(lines, 1) if number not in touched]
    rest = iter(new_lines)
    for text in kept:
        assert any(new == text or _commented(new) == text.strip() for new in rest), (
            f"{text!r} is not kept:\n" + _show(result.before, result.after)
        )
    found = {finding.line for finding in result.findings}
    statements = {statement for line in after for statement in line.statements}
    for line in free:
        if len(line.statements) > 1 and not found & set(range(line.first, line.last + 1)):
            for statement in line.statements:
                assert statement in statements or _mentions(statement, gone | MAY_CHANGE), (
                    f"{statement!r} is not kept:\n" + _show(result.before, result.after)
                )


Tokens = Tuple[str, ...]


class LogicalLine(NamedTuple):
    """A statement or header, or several joined by ``;``, with the physical lines it takes."""

    first: int
    last: int
    depth: int
    tokens: Tokens

    @property
    def statements(self) -> List[Tokens]:
        found: List[List[str]] = [[]]
        for token in self.tokens:
            if token == ";":
                found.append([])
            else:
                found[-1].append(token)
        return [tuple(one) for one in found if one]


def logical_lines(data: bytes) -> List[LogicalLine]:
    lines: List[LogicalLine] = []
    tokens: List[tokenize.TokenInfo] = []
    depth = 0
    skipped = (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
    )
    for token in tokenize.tokenize(io.BytesIO(data).readline):
        depth += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
        if token.type == tokenize.NEWLINE and tokens:
            texts = tuple(one.string for one in tokens)
            lines.append(LogicalLine(tokens[0].start[0], token.end[0], depth, texts))
            tokens = []
        elif token.type not in skipped:
            tokens.append(token)
    return lines


def _free(
    lines: Sequence[LogicalLine], findings: Sequence[Finding], gone: Set[str]
) -> List[LogicalLine]:
    """The lines that may change."""
    found = {finding.line for finding in findings}
    free: List[LogicalLine] = []
    in_class = False
    for line in lines:
        holds = bool(found & set(range(line.first, line.last + 1)))
        if "class" in line.tokens:
            in_class = holds
        if (
            holds
            or _mentions(line.tokens, {"import", "horovod"} | LISTS_DEVICES | gone)
            or (in_class and _mentions(line.tokens, {"return", "global_step"}))
        ):
            free.append(line)
    return free + _emptied(lines)


def _emptied(lines: Sequence[LogicalLine]) -> List[LogicalLine]:
    """Headers of blocks that only choose a device, which goes without a trace."""
    found: List[LogicalLine] = []
    for place in range(len(lines) - 1, -1, -1):
        body: List[LogicalLine] = []
        for line in lines[place + 1 :]:
            if line.depth <= lines[place].depth:
                break
            body.append(line)
        if body and all(one in found or _mentions(one.tokens, CHOOSES_DEVICES) for one in body):
            found.append(lines[place])
    return found


def _gone(before: Sequence[LogicalLine], after: Sequence[LogicalLine], data: bytes) -> Set[str]:
    """Names with fewer assignments than before, where comments show the others."""
    fewer = Counter(_assigned(before)) - Counter(_assigned(after))
    comments = [comment.strip(b"# \t\r\\") for comment in re.findall(rb"#.*", data)]
    text = b" ".join(comments)  # a statement of several lines becomes as many comments
    return {n for n in fewer if re.search(rb"\b%s\s*=" % n.encode(), text)}


def _assigned(lines: Sequence[LogicalLine]) -> List[str]:
    statements = [statement for line in lines for statement in line.statements]
    return [one[0] for one in statements if one[1:2] == ("=",)]


def _mentions(tokens: Tokens, names: Set[str]) -> bool:
    return not names.isdisjoint(tokens)


def physical_lines(data: bytes) -> List[bytes]:
    return (data[3:] if data.startswith(b"\xef\xbb\xbf") else data).split(b"\n")


def _comments_above(lines: Sequence[bytes], touched: Set[int]) -> Set[int]:
    """The numbers of the lines that hold nothing but a comment, right above lines that may go."""
    found: Set[int] = set()
    for number in range(len(lines), 0, -1):
        is_comment = lines[number - 1].lstrip().startswith(b"#")
        if is_comment and number not in touched and {number + 1} & (touched | found):
            found.add(number)
    return found


def _commented(line: bytes) -> bytes:
    return re.sub(rb"^\s*#\s*", b"", line).strip()


def tree_of(data: bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(data)


def text_of(data: bytes) -> str:
    return decode(data, "the file")


def _show(before: bytes, after: bytes) -> str:
    return f"{text_of(before)}\n---- becomes ----\n{text_of(after)}"
