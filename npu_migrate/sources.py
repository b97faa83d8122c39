"""Finds the files of a run, reads and parses them, and puts new text in their place.

Whatever goes wrong with a file becomes a :class:`SourceError`, which names the file and says what
to do about it, so that a run goes on with the others.
"""

import ast
import contextlib
import errno
import io
import os
import re
import stat
import tokenize
import warnings
from dataclasses import dataclass, field
from typing import List, Optional, Sequence, Set, Tuple

from npu_migrate.ignored import Exclusion, Ignored

STDIN = "<stdin>"

_SKIPPED = {
    "__pycache__",
    "__pypackages__",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
}


class SourceError(Exception):
    """A file that could not be found, read, parsed or written."""

    def __init__(self, path: str, message: str, remedy: str, line: int = 0, cell: int = 0) -> None:
        super().__init__(path, message, remedy, line, cell)
        self.path = path
        self.message = message
        self.remedy = remedy
        self.line = line
        self.cell = cell

    @property
    def place(self) -> str:
        """Path, cell of a notebook and line, as far as they are known."""
        file = f"{self.path}:cell {self.cell}" if self.cell else self.path
        return f"{file}:{self.line}" if self.line else file

    def __str__(self) -> str:
        return f"{self.place}: {self.message}; {self.remedy}"


class TransientError(SourceError):
    """An error that another run need not meet, although the file is the same."""


@dataclass(frozen=True)
class Source:
    """One file of a run: a script, a notebook, or what says how scripts are started.

    ``given`` is its text, where it is known already or does not come from a file.
    """

    path: str
    given: Optional[bytes] = field(default=None, repr=False)

    def read(self) -> bytes:
        if self.given is not None:
            return self.given
        try:
            with open(self.path, "rb") as file:
                return file.read()
        except OSError as error:
            raise unusable(self.path, error) from error

    def with_text(self) -> "Source":
        """The same with its text, if it can be read: a run is about one state of its files."""
        try:
            return Source(self.path, self.read())
        except SourceError:
            return self


def stdin(data: bytes) -> Source:
    """The source that was handed over on standard input."""
    return Source(STDIN, data)


# Finding


def find(
    paths: Sequence[str], exclusions: Sequence[Exclusion] = ()
) -> Tuple[List[Source], List[SourceError]]:
    """The Python files that ``paths`` (files, and folders to search) name, each real file once.

    What ``.gitignore`` files or ``exclusions`` leave out of a folder is not found there.
    """
    search = _Search(exclusions)
    for path in paths:
        search.add(os.path.normpath(path))
    search.follow_links()
    if paths and not search.sources and not search.errors:
        search.errors.append(_no_scripts(paths[0]))
    return search.sources, search.errors


def is_inside(path: str, folder: str) -> bool:
    """Whether ``path`` is ``folder`` or lies below it (both real paths)."""
    return path == folder or path.startswith(os.path.join(folder, ""))


def is_skipped(folder: str) -> bool:
    """Whether a folder met on the way holds no source of the user's: by its name, or a venv."""
    name = os.path.basename(folder)
    return (
        name in _SKIPPED
        or name.startswith(".")
        or name.endswith(".egg-info")
        or os.path.exists(os.path.join(folder, "pyvenv.cfg"))
    )


class _Search:
    """Sources and errors of one call of :func:`find`.

    Links are followed, to files and to folders, but last: a file that has a place of its own in the
    run is found there. Real paths keep loops and doubles away.
    """

    def __init__(self, exclusions: Sequence[Exclusion]) -> None:
        self._exclusions = exclusions
        self.sources: List[Source] = []
        self.errors: List[SourceError] = []
        self._seen: Set[str] = set()
        self._links: List[str] = []
        self._met = 0

    def add(self, path: str) -> None:
        """A path that the user named."""
        if os.path.isdir(path):
            met = self._met
            self._add_named_folder(path, os.path.realpath(path))
            if self._met == met:
                self.errors.append(_no_scripts(path))
        elif os.path.isfile(path):
            self._add_file(path, os.path.realpath(path))
        else:
            self.errors.append(_no_file(path))

    def follow_links(self) -> None:
        while self._links:
            path = self._links.pop(0)
            real = os.path.realpath(path)
            if os.path.isdir(real):
                self._add_named_folder(path, real)
            elif _is_source(path) and os.path.isfile(real):
                self._add_file(path, real)
            elif _is_source(path) or _leads_round(path):
                self.errors.append(_no_file(path))

    def _add_named_folder(self, path: str, real: str) -> None:
        self._add_folder(path, real, Ignored.around(real, self._exclusions))

    def _add_folder(self, path: str, real: str, ignored: Ignored) -> None:
        if real in self._seen:
            self._met += 1
            return
        self._seen.add(real)
        try:
            entries = sorted(os.scandir(real), key=lambda entry: entry.name)
        except OSError as error:
            self._met += 1
            self.errors.append(unusable(path, error))
            return
        ignored = ignored.inside(real, [entry.name for entry in entries])
        for entry in entries:
            inner = entry.name if path == os.curdir else os.path.join(path, entry.name)
            self._add_entry(entry, inner, ignored)

    def _add_entry(self, entry: "os.DirEntry[str]", path: str, ignored: Ignored) -> None:
        if entry.is_dir(follow_symlinks=False):
            if not is_skipped(path) and not ignored.leaves_out(entry.path, True):
                self._add_folder(path, entry.path, ignored)
        elif entry.is_symlink():
            if not is_skipped(path) and not ignored.leaves_out(entry.path, False):
                self._met += 1
                self._links.append(path)
        elif _is_source(path) and entry.is_file() and not ignored.leaves_out(entry.path, False):
            self._add_file(path, entry.path)

    def _add_file(self, path: str, real: str) -> None:
        self._met += 1
        if real in self._seen:
            return
        self._seen.add(real)
        self.sources.append(Source(path))


