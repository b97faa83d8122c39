"""A working copy for each run, so that none sees or changes what another writes."""

import os
import re
import shutil
from typing import List, Sequence, Tuple

from npu_migrate.launch.script import Program

_MOST_FILES = 20000
_MOST_BYTES = 2 * 2**30
_LEFT_OUT = re.compile(
    r"\.(git|hg|svn|tox|nox|venv.*|ipynb_checkpoints|.*_cache)|venv.*|node_modules|__pycache__"
)
#: What the names of flags hold.
_OUTPUT = re.compile(
    "output|out_?dir|model_?dir|log_?dir|checkpoint|ckpt|save|export|summar|train_?dir|results"
    "|tensorboard|trace_file"
)
_INPUT = re.compile("init_|restore|pretrained|load|resume|warm_start|input")


class TooMuchToCopy(Exception):
    """A working copy would take too much."""


class Workspace:
    """The working copy of one run.

    Args:
      folder: an empty folder, to work in; nothing beside it is copied.
      current: the folder where the user stands.
      outputs: further paths that the script writes to.

    Raises:
      TooMuchToCopy: the folder where the user stands holds too much.
    """

    def __init__(self, folder: str, current: str, outputs: Sequence[str] = ()):
        self._copying = _Copying(os.path.realpath(os.path.dirname(folder)))
        self._current = os.path.realpath(current)
        self._outputs = tuple(os.path.join(self._current, path) for path in outputs)
        self._redirected = os.path.join(folder, "outputs")
        self.folder = os.path.join(folder, os.path.basename(self._current) or "root")
        self.recordings = os.path.join(folder, "recordings")
        os.makedirs(self.recordings)
        os.makedirs(self._redirected)
        self._copying.folder(self._current, self.folder)

    def program(self, program: Program) -> Program:
        """The program with a name and arguments that fit the working copy."""
        name = program.name
        if not program.is_module:
            name = self._inside(os.path.realpath(os.path.join(self._current, name)))
        return Program(name, self._arguments(program.arguments), program.is_module)

    def _inside(self, path: str) -> str:
        """A path of the user's folder, in the copy; others as they are."""
        if path.startswith(self._current + os.sep):
            return os.path.join(self.folder, os.path.relpath(path, self._current))
        return path

    def _arguments(self, arguments: Sequence[str]) -> Tuple[str, ...]:
        changed: List[str] = []
        flag = ""
        for argument in arguments:
            if argument.startswith("-"):
                flag, equals, value = argument.partition("=")
                changed.append(flag + equals + self._value(flag, value) if equals else argument)
                flag = "" if equals else flag
            else:
                changed.append(self._value(flag, argument))
                flag = ""
        return tuple(changed)

    def _value(self, flag: str, value: str) -> str:
        path = os.path.realpath(os.path.join(self._current, os.path.expanduser(value)))
        if path.startswith(self._current + os.sep):
            return self._inside(path) if os.path.isabs(value) else value
        if self._is_output(flag, value, path):
            return self._redirect(path)
        if value.startswith(os.pardir) and os.path.exists(os.path.dirname(path)):
            return path
        return value

    def _is_output(self, flag: str, value: str, path: str) -> bool:
        if path in map(os.path.realpath, self._outputs):
            return True
        if os.sep not in value or "://" in value:
            return False
        flag = flag.lower().replace("-", "_")
        if _INPUT.search(flag):
            return False
        if _OUTPUT.search(flag):
            return True
        is_there = os.path.exists(path) or any(sign in value for sign in "*?[,")
        return not is_there and os.path.isdir(os.path.dirname(path))

    def _redirect(self, path: str) -> str:
        target = os.path.join(self._redirected, path.strip(os.sep).replace(os.sep, "+"))
        if os.path.isdir(path) and not os.path.exists(target):
            self._copying.folder(path, target)
        elif os.path.isfile(path) and not os.path.exists(target):
            shutil.copy2(path, target)
        return target


class _Copying:
    """Copies folders, up to a limit for all of them.

    Args:
      leave_out: a folder that is not copied.
    """

    def __init__(self, leave_out: str):
        self._leave_out = leave_out
        self._files = 0
        self._bytes = 0

    def folder(self, source: str, target: str) -> None:
        """Copies a folder; links stay links, and what can't be read becomes one."""
        os.makedirs(target, exist_ok=True)
        for entry in os.scandir(source):
            path = os.path.join(target, entry.name)
            if _LEFT_OUT.fullmatch(entry.name) or os.path.realpath(entry.path) == self._leave_out:
                continue
            if entry.is_symlink():
                os.symlink(os.path.realpath(entry.path), path)
            elif entry.is_dir():
                if not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                    self.folder(entry.path, path)
            elif entry.is_file():
                self._file(entry, path)

    def _file(self, entry: "os.DirEntry[str]", path: str) -> None:
        if not os.access(entry.path, os.R_OK):
            os.symlink(os.path.realpath(entry.path), path)
            return
        self._files += 1
        self._bytes += entry.stat().st_size
        if self._files > _MOST_FILES or self._bytes > _MOST_BYTES:
            raise TooMuchToCopy(
                f"more than {_MOST_FILES} files or {_MOST_BYTES // 2**30} GB to copy, of which "
                f"{entry.path} is one: start npu-verify in the folder of the scripts, and let data "
                "that only is read lie beside it or behind a link"
            )
        shutil.copy2(entry.path, path)
