"""The `npu-verify` command."""

import argparse
import sys
from typing import List, Optional

from npu_migrate.launch.job import Interrupted
from npu_migrate.launch.script import Program
from npu_migrate.verify.experiment import Experiment, Request, run_experiment
from npu_migrate.verify.overflows import Overflows, parse_overflows


def main(argv: Optional[List[str]] = None) -> int:
    """Runs original and migrated script, and prints what they did.

    Args:
      argv: arguments of the command, by default those of this process.

    Returns:
      Exit code.
    """
    words = sys.argv[1:] if argv is None else argv
    at = words.index("--") if "--" in words else len(words)
    options, arguments = _parser().parse_args(words[:at]), tuple(words[at + 1 :])
    request = Request(
        Program(options.original, arguments),
        Program(options.migrated, arguments),
        processes=options.processes,
        steps=options.steps,
        overflows=options.overflows,
        loss=options.loss,
        outputs=tuple(options.outputs),
        timeout=options.timeout,
        python=options.python,
    )
    try:
        return _print(run_experiment(request))
    except Interrupted:
        print("npu-verify: interrupted; all processes were ended", file=sys.stderr)
        return 130


def _print(experiment: Experiment) -> int:
    outcomes = (experiment.original, experiment.repeated, experiment.migrated)
    for outcome in outcomes:
        if outcome.failure is not None:
            print(f"npu-verify: {outcome.failure.message}", file=sys.stderr)
            rank = max(outcome.failure.rank or 0, 0)
            for line in outcome.tails[rank]:
                print(f"    {line}", file=sys.stderr)
    if any(outcome.failure is not None for outcome in outcomes):
        return 2
    for recordings in zip(*(outcome.recordings for outcome in outcomes)):
        print(f"rank {recordings[0].rank}, loss {recordings[0].loss_name}")
        for recording in recordings:
            for fact in recording.facts:
                print(f"  {fact.name}: {fact.detail}")
        for steps in zip(*(recording.steps for recording in recordings)):
            for name, step in zip(("o", "r", "m"), steps):
                print(
                    f"{step.number:4} {name} {step.loss!s:22} {step.global_step!s:>4} "
                    f"{step.loss_scale!s:>9} {step.learning_rate!s:22} {step.applied!s:5} "
                    f"{step.gradient_norm!s:22} {step.weights_norm:.17g} "
                    f"{step.weights_checksum[:8]}"
                )
        print([len(recording.steps) for recording in recordings])
    return 0


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="npu-verify")
    parser.add_argument("original", metavar="ORIGINAL")
    parser.add_argument("migrated", metavar="MIGRATED")
    parser.add_argument("-np", "--processes", type=_positive, default=1, metavar="N")
    parser.add_argument("--steps", type=_positive, metavar="N")
    parser.add_argument(
        "--inject-overflow", dest="overflows", type=parse_overflows, default=Overflows()
    )
    parser.add_argument("--loss", metavar="TENSOR")
    parser.add_argument("--output", dest="outputs", action="append", default=[], metavar="PATH")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS")
    parser.add_argument("--python", metavar="PYTHON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
