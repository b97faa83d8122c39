"""Runs what docs/ shows, and writes the outputs anew where they have changed.

    doc_examples.py            run the commands of all pages, and write what they print
    doc_examples.py PAGE...    of some

An HTML comment before a fenced block says what the block is:

    <!-- file: NAME -->     a file that the commands after it find
    <!-- after: NAME -->    the text of that file after the commands so far
    <!-- output -->         what the Python example before it prints

In a `console` block a line that starts with `$ ` is a command, and the lines below it are what it
prints; a line `...` stands for any lines. Python blocks without a comment are programs that run on
the stand-in for the NPU.
"""

import argparse
import functools
import importlib.util
import io
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Dict, Iterator, List, Optional, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from npu_migrate import cli  # noqa: E402

DOCS = ROOT / "docs"
GENERATED = ("rules/", "command-line.md")
"""Pages that scripts/doc_pages.py writes; the suite runs the examples of rules elsewhere."""

_FENCE = re.compile(
    r"^(?:<!-- (?P<kind>file|after|output)(?:: (?P<name>\S+))? -->\n)?"
    r"```(?P<language>\S+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block; ``start`` is where its text begins in the page."""

    kind: str
    name: str
    language: str
    text: str
    start: int

    @property
    def is_program(self) -> bool:
        return self.language == "python" and not self.kind


@dataclass(frozen=True)
class Command:
    """A line of a console block, and what the page says that it prints."""

    text: str
    shown: str
    start: int
    """Where the output begins in the page."""

    @property
    def words(self) -> List[str]:
        return shlex.split(self.text)

    @property
    def needs_tensorflow(self) -> bool:
        return self.words[0] in ("npu-run", "npu-verify")


@dataclass(frozen=True)
class Difference:
    """What a page shows from ``start`` on, and what it should."""

    start: int
    shown: str
    actual: str


def written_pages() -> Dict[str, str]:
    """The pages that people write, by their path below docs/."""
    paths = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
    return {
        path: (DOCS / path).read_text(encoding="utf-8")
        for path in paths
        if not path.startswith(GENERATED)
    }


def blocks(page: str) -> List[Block]:
    return [
        Block(
            match["kind"] or "",
            match["name"] or "",
            match["language"],
            match["text"],
            match.start("text"),
        )
        for match in _FENCE.finditer(page)
    ]


def commands(block: Block) -> Iterator[Command]:
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    at = block.start + len(parts[0])
    for part in parts[1:]:
        text, _, shown = part.partition("\n")
        at += len("$ ") + len(text) + 1
        yield Command(text, shown, at)
        at += len(shown)


def differences(page: str, with_tensorflow: bool) -> List[Difference]:
    """Where the commands and programs of a page do otherwise than it says."""
    with tempfile.TemporaryDirectory(prefix="npu-migrate-docs-") as folder, _inside(folder):
        os.mkdir("project")  # pages may write beside it
        os.chdir("project")
        found = list(_of_commands(page, with_tensorflow))
        return found + (list(_of_programs(page)) if with_tensorflow else [])


def _of_commands(page: str, with_tensorflow: bool) -> Iterator[Difference]:
    status: Optional[int] = 0
    for block in blocks(page):
        path = pathlib.Path(block.name)
        if block.kind == "file":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.kind == "after":
            actual = path.read_text(encoding="utf-8")
            if actual != block.text:
                yield Difference(block.start, block.text, actual)
        elif block.language == "console":
            for command in commands(block):
                if command.needs_tensorflow and not with_tensorflow:
                    status = None
                    continue
                if status is None and command.words == ["echo", "$?"]:
                    continue
                actual, status = _run(command.words, status or 0)
                if not matches(command.shown, actual):
                    yield Difference(command.start, command.shown, actual)


def _of_programs(page: str) -> Iterator[Difference]:
    programs: List[Tuple[Block, Optional[Block]]] = []
    for block in blocks(page):
        if block.is_program:
            programs.append((block, None))
        elif block.kind == "output":
            programs[-1] = programs[-1][0], block
    for program, output in programs:
        actual = _outputs_of_pages()[program.text]
        if output is None:
            output = Block("output", "", "text", "", program.start + len(program.text))
        if not matches(output.text, actual):
            yield Difference(output.start, output.text, actual)


def matches(shown: str, actual: str) -> bool:
    """Whether an output is the one shown, in which ``...`` stands for any lines."""
    parts = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
    pattern = r"(?:.*\n)*?".join(map(re.escape, parts))
    return re.fullmatch(pattern, actual) is not None


def is_tensorflow_here() -> bool:
    """Whether TensorFlow 1.15 is, which is for Python 3.7; to import it would take long."""
    return sys.version_info < (3, 8) and importlib.util.find_spec("tensorflow") is not None


@contextmanager
def _inside(folder: str) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _run(words: List[str], last_status: int) -> Tuple[str, int]:
    """What a command prints on both streams, and its exit status."""
    if words == ["echo", "$?"]:
        return f"{last_status}\n", 0
    if words[0] == "cat":
        return "".join(pathlib.Path(name).read_text(encoding="utf-8") for name in words[1:]), 0
    if words[0] == "npu-migrate":
        return _npu_migrate(words[1:])
    if words[0] == "npu-verify":
        return _npu_verify(words[1:])
    if words[0] == "npu-run":
        return _npu_run(words[1:])
    raise ValueError(f"a page runs {words[0]}, which is no command of ours, cat or echo $?")


def _npu_migrate(arguments: List[str]) -> Tuple[str, int]:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with redirect_stdout(stream), redirect_stderr(stream):
        status = cli.main(arguments)
    stream.seek(0)
    return stream.read(), status


def _npu_run(arguments: List[str]) -> Tuple[str, int]:
    """Of a script that runs, only what it prints itself: TensorFlow says much on the other."""
    done = _python(["-m", "npu_migrate.launch.cli", *arguments])
    lines = done.stdout.splitlines(True)
    if "-np" in arguments:
        lines.sort()  # ranks print as they come to it
    return "".join(lines) + (done.stderr if done.returncode else ""), done.returncode


def _npu_verify(arguments: List[str]) -> Tuple[str, int]:
    done = _python(["-m", "npu_migrate.verify.cli", *arguments])
    return done.stdout + (done.stderr if done.returncode == 2 else ""), done.returncode


@functools.lru_cache(maxsize=None)
def _outputs_of_pages() -> Dict[str, str]:
    """What each program of the pages prints; in one process, for TensorFlow starts slowly."""
    pages = written_pages().values()
    programs = [block.text for page in pages for block in blocks(page) if block.is_program]
    done = _python([str(ROOT / "scripts" / "doc_examples.py"), "--programs"], json.dumps(programs))
    if done.returncode:
        raise RuntimeError(done.stderr)
    return dict(zip(programs, json.loads(done.stdout)))


def _run_programs(programs: List[str]) -> List[str]:
    import tensorflow

    from npu_migrate.runtime import install_bridge

    install_bridge()
    outputs = []
    for program in programs:
        printed = io.StringIO()
        environment = dict(os.environ)
        with redirect_stdout(printed), tensorflow.Graph().as_default():
            try:
                exec(compile(program, "example", "exec"), {"__name__": "__main__"})
            except Exception:
                printed.write(traceback.format_exc())
        os.environ.clear()
        os.environ.update(environment)
        outputs.append(printed.getvalue())
    return outputs


def _python(arguments: List[str], given: str = "") -> "subprocess.CompletedProcess[str]":
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **quiet, "CUDA_VISIBLE_DEVICES": ""},
        input=given,
        capture_output=True,
        text=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    parser.add_argument("--programs", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.programs:
        print(json.dumps(_run_programs(json.load(sys.stdin))))
        return 0
    asked = [str(pathlib.Path(page).resolve().relative_to(DOCS)) for page in options.pages]
    for name, page in written_pages().items():
        if not asked or name in asked:
            new = corrected(page)
            if new != page:
                (DOCS / name).write_text(new, encoding="utf-8")
                print(f"wrote docs/{name}")
    return 0


def corrected(page: str) -> str:
    found = sorted(differences(page, is_tensorflow_here()), key=lambda one: -one.start)
    for one in found:
        page = page[: one.start] + one.actual + page[one.start + len(one.shown) :]
    return page


if __name__ == "__main__":
    sys.exit(main())
