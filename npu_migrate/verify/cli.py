"""The `npu-verify` command."""

import argparse
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from typing import Iterator, List, Optional, Sequence, Tuple

import npu_migrate
from npu_migrate.launch.job import Interrupted
from npu_migrate.launch.script import Program
from npu_migrate.sources import is_inside
from npu_migrate.verify.experiment import Request, run_experiment
from npu_migrate.verify.judgement import judge
from npu_migrate.verify.migration import NOTHING_KNOWN, Migration, read_migration
from npu_migrate.verify.overflows import Overflows, joined, parse_overflows
from npu_migrate.verify.program_files import outermost, program_files
from npu_migrate.verify.progress import progress
from npu_migrate.verify.reports import Verification
from npu_migrate.verify.workspace import Project

_DESCRIPTION = """\
Trains an original and its migration side by side, and compares them step by step: loss, gradient
norm, update, global step, learning rate, loss scale and weights. The original runs as it is, the
migrated script on the stand-in for the NPU. Neither is changed, nor what they write.
"""

_EPILOG = """\
exit code: 0 the trainings are the same; 1 they differ, or the migrated script is wrong though its
numbers are the same; 2 no answer: a script failed, no loss was found, or wrong usage; 130 after
Ctrl-C
"""

_FAILED, _INTERRUPTED = 2, 130
_ALREADY = "{} is migrated already, as its imports say"
_WHAT_IS_MISSING = (
    "import importlib.util as u, sys; print(*(n for n in sys.argv[1:] if u.find_spec(n) is None))"
)
_MISSING = {
    "tensorflow": "the scripts are trained with TensorFlow 1.15, which {} has not. Name an "
    "interpreter that has it with --python, or on Python 3.7: pip install "
    "'npu-migrate[tensorflow]'",
    "horovod": "several processes are trained with Horovod, which {} has not. Name an interpreter "
    "that has it with --python, or: pip install 'npu-migrate[distributed]'",
}


class _Refused(Exception):
    """What was asked for can't be done."""


class _WrongUsage(_Refused):
    """It was not asked for as it must be."""


def main(argv: Optional[List[str]] = None) -> int:
    """Verifies a migration.

    Args:
      argv: arguments of the command, by default those of this process.

    Returns:
      Exit code.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    at = words.index("--") if "--" in words else len(words)
    parser = _parser()
    options, unknown = parser.parse_known_intermixed_args(words[:at])
    options.overflows = joined(options.overflows)
    try:
        _check_usage(options, unknown)
        _check_python(options)
        return _verify(options, tuple(words[at + 1 :]))
    except _Refused as error:
        return _refuse(error, parser, options)
    except (Interrupted, KeyboardInterrupt):
        print("npu-verify: interrupted; all processes were ended", file=sys.stderr)
        return _INTERRUPTED


def _refuse(error: _Refused, parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.json:
        from npu_migrate.verify.reports import json

        sys.stdout.write(json.render_refusal(str(error), _FAILED))
    if isinstance(error, _WrongUsage):
        parser.error(str(error))
    print(f"npu-verify: {error}", file=sys.stderr)
    return _FAILED


def _verify(options: argparse.Namespace, arguments: Tuple[str, ...]) -> int:
    request = Request(
        Program(options.original, arguments),
        Program(options.migrated or options.original, arguments),
        processes=options.processes,
        steps=options.steps,
        overflows=options.overflows,
        loss=options.loss,
        outputs=tuple(options.outputs),
        timeout=options.timeout,
        python=options.python,
    )
    request, migration = _migrated(request) if options.migrate else _with_migration(request)
    with progress(sys.stderr, request.steps) as tell:
        experiment = run_experiment(request, tell=tell)
    verification = Verification(
        request,
        experiment,
        migration,
        judge(experiment, migration, options.rtol, request.overflows),
    )
    return _report(verification, options)


def _migrated(request: Request) -> Tuple[Request, Migration]:
    """With the script migrated, and the project that it belongs to."""
    from npu_migrate.verify.own_migration import migrate_program

    name = request.original.name
    program = program_files(name)
    if program.is_for_npu:
        raise _Refused(f"{_ALREADY.format(name)}: name the script before its migration")
    try:
        own, migration = migrate_program(program)
    except OSError as error:
        raise _Refused(f"{name} could not be migrated: {error}") from error
    except ValueError as error:
        raise _Refused(str(error)) from error
    return replace(request, project=replace(own, texts={}), own=own), migration


def _with_migration(request: Request) -> Tuple[Request, Migration]:
    """With what was migrated; a script that can't be read is not looked at, only run."""
    names = request.original.name, request.migrated.name
    here = os.path.realpath(os.getcwd())
    programs = [program_files(name) for name in names]
    if programs[0].is_for_npu and not programs[1].is_for_npu:
        raise _Refused(
            f"{_ALREADY.format(names[0])}, and {names[1]} is not: name the original first"
        )
    around = [root for one in programs for root in one.roots if is_inside(here, root)]
    files = [os.path.realpath(path) for one in programs for path in one.files]
    request = replace(request, project=Project(outermost(around), tuple(files)))
    try:
        return request, read_migration(*names)
    except Exception as error:  # the runs are what counts
        print(f"npu-verify: the scripts are run, but not read: {error}", file=sys.stderr)
        return request, NOTHING_KNOWN


