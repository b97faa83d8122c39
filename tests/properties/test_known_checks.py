"""A check that may know results says what one says that knows none, whatever changed between."""

import os
import shutil
from pathlib import Path
from typing import Any, Dict, List, Tuple

from folders import current_folder
from hypothesis import given, settings
from hypothesis import strategies as st
from writer import projects

from npu_migrate import cli

SUPPRESSION = b"# npu-migrate: ignore-file[NPU4]\n"
RULE = """
family: mine
rules:
- code: ACME101
  name: read-counter
  match: [tensorflow.%s]
  status: manual
  message: "{symbol} is read"
  reason: it counts on the GPU
  remedy: count yourself
"""
OPTIONS = (
    (),
    ("-j2",),
    ("--select=NPU1,NPU4",),
    ("--ignore=NPU3",),
    ("--loss-scale=dynamic",),
    ("--precision-mode=mixed_float16",),
    ("--optimizer=combined",),
    ("--extend-select=NPU5", "--estimator=classes"),
    ("--rules=mine",),
)

State = Dict[str, bytes]
Edit = Tuple[str, str, bytes]


@st.composite
def histories(draw: Any) -> Tuple[State, List[Tuple[Edit, Tuple[str, ...]]]]:
    """A project, and how it changes from check to check, with the options of each check."""
    versions: Dict[str, List[bytes]] = {
        "setup.sh": [b"horovodrun -np 2 python train.py\n", b"python train.py\n"],
        "mine/rules.yaml": [(RULE % name).encode() for name in ("Session", "constant")],
        "__init__.py": [b"", b"import tensorflow as tf\n\nwith tf.Session() as session:\n  pass\n"],
    }
    for project in (draw(projects()), draw(projects())):
        for path, script in project.items():
            versions.setdefault(path, []).append(script.data)
    start = {path: texts[0] for path, texts in versions.items()}
    kinds = st.sampled_from(("write", "shift", "drop", "suppress", "back"))
    edits = st.sampled_from(sorted(versions)).flatmap(
        lambda path: st.tuples(kinds, st.just(path), st.sampled_from(versions[path]))
    )
    return start, draw(st.lists(st.tuples(edits, st.sampled_from(OPTIONS)), min_size=4, max_size=8))


def edited(states: List[State], edit: Edit) -> State:
    """The project after one more change of it."""
    kind, path, text = edit
    state = dict(states[-1])
    if kind == "back":
        return states[len(text) % len(states)]
    if kind == "drop":
        state.pop(path, None)
    elif kind == "shift":
        state[path] = b"\n" + state.get(path, text)
    else:
        state[path] = (SUPPRESSION if kind == "suppress" else b"") + text
    return state


@settings(max_examples=16)
@given(histories())
def test_what_is_known_is_what_is_found(history: Any) -> None:
    start, steps = history
    states = [start]
    with current_folder():
        for edit, options in [(None, ()), *steps]:
            if edit is not None:
                states.append(edited(states, edit))
            _put(states[-1])
            assert _check("--cache-dir=../kept", *options) == _check("--no-cache", *options)


def _put(state: State) -> None:
    shutil.rmtree("project", ignore_errors=True)
    for path, text in state.items():
        place = Path("project", path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text)


def _check(*options: str) -> Tuple[int, bytes]:
    """The exit status and the report."""
    os.chdir("project")
    try:
        report = Path("../report.json")
        status = cli.main(["--check", "--format=json", f"--output-file={report}", *options, "."])
        text = report.read_bytes() if report.exists() else b""
        if text:
            report.unlink()
        return status, text
    finally:
        os.chdir("..")