def is_notebook(path: str) -> bool:
    """Whether a file is a notebook, by its name."""
    return path.endswith(".ipynb")


_PROJECT_FILE = re.compile(
    r".+\.(sh|bash|slurm|sbatch)$"
    r"|(.*[-_.])?requirements([-_.].*)?\.txt$"
    r"|(pyproject\.toml|setup\.cfg|Pipfile)$"
    r"|(conda|env)[\w.-]*\.ya?ml$"
    r"|(.+\.)?Dockerfile(\..+)?$"
    r"|(GNU)?Makefile$|.+\.mk$",
    re.IGNORECASE,
)


def is_project_file(path: str) -> bool:
    """Whether a file says how scripts are started or installed, by its name."""
    return _PROJECT_FILE.match(os.path.basename(path)) is not None


def _is_source(path: str) -> bool:
    name = os.path.basename(path)
    if name.startswith("."):
        return False
    return name.endswith((".py", ".ipynb")) or is_project_file(name)


def _leads_round(link: str) -> bool:
    try:
        os.stat(link)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def decode(data: bytes, path: str) -> str:
    """The text of ``data``, as Python itself would read it."""
    if b"\0" in data:
        remedy = "save it as UTF-8 text, or leave it out"
        raise SourceError(path, "NUL bytes: this is no Python text", remedy, _line(data, b"\0"))
    encoding = _encoding(data, path)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise _undecodable(data, path, encoding, error) from error
    except (LookupError, ValueError) as error:
        raise _wrong_cookie(path, f"cannot be read as {encoding}") from error


def encode(text: str, like: bytes, path: str) -> bytes:
    """The bytes of ``text`` in the encoding of ``like``, which is a file already."""
    return text.encode(_encoding(like, path))


def parse(data: bytes, path: str) -> ast.Module:
    """The tree of a file, without the warnings that Python has about it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if data.isascii():
            with contextlib.suppress(Exception):
                return ast.parse(data, path)
        text = decode(data, path)  # what is wrong is found at leisure
        try:
            return ast.parse(text, path)
        except SyntaxError as error:
            raise _unparsable(text, path, error) from error
        except (RecursionError, MemoryError) as error:
            raise TransientError(
                path, "nested too deeply for Python to parse", _SIMPLIFY
            ) from error
        except ValueError as error:
            raise SourceError(path, f"cannot be parsed: {error}", _CORRECT) from error


_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=]")
_CORRECT = "correct it, or run npu-migrate on the Python version that it is written for"
_SIMPLIFY = "split the expression into several statements, or leave the file out"
_TABS = "indent with tabs alone or with spaces alone (python -m tabnanny shows where)"
_PYTHON_2 = "convert it to Python 3 with 2to3 first"


def _encoding(data: bytes, path: str) -> str:
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError as error:
        message = str(error)
    if message.startswith("unknown encoding"):
        raise _wrong_cookie(path, message)
    if message.startswith("encoding problem"):
        raise _wrong_cookie(path, "the byte order mark says UTF-8, the coding line something else")
    return "utf-8"


def _wrong_cookie(path: str, message: str) -> SourceError:
    return SourceError(path, message, "correct the coding line at the top of the file", 1)


def _undecodable(data: bytes, path: str, encoding: str, error: UnicodeDecodeError) -> SourceError:
    byte = f"byte 0x{error.object[error.start]:02x}"
    line = error.object.count(b"\n", 0, error.start) + 1
    if any(_COOKIE.match(head) for head in data.split(b"\n", 2)[:2]):
        message = f"the coding line says {encoding}, but {byte} does not fit"
        remedy = "correct the coding line, or save the file in that encoding"
    else:
        message = f"not UTF-8: {byte}"
        remedy = "save it as UTF-8, or name its encoding in the first line (# -*- coding: ... -*-)"
    return SourceError(path, message, remedy, line)


def _line(data: bytes, part: bytes) -> int:
    return data.count(b"\n", 0, data.index(part)) + 1


_LEADING_ZERO = re.compile("leading zeros|invalid token")
_PYTHON_2_SYNTAX = (
    ("print statement", r"""(?:^|[:;])\s*print(?:\s+\w|\s*["'`{])"""),
    ("exec statement", r"""(?:^|[:;])\s*exec(?:\s+\w|\s*["'`])"""),
    ("except with a comma", r"^\s*except\b[^:]*,\s*\w+\s*:"),
    ("raise with a comma", r"(?:^|[:;])\s*raise\s+[\w.]+\s*,"),
    ("tuple parameter", r"^\s*def\s+\w+\s*\((?:[^()]*,)?\s*\("),
    ("tuple parameter", r"\blambda\s*(?:[^:()]*,)?\s*\("),
    ("<> operator", r"<>"),
    ("backquotes", r"`"),
    ("long integer", r"\b(?:\d+|0[xX][0-9a-fA-F]+)[lL]\b"),
    ("ur string", r"\b[uU][rR][\"']"),
)


