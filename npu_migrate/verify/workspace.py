"""A working copy for each run, so that none sees or changes what another writes."""

import glob
import os
import re
import shutil
from dataclasses import dataclass, field
from typing import Dict, List, Mapping, Sequence, Tuple

from npu_migrate.launch.script import Program
from npu_migrate.sources import is_inside
from npu_migrate.verify.program_files import outermost

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
_BESIDE = re.compile(rf"{_OUTPUT.pattern}|logs?\b|runs?\b|model|\.")
"""Names beside the current folder that are not for reading, or hidden."""
_INPUT = re.compile("init_|restore|pretrained|load|resume|warm_start|input")


class TooMuchToCopy(Exception):
    """A working copy would take too much."""


@dataclass(frozen=True)
class Project:
    """What a program has outside of the folder where the user stands, and in another form.

    Attributes:
      roots: real paths of folders that hold its files.
      files: real paths of its files.
      texts: by real path, what takes the place of files.
    """

    roots: Tuple[str, ...] = ()
    files: Tuple[str, ...] = ()
    texts: Mapping[str, bytes] = field(default_factory=dict)


class Workspace:
    """The working copy of one run: folders lie to each other as they do where they come from.

    Args:
      folder: an empty folder, to work in; nothing beside it is copied.
      current: the folder where the user stands.
      outputs: further paths that the script writes to.
      project: what else is copied.

    Raises:
      TooMuchToCopy: the folder where the user stands holds too much.
    """

    def __init__(
        self,
        folder: str,
        current: str,
        outputs: Sequence[str] = (),
        project: Project = Project(),  # noqa: B008  frozen
    ):
        self._current = os.path.realpath(current)
        self._outputs = tuple(os.path.join(self._current, path) for path in outputs)
        self._redirected = os.path.join(folder, "outputs")
        self.tree = os.path.join(folder, "files")
        self.roots = outermost([self._current, *project.roots])
        self.folder = self._copy(self._current)
        self.recordings = os.path.join(folder, "recordings")
        os.makedirs(self.recordings)
        os.makedirs(self._redirected)
        leave_out = os.path.realpath(os.path.dirname(folder))
        self._copying = _Copying(self._current, leave_out, self.tree, self.roots, project)
        self._redirections: Dict[str, str] = {}
        for root in self.roots:
            self._copying.folder(root, self._copy(root))
        self._link_inputs_beside(self._current)
        for path, text in project.texts.items():
            self._put(self._copy(path), text)

    def program(self, program: Program) -> Program:
        """The program with a name and arguments that fit the working copy."""
        name = program.name
        if not program.is_module:
            name = self._inside(os.path.realpath(os.path.join(self._current, name)))
        return Program(name, self._arguments(program.arguments), program.is_module)

    def python_path(self, value: str) -> str:
        """The folders of PYTHONPATH, those of the user's that are copied in the copy."""
        entries = [
            self._inside(os.path.realpath(os.path.join(self._current, entry))) if entry else entry
            for entry in value.split(os.pathsep)
        ]
        return os.pathsep.join(entries)

    def before(self, text: str) -> str:
        """A text with the names that files have outside of the copy."""
        for target, path in self._redirections.items():
            text = text.replace(target, path)
        return text.replace(self.tree + os.sep, os.sep).replace(self._current + os.sep, "")

    def _copy(self, path: str) -> str:
        """Where the copy of a real path is."""
        return self.tree + os.path.splitdrive(path)[1]

    def _link_inputs_beside(self, folder: str) -> None:
        """Has scripts find `../data`; what they write to `../logs` stays in the copy."""
        for entry in os.scandir(os.path.dirname(folder)):
            target = self._copy(entry.path)
            if not os.path.lexists(target) and not _BESIDE.search(entry.name.lower()):
                os.symlink(os.path.realpath(entry.path), target)

    def _put(self, target: str, text: bytes) -> None:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.lexists(target):
            os.unlink(target)
        with open(target, "wb") as file:
            file.write(text)

    def _inside(self, path: str) -> str:
        """A real path of the user's folders, in the copy; others as they are."""
        return self._copy(path) if any(is_inside(path, root) for root in self.roots) else path

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
            return self._copy(path) if os.path.isabs(value) else value
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
        self._redirections[target] = path
        if os.path.isdir(path) and not os.path.exists(target):
            self._copying.whole(path, target)
        elif os.path.isfile(path) and not os.path.exists(target):
            shutil.copy2(path, target)
        else:
            for file in glob.glob(glob.escape(path) + ".*"):  # a checkpoint is named by its prefix
                shutil.copy2(file, target + file[len(path) :])
        return target


class _Copying:
    """Copies folders, up to a limit for all of them.

    What is not below the current folder is linked, except for the files of the program.

    Args:
      current: the folder where the user stands.
      leave_out: a folder that is not copied.
      tree: where the copies are.
      roots: the folders that are copied.
      project: the files of the program.
    """

    def __init__(
        self, current: str, leave_out: str, tree: str, roots: Sequence[str], project: Project
    ):
        self._wholes = [current]
        self._around = [root for root in roots if is_inside(current, root)]
        self._leave_out = leave_out
        self._tree = tree
        self._roots = roots
        self._files_of_program = {*project.files, *project.texts}
        self._files = 0
        self._bytes = 0

    def whole(self, source: str, target: str) -> None:
        """Copies a folder with all that is in it."""
        self._wholes.append(source)
        self.folder(source, target)

    def folder(self, source: str, target: str) -> None:
        """Copies a folder; links stay links, and what can't be read becomes one."""
        os.makedirs(target, exist_ok=True)
        for entry in os.scandir(source):
            path = os.path.join(target, entry.name)
            if _LEFT_OUT.fullmatch(entry.name) or os.path.realpath(entry.path) == self._leave_out:
                continue
            if entry.is_symlink():
                os.symlink(self._led_to(entry.path), path)
            elif entry.is_dir():
                if not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                    self._inner_folder(entry.path, path)
            elif entry.is_file():
                self._file(entry, path)

    def _led_to(self, link: str) -> str:
        """What the copy of a link leads to: what is copied as well, or else the same as before."""
        real = os.path.realpath(link)
        is_copied = any(is_inside(real, root) for root in self._roots)
        return self._tree + real if is_copied else real

    def _inner_folder(self, source: str, target: str) -> None:
        """Copies a folder; one that nothing of the program is in becomes a link.

        Not so beside the current folder, where scripts write to as well.
        """
        is_near = any(is_inside(source, folder) for folder in (*self._wholes, *self._around))
        if is_near or any(is_inside(file, source) for file in self._files_of_program):
            self.folder(source, target)
        else:
            os.symlink(source, target)

    def _is_copied(self, path: str) -> bool:
        is_whole = any(is_inside(path, folder) for folder in self._wholes)
        return (is_whole or path in self._files_of_program) and os.access(path, os.R_OK)

    def _file(self, entry: "os.DirEntry[str]", path: str) -> None:
        is_copied = self._is_copied(entry.path)
        self._files += 1
        self._bytes += entry.stat().st_size if is_copied else 0
        if self._files > _MOST_FILES or self._bytes > _MOST_BYTES:
            raise TooMuchToCopy(
                f"more than {_MOST_FILES} files or {_MOST_BYTES // 2**30} GB to copy, of which "
                f"{entry.path} is one: start npu-verify in the folder of the scripts, and let data "
                "that only is read lie beside it or behind a link"
            )
        if is_copied:
            shutil.copy2(entry.path, path)
        else:
            os.symlink(entry.path, path)
