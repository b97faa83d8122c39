"""Stands for a recorder: runs a script that writes its recording itself, without TensorFlow."""

import sys

from npu_migrate.launch.environment import current_ranks
from npu_migrate.launch.script import FAILURE_MARK, Program, run_as_main
from npu_migrate.verify.recorder.journal import Journal
from npu_migrate.verify.recorder.settings import Settings
from npu_migrate.verify.recording import Step

journal = None
steps = 0


def step(loss=1.0, global_step=None):
    """Writes a step, as the recorder does after a run that trains."""
    global steps
    steps += 1
    journal.step(Step(steps, loss, global_step, None, None, True, 1.0, 1.0, "00"))


if __name__ == "__main__":
    sys.modules["fake_recorder"] = sys.modules["__main__"]
    settings = Settings.from_json(sys.argv[1])
    ranks = current_ranks()
    journal = Journal(settings.recording(ranks.rank))
    journal.start(ranks.rank, ranks.size)
    code = run_as_main(Program(sys.argv[2], tuple(sys.argv[3:])))
    if code:
        print(f"{FAILURE_MARK}{code}", file=sys.stderr, flush=True)
    else:
        journal.end("finished")
    sys.exit(code)