def _report(verification: Verification, options: argparse.Namespace) -> int:
    """Tells the verdict, and returns the exit code."""
    from npu_migrate.verify.reports import html, json, text

    if options.json:
        sys.stdout.write(json.render(verification))
    else:
        text.write(verification, sys.stdout)
    if options.report is not None:
        try:
            with open(options.report, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(html.render(verification))
        except OSError as error:
            message = f"{options.report} cannot be written: {error.strerror}"
            print(f"npu-verify: {message}", file=sys.stderr)
            return _FAILED
    return verification.verdict.answer.exit_code


# What is asked for


def _check_usage(options: argparse.Namespace, unknown: Sequence[str]) -> None:
    for problem in _problems(options, unknown):
        raise _WrongUsage(problem)


def _problems(options: argparse.Namespace, unknown: Sequence[str]) -> Iterator[str]:
    if unknown:
        words = " ".join(map(shlex.quote, unknown))
        yield f"unknown: {words}; arguments for the scripts go after --, as in: -- {words}"
    if options.migrate and options.migrated is not None:
        yield "--migrate makes the migrated script itself; name the original alone"
    if not options.migrate and options.migrated is None:
        yield "name the migrated script, or have it made with --migrate"
    for script in filter(None, (options.original, options.migrated)):
        if os.path.isdir(script):
            yield f"{script} is a folder; name the script in it"
        if not os.path.isfile(script):
            yield f"no such script: {script}"
        if script.endswith(".ipynb"):
            yield f"{script} is a notebook; make it a script with jupyter nbconvert --to script"
    for part in options.overflows.ranges:
        if part.rank is not None and part.rank >= options.processes:
            yield f"there is no rank {part.rank} among {options.processes} processes"
        if options.steps is not None and part.last > options.steps:
            yield f"an overflow after the last of {options.steps} steps is never reached"
    if options.report is not None and not os.path.isdir(os.path.dirname(options.report) or "."):
        yield f"no folder for {options.report}"
    if options.report is not None and os.path.isdir(options.report):
        yield f"{options.report} is a folder; name a file for the report"


def _check_python(options: argparse.Namespace) -> None:
    """Looks whether the interpreter that trains has what it takes."""
    python = options.python or sys.executable
    needed = ["tensorflow", *(["horovod"] if options.processes > 1 else [])]
    try:
        done = subprocess.run([python, "-c", _WHAT_IS_MISSING, *needed], stdout=subprocess.PIPE)
    except OSError as error:
        raise _Refused(f"{python} cannot be run: {error.strerror}") from error
    missing = done.stdout.decode().split() if done.returncode == 0 else needed
    if missing:
        raise _Refused(_MISSING[missing[0]].format(python))


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number from 1, not {text!r}")
    return int(text)


def _tolerance(text: str) -> float:
    number = _number(text)
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError(f"a share from 0 to below 1, not {text!r}")
    return number


def _seconds(text: str) -> float:
    number = _number(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"seconds above 0, not {text!r}")
    return number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a number, not {text!r}") from None


def _overflows(text: str) -> Overflows:
    try:
        return parse_overflows(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="npu-verify",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="npu-verify [OPTIONS] ORIGINAL MIGRATED [-- ARGS]\n"
        "       npu-verify [OPTIONS] --migrate ORIGINAL [-- ARGS]",
    )
    parser.add_argument(
        "original",
        metavar="ORIGINAL",
        help="the script before its migration; its path is as seen from here, or absolute",
    )
    parser.add_argument("migrated", metavar="MIGRATED", nargs="?", help="and after it")
    parser.add_argument(
        "--migrate",
        action="store_true",
        help="migrate ORIGINAL and its project first, in a copy",
    )
    parser.add_argument(
        "--steps",
        type=_positive,
        metavar="N",
        help="stop both after N training steps (default: when the scripts end)",
    )
    parser.add_argument(
        "-np",
        "--processes",
        type=_positive,
        default=1,
        metavar="N",
        help="processes that train together (default: 1)",
    )
    parser.add_argument(
        "--inject-overflow",
        dest="overflows",
        type=_overflows,
        action="append",
        default=[],
        metavar="STEPS[@RANK]",
        help="make the gradients of these steps overflow, as in 3,7-9, on all ranks or on one; may "
        "be repeated",
    )
    parser.add_argument(
        "--rtol",
        type=_tolerance,
        metavar="R",
        help="relative tolerance for weights, weight change, untrained state and loss (default: "
        "1e-5), and for the gradient norm (1e-4)",
    )
    parser.add_argument(
        "--loss", metavar="TENSOR", help="name of the loss, where it is not found or the wrong one"
    )
    parser.add_argument(
        "--output",
        dest="outputs",
        action="append",
        default=[],
        metavar="PATH",
        help="a path among ARGS that the scripts write to, besides those that look like it, as the "
        "scripts get it; may be repeated",
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=600.0,
        metavar="S",
        help="seconds without a step after which a run counts as hung (default: 600)",
    )
    parser.add_argument(
        "--python", metavar="PYTHON", help="an interpreter with TensorFlow 1.15 (default: this one)"
    )
    parser.add_argument("--report", metavar="FILE", help="write a page for people to FILE (HTML)")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    parser.add_argument("--version", action="version", version=npu_migrate.__version__)
    return parser


if __name__ == "__main__":
    sys.exit(main())