def _unparsable(text: str, path: str, error: SyntaxError) -> SourceError:
    # Before Python 3.12 an error in an f-string counts its lines from the f-string's own start.
    line = 0 if error.filename == "<fstring>" else error.lineno or 0
    if isinstance(error, TabError):
        return SourceError(path, error.msg, _TABS, line)
    if "too many nested" in error.msg:
        return SourceError(path, error.msg, _SIMPLIFY, line)
    lines = ["", *re.split("\r\n|\r|\n", text)]
    old = _python_2(lines[line] if line < len(lines) else "", error.msg)
    if old:
        return SourceError(path, f"Python 2 syntax: {old}", _PYTHON_2, line)
    return SourceError(path, f"syntax error: {error.msg}", _CORRECT, line)


def _python_2(line: str, message: str) -> str:
    """The construct of Python 2 that makes ``line`` fail, or nothing."""
    if _LEADING_ZERO.search(message) and re.search(r"\b0\d", line):
        return "octal number"
    return next((name for name, pattern in _PYTHON_2_SYNTAX if re.search(pattern, line)), "")


# Writing


def check_writable(path: str) -> None:
    """Raise a :class:`SourceError` where an existing file can't be written."""
    try:
        with open(os.path.realpath(path), "r+b"):
            pass  # A folder's owner could replace even a file that forbids writing.
    except OSError as error:
        raise unusable(path, error, "written") from error


def cannot_be_created(path: str) -> str:
    """What a new file can't be written over or into, or nothing."""
    folder = os.path.dirname(path) or os.curdir
    if os.path.isdir(path):
        return "a folder"
    if os.path.exists(path):
        return "" if os.access(path, os.W_OK) else "a file that may not be written"
    if not os.path.isdir(folder):
        return "in a folder that does not exist"
    return "" if os.access(folder, os.W_OK) else "in a folder that may not be written"


def write(path: str, data: bytes) -> None:
    """Replace the text of an existing file at once, keeping its mode; a link stays a link."""
    check_writable(path)
    target = os.path.realpath(path)
    try:
        replace(target, data, like=target)
    except OSError as error:
        raise unusable(path, error, "written") from error


def replace(target: str, data: bytes, like: str) -> None:
    """Put ``data`` where ``target`` is or will be, with the mode of the file ``like``."""
    import tempfile  # a run that writes nothing needs none

    folder, name = os.path.split(target)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _copy_owner_and_mode(like, temporary)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _copy_owner_and_mode(like: str, path: str) -> None:
    state = os.stat(like)
    with contextlib.suppress(OSError, AttributeError):
        os.chown(path, state.st_uid, state.st_gid)
    os.chmod(path, stat.S_IMODE(state.st_mode))


# Errors


_REMEDIES = (
    (FileNotFoundError, "no such file or folder", "check the path"),
    (PermissionError, "permission denied", "change its permissions, or those of its folder"),
    (IsADirectoryError, "is a folder, not a file", "name a Python file"),
)


def unusable(path: str, error: OSError, what: str = "read") -> TransientError:
    """What an error of the operating system means for the file."""
    for kind, message, remedy in _REMEDIES:
        if isinstance(error, kind):
            return TransientError(path, f"cannot be {what}: {message}", remedy)
    reason = (error.strerror or str(error)).lower()
    return TransientError(path, f"cannot be {what}: {reason}", "check the file and its disk")


def _no_scripts(path: str) -> SourceError:
    remedy = "name the folder or the files that hold the scripts"
    return SourceError(path, "no Python files here", remedy)


def _no_file(path: str) -> SourceError:
    """Why ``path`` is neither a file nor a folder."""
    try:
        os.stat(path)
    except OSError as error:
        if os.path.islink(path):
            reason = (error.strerror or str(error)).lower()
            return SourceError(path, f"a link that leads nowhere: {reason}", "correct the link")
        return unusable(path, error)
    return SourceError(path, "neither a file nor a folder", "use - to read standard input")
