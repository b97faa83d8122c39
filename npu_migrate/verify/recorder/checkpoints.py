"""Notes which checkpoints a training writes and reads, by which runs that share them are found out.

A file is known by its path, its number and its time: what one run wrote, another can only read.
"""

import functools
import os
from typing import Any, Callable, Iterator, Optional

from tensorflow.python.keras.engine import network
from tensorflow.python.keras.saving import hdf5_format
from tensorflow.python.training import checkpoint_management, saver
from tensorflow.python.training.tracking import util as tracking

_Note = Callable[[str, str], None]

_SAVING = (
    (saver.Saver, "save", 2),
    (tracking.TrackableSaver, "save", 1),
    (network.Network, "save_weights", 1),
    (hdf5_format, "save_model_to_hdf5", 1),
)
"""Where checkpoints are written: what has the function, its name, and where the path stands."""
_LOADING = (
    (saver.Saver, "restore", 2),
    (tracking.TrackableSaver, "restore", 1),
    (network.Network, "load_weights", 1),
    (hdf5_format, "load_model_from_hdf5", 0),
)


def watch_checkpoints(note: _Note) -> None:
    """Watches from now on.

    Args:
      note: is told `wrote` or `read`, and which file.
    """
    for owner, name, at in _SAVING:
        _watch(owner, name, functools.partial(_saved, note, at))
    for owner, name, at in _LOADING:
        _watch(owner, name, functools.partial(_loaded, note, at))
    _watch(checkpoint_management, "update_checkpoint_state_internal", _listed(note))
    _watch(checkpoint_management, "_GetCheckpointFilename", _looked_up(note))


def _watch(owner: Any, name: str, call: Callable[..., Any]) -> None:
    function = getattr(owner, name)

    @functools.wraps(function)
    def watched(*args: Any, **kwargs: Any) -> Any:
        return call(function, *args, **kwargs)

    setattr(owner, name, watched)


def _saved(note: _Note, at: int, save: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    result = save(*args, **kwargs)
    for path in (result, args[at] if len(args) > at else None):
        for file in _files(path):
            note("wrote", file)
    return result


def _loaded(note: _Note, at: int, load: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    named = kwargs.get("save_path", kwargs.get("filepath"))
    for file in _files(args[at] if len(args) > at else named):
        note("read", file)
    return load(*args, **kwargs)


def _listed(note: _Note) -> Callable[..., Any]:
    def update(function: Callable[..., Any], save_dir: Any, *args: Any, **kwargs: Any) -> Any:
        result = function(save_dir, *args, **kwargs)
        named = kwargs.get("latest_filename") or "checkpoint"
        for file in _files(os.path.join(save_dir, named)):
            note("wrote", file)
        return result

    return update


def _looked_up(note: _Note) -> Callable[..., Any]:
    def look_up(function: Callable[..., Any], *args: Any) -> Any:
        path = function(*args)
        for file in _files(path):
            note("read", file)
        return path

    return look_up


def _files(path: Optional[Any]) -> Iterator[str]:
    """What tells the file of a checkpoint from any other, for those of its names that exist."""
    if isinstance(path, (bytes, str)):
        for name in (os.fsdecode(path), f"{os.fsdecode(path)}.index"):
            if os.path.isfile(name):
                state = os.stat(name)
                yield f"{os.path.realpath(name)} {state.st_ino} {state.st_mtime_ns}"
