"""Runs one rank of one script with a recorder in it.

`python -m npu_migrate.verify.recorder.process SETTINGS [-m] PROGRAM [ARGS]`
"""

import os
import sys
import traceback
from typing import Any, List

from npu_migrate.launch.environment import current_ranks
from npu_migrate.launch.script import FAILURE_MARK, Program, run_as_main, run_program
from npu_migrate.verify.recorder.journal import Journal
from npu_migrate.verify.recorder.settings import Settings


def main(argv: List[str]) -> int:
    """Runs the program that the arguments name, and returns its exit code."""
    settings = Settings.from_json(argv[0])
    is_module = argv[1] == "-m"
    name, *arguments = argv[2:] if is_module else argv[1:]
    program = Program(name, tuple(arguments), is_module)
    ranks = current_ranks()
    journal = Journal(settings.recording(ranks.rank))
    journal.start(ranks.rank, ranks.size)
    _note_exit(journal)
    here = sys.path.pop(0)  # files of the user's may be called as modules that TensorFlow imports
    try:
        _install(settings, ranks.rank, journal)
    except Exception:
        journal.fact("recorder_error", traceback.format_exc())
        raise
    sys.path.insert(0, here)
    code = run_as_main(program) if settings.is_original else run_program(program)
    if code:
        sys.stdout.flush()
        print(f"{FAILURE_MARK}{code}", file=sys.stderr, flush=True)
    else:
        journal.end("finished")
    return code


def _note_exit(journal: Journal) -> None:
    """A script may end its process in the hard way."""
    exit_hard = os._exit

    def note_and_exit(status: int) -> Any:
        if status == 0:
            journal.end("finished")
        exit_hard(status)

    os._exit = note_and_exit


def _install(settings: Settings, rank: int, journal: Journal) -> None:
    from npu_migrate.verify.recorder.adjustments import adjust
    from npu_migrate.verify.recorder.checkpoints import watch_checkpoints
    from npu_migrate.verify.recorder.determinism import make_deterministic
    from npu_migrate.verify.recorder.gradients import watch_gradients
    from npu_migrate.verify.recorder.imports import import_from_copy
    from npu_migrate.verify.recorder.notes import Notes
    from npu_migrate.verify.recorder.observer import Observer
    from npu_migrate.verify.recorder.optimizers import OptimizerWatch
    from npu_migrate.verify.recorder.order import Order
    from npu_migrate.verify.recorder.sessions import watch_sessions

    notes = Notes()
    observer = Observer(settings, rank, notes, journal)
    optimizers = OptimizerWatch(notes)
    make_deterministic(rank)
    optimizers.install()
    injected = observer.injected if settings.overflows else None
    adjust(settings.adjustments)
    watch_gradients(notes, optimizers.asked_loss, injected)
    watch_sessions(observer, Order(notes, journal).settle)
    watch_checkpoints(journal.checkpoint)
    import_from_copy(settings.tree, settings.roots)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
