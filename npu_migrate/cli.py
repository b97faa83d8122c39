"""The command line of ``npu-migrate``: options, exit codes, progress."""

import contextlib
import os
import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Optional,
    Sequence,
    TextIO,
    Tuple,
)

import click
from click.core import ParameterSource

from npu_migrate import __version__
from npu_migrate.config import KEYS, Config, ConfigError, raise_all
from npu_migrate.config import find as find_config
from npu_migrate.config import load as load_config
from npu_migrate.precision_modes import PRECISION_MODE, PRECISION_MODE_V2

if TYPE_CHECKING:
    from npu_migrate.baseline import Baseline
    from npu_migrate.ignored import Exclusion
    from npu_migrate.options import Options
    from npu_migrate.reports import Run
    from npu_migrate.reports.html import About
    from npu_migrate.reports.style import Paint
    from npu_migrate.results import FileResult
    from npu_migrate.rules import Rules
    from npu_migrate.sources import Source, SourceError

LazyRules = Callable[[], "Rules"]

DONE, LEFT, FAILED, INTERRUPTED = 0, 1, 2, 130

_MANY = 20
"""Files from which on a progress bar is worth its while."""


@dataclass(frozen=True)
class Request:
    """What was asked for on the command line."""

    paths: Tuple[str, ...]
    diff: bool
    check: bool
    output: Optional[str]
    select: Tuple[str, ...]
    ignore: Tuple[str, ...]
    extend_select: Tuple[str, ...]
    rules: Tuple[str, ...]
    exclude: Tuple[str, ...]
    extend_exclude: Tuple[str, ...]
    explain: Optional[str]
    list_rules: bool
    format: str
    output_file: Optional[str]
    report: Optional[str]
    removed: str
    optimizer: str
    estimator: str
    loss_scale: str
    precision_mode: Optional[str]
    jobs: int
    quiet: bool
    verbose: bool
    add_ignores: bool
    config: Optional[str]
    no_config: bool
    baseline: Optional[str]
    write_baseline: bool
    cache_dir: Optional[str]
    no_cache: bool
    settings: Config
    """The settings of the project, those that the command line overrides included."""
    exclusions: "Tuple[Exclusion, ...]"
    """What ``exclude`` and ``extend_exclude`` leave out of folders."""

    @property
    def shows_texts(self) -> bool:
        """Whether anybody sees the new texts; a check need not work them out, which takes long."""
        seen = self.diff or self.report is not None or self.format == "sarif"
        return seen or not (self.check or self.write_baseline)

    @property
    def is_check(self) -> bool:
        """Whether findings alone are asked for, which may be known from the last time."""
        return not self.shows_texts and self.paths != ("-",)

    @property
    def writes(self) -> bool:
        """Whether sources are written."""
        return not (self.diff or self.check or self.write_baseline)

    @property
    def rewrites(self) -> bool:
        """Whether the files themselves become others."""
        return self.writes and self.output is None and not self.is_filter

    @property
    def is_filter(self) -> bool:
        """Whether the migrated source itself goes to standard output."""
        return self.paths == ("-",) and self.writes


def _codes(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> Tuple[str, ...]:
    codes = (code.strip() for value in values for code in value.split(","))
    return tuple(code for code in codes if code)


def _loss_scale(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """``dynamic``, or the number as Python writes it."""
    if value in ("", "dynamic"):
        return value
    try:
        number = float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither dynamic nor a number") from None
    if not 1 <= number < float("inf"):
        raise click.BadParameter(f"a loss scale is a number of 1 or more, not {value}")
    return str(int(number)) if number.is_integer() and number < 2**53 else repr(number)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--diff", is_flag=True, help="Print a unified diff, write nothing.")
@click.option(
    "--check", is_flag=True, help="Write nothing; fail while anything is left to migrate."
)
@click.option(
    "-o", "--output", metavar="DIR", help="Leave PATH alone, write the migrated tree below DIR."
)
@click.option(
    "--select",
    multiple=True,
    callback=_codes,
    metavar="CODES",
    help="Only these rules (NPU101, or NPU1 for a family).",
)
@click.option(
    "--ignore", multiple=True, callback=_codes, metavar="CODES", help="All rules but these."
)
@click.option(
    "--extend-select",
    multiple=True,
    callback=_codes,
    metavar="CODES",
    help="These rules besides the others, for those that are off by default (NPU5).",
)
@click.option(
    "--rules", multiple=True, metavar="DIR", help="Rules of your own, besides those of npu-migrate."
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="PATTERN",
    help="Leave this out of folders, besides what .gitignore does; written as there.",
)
@click.option(
    "--extend-exclude",
    multiple=True,
    metavar="PATTERN",
    help="Leave this out too, besides what the settings exclude.",
)
@click.option(
    "--explain",
    metavar="CODE",
    help="Explain a rule and show its examples, or list those of a start such as NPU1.",
)
@click.option("--list-rules", is_flag=True, help="List all rules.")
@click.option(
    "--format",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="Format of the report.",
)
@click.option("--output-file", metavar="FILE", help="Write the report to FILE.")
@click.option("--report", metavar="FILE", help="Write a page for people to FILE (HTML), as well.")
@click.option(
    "--removed",
    type=click.Choice(["comment", "delete"]),
    default="comment",
    show_default=True,
    help="What becomes of statements that must go; those that only set up GPUs are deleted.",
)
@click.option(
    "--optimizer",
    type=click.Choice(["nested", "combined"]),
    default="nested",
    show_default=True,
    help="NPULossScaleOptimizer around NPUDistributedOptimizer, or NPUOptimizer for both where "
    "the script does not average gradients itself.",
)
@click.option(
    "--estimator",
    type=click.Choice(["helpers", "classes"]),
    default="helpers",
    show_default=True,
    help="npu_run_config_init around the configuration of an Estimator, or NPUEstimator and "
    "NPURunConfig where they can take their places.",
)
@click.option(
    "--loss-scale",
    default="",
    callback=_loss_scale,
    metavar="dynamic|NUMBER",
    help="Add loss scaling to programs that have none.",
)
@click.option(
    "--precision-mode",
    type=click.Choice([*PRECISION_MODE_V2, *PRECISION_MODE]),
    metavar="MODE",
    help="The precision that every session and Estimator gets (mixed_float16, "
    "allow_fp32_to_fp16, ...), whatever the script has.",
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Files to work on at a time.",
)
@click.option(
    "--add-ignores",
    is_flag=True,
    help="Migrate nothing; write comments that suppress what would be left for you.",
)
@click.option(
    "--baseline", metavar="FILE", help="Known findings, which fail no run; see --write-baseline."
)
@click.option(
    "--write-baseline",
    is_flag=True,
    help="Migrate nothing; write all that is found to the file of --baseline.",
)
@click.option(
    "--config",
    metavar="FILE",
    help="The file with the table [tool.npu-migrate]; by default the closest pyproject.toml that "
    "has it.",
)
@click.option("--no-config", is_flag=True, help="Read no settings from any file.")
@click.option(
    "--cache-dir",
    metavar="DIR",
    help="Where --check remembers what it found in files, by default with the user's caches.",
)
@click.option("--no-cache", is_flag=True, help="Remember nothing, and look at every file anew.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors and the summary only.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Print the reason and a link with each finding."
)
@click.version_option(__version__, prog_name="npu-migrate", message="%(prog)s %(version)s")
def command(**options: object) -> int:
    """Migrate TensorFlow 1.15 training scripts from GPUs to Ascend NPUs.

    PATH is a Python file, a notebook, a folder, or - for standard input. Files are
    rewritten in place unless an option says otherwise.

    \b
    Exit status:
      0  nothing is left to do
      1  findings are left for a person (with --check: there is anything to migrate)
      2  wrong usage, or a file that could not be read, parsed or written
    """
    request = _request(click.get_current_context(), options)
    if request.explain is not None:
        return _explain(request.explain, _rules(request))
    if request.list_rules:
        return _list_rules(request, _rules(request))
    _check_usage(request)
    return _migrate(request)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run the command line and return its exit status; whatever happens, no traceback."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        return int(command.main(arguments, "npu-migrate", standalone_mode=False))
    except click.ClickException as error:
        error.show()
        return FAILED
    except click.Abort:
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except SystemExit:  # click's way to end when nobody reads the output any more
        return FAILED
    except _Defect as error:
        click.echo(str(error), err=True)
        return FAILED
    except BaseException as error:
        click.echo(str(_Defect("npu-migrate", error)), err=True)
        return FAILED


class _Defect(Exception):
    """A fault of our own, and the file that brought it out."""

    def __init__(self, path: str, cause: BaseException) -> None:
        import traceback

        reason = " ".join(f"{type(cause).__name__}: {cause}".split())
        frames = traceback.extract_tb(cause.__traceback__)
        where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
        super().__init__(f"{path}: internal error: {reason}{where}; please report it")


# What the options ask for


def _request(context: click.Context, options: Dict[str, Any]) -> Request:
    """What was asked for: of each option the command line has the last word, then the settings."""
    if options["config"] and options["no_config"]:
        raise click.UsageError("--config names a file, --no-config none: use one of them")
    settings = Config()
    try:
        if options["config"]:
            settings = load_config(options["config"])
        elif not options["no_config"]:
            settings = find_config(options["paths"])
        faults: List[ConfigError] = []
        for parameter in context.command.params:
            name = parameter.name or ""
            key = name.replace("_", "-")
            if key in settings.values and not _is_given(context, name):
                try:
                    options[name] = _setting(context, parameter, settings, key)
                except ConfigError as fault:
                    faults.append(fault)
        raise_all(faults)
    except ConfigError as error:
        raise click.ClickException(str(error)) from error
    return Request(**options, settings=settings, exclusions=_exclusions(context, options, settings))


def _exclusions(
    context: click.Context, options: Dict[str, Any], settings: Config
) -> "Tuple[Exclusion, ...]":
    """What is left out of folders; patterns start from where they stand."""
    from npu_migrate.ignored import Exclusion

    home = os.curdir if _is_given(context, "exclude") else settings.folder
    settled = settings.values.get("extend-exclude", ())
    added = options["extend_exclude"] if _is_given(context, "extend_exclude") else ()
    return (
        Exclusion(tuple(options["exclude"]), home),
        Exclusion(tuple(settled), settings.folder),
        Exclusion(tuple(added)),
    )


def _is_given(context: click.Context, name: str) -> bool:
    """Whether an option stands on the command line."""
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _setting(
    context: click.Context, parameter: click.Parameter, settings: Config, key: str
) -> object:
    try:
        return parameter.process_value(context, settings.values[key])
    except click.BadParameter as error:
        settings.fail(key, error.message)


def _rules(request: Request) -> "Rules":
    from npu_migrate.rules import RuleError, UnknownCode

    try:
        rules = _loaded(request)
        _check_codes(request.settings, rules)
        rules.select(request.select, request.ignore, request.extend_select)
    except (RuleError, ConfigError) as error:
        raise click.ClickException(str(error)) from error
    except UnknownCode as error:
        raise click.UsageError(str(error)) from error
    return rules


def _loaded(request: Request) -> "Rules":
    from npu_migrate.rules import RuleError, load

    try:
        return load(request.rules)
    except RuleError as error:
        if error.path in request.settings.values.get("rules", ()):
            request.settings.fail("rules", str(error))
        raise


def _check_codes(settings: Config, rules: "Rules") -> None:
    """The codes in the settings, whose faults are named with their file."""
    from npu_migrate.rules import UnknownCode

    given = {
        key: [code.strip() for text in settings.values.get(key, ()) for code in text.split(",")]
        for key in ("select", "extend-select", "ignore")
    }
    given.update({f"per-file-ignores.{n}": list(codes) for n, codes in settings.in_files.items()})
    faults: List[ConfigError] = []
    for key, codes in given.items():
        for code in codes:
            try:
                rules.starts([code])
            except UnknownCode as error:
                faults.append(ConfigError(settings.path, key, str(error)))
    raise_all(faults)


def _explain(code: str, rules: "Rules") -> int:
    from npu_migrate.reports.explain import explain, explain_family
    from npu_migrate.rules import UnknownCode

    if code.upper() not in rules.by_code and any(c.startswith(code.upper()) for c in rules.by_code):
        click.echo(explain_family(rules, code.upper(), _paint(sys.stdout)), nl=False)
        return DONE
    try:
        rule = rules.find(code)
    except UnknownCode as error:
        raise click.UsageError(str(error)) from error
    click.echo(explain(rule, _paint(sys.stdout)), nl=False)
    return DONE


def _list_rules(request: Request, rules: "Rules") -> int:
    from npu_migrate.reports.explain import catalogue, catalogue_json

    if request.format == "json":
        click.echo(catalogue_json(rules))
    else:
        click.echo(catalogue(rules, _paint(sys.stdout)), nl=False)
    return DONE


def _check_usage(request: Request) -> None:
    if not request.paths:
        raise click.UsageError("name the files or folders to migrate, or - for standard input")
    if "-" in request.paths and len(request.paths) > 1:
        raise click.UsageError("- for standard input stands alone")
    if request.add_ignores and (request.check or request.output is not None):
        raise click.UsageError(
            "--add-ignores writes comments into the files and nothing else; --diff only shows them"
        )
    if request.write_baseline:
        if not request.baseline:
            raise click.UsageError("--write-baseline needs the name of the file: --baseline FILE")
        if request.check:
            raise click.UsageError("--check writes nothing, --write-baseline does: use one of them")
        if request.add_ignores or request.diff or request.output is not None:
            raise click.UsageError("--write-baseline writes a baseline alone")
    if request.output is None:
        return
    if request.diff or request.check:
        raise click.UsageError("--output writes, --diff and --check do not: use one of them")
    if request.paths == ("-",):
        raise click.UsageError("what comes from standard input goes to standard output")

    from npu_migrate.output import overlap

    mixed = overlap(request.paths, request.output)
    if mixed:
        raise click.UsageError(f"--output: {mixed}")


def _check_reports(request: Request, sources: "Sequence[Source]") -> None:
    """Whether the reports can be written, before any source is, and are none themselves."""
    from npu_migrate.sources import cannot_be_created, is_inside

    wanted = {"--report": request.report, "--output-file": request.output_file}
    if request.write_baseline:
        wanted["--baseline"] = request.baseline
    if not any(wanted.values()):
        return
    taken = {os.path.realpath(s.path): "a file to migrate" for s in sources if s.given is None}
    for option, path in wanted.items():
        if path is None:
            continue
        real = os.path.realpath(path)
        comes_later = request.output is not None and is_inside(
            real, os.path.realpath(request.output)
        )
        problem = taken.get(real) or ("" if comes_later else cannot_be_created(path))
        if problem:
            raise click.UsageError(f"{option}: {path} is {problem}; name another file")
        taken[real] = f"the file of {option} already"


def _migrate(request: Request) -> int:
    from npu_migrate.reports import Run

    rules = _once(partial(_rules, request))
    baseline = _baseline(request)
    sources, problems = _sources(request)
    _check_reports(request, sources)
    results = tuple(_results(request, sources, rules))
    if request.output is not None:
        from npu_migrate.output import write_tree

        problems += write_tree(request.paths, request.output, results)
    elif request.is_filter:
        _write_stdout(results)
    elif request.writes:
        results = _written(results)
    if baseline is not None:
        results = _without_known(request, results, baseline, rules)
    run = Run(results, tuple(problems), request.writes)
    _report(request, run, rules)
    return _status(run, request.check)


def _once(make: "Callable[[], Rules]") -> "LazyRules":
    """What ``make`` gives, made when it is first asked for: reading the rules takes long."""
    made: List[Rules] = []

    def get() -> "Rules":
        if not made:
            made.append(make())
        return made[0]

    return get


def _baseline(request: Request) -> "Optional[Baseline]":
    if not request.baseline:
        return None
    from npu_migrate.baseline import BaselineError, load, load_to_update

    try:
        return (load_to_update if request.write_baseline else load)(request.baseline)
    except BaselineError as error:
        raise click.ClickException(str(error)) from error


def _without_known(
    request: Request, results: "Tuple[FileResult, ...]", baseline: "Baseline", rules: LazyRules
) -> "Tuple[FileResult, ...]":
    if request.write_baseline:
        chosen = rules().select(request.select, request.ignore, request.extend_select)
        baseline = baseline.updated(results, frozenset(chosen.by_code))
        _write_baseline(baseline)
    parted = baseline.without_known(results, request.writes)
    if request.rewrites:
        after = baseline.rewritten(parted)
        if after.files != baseline.files:
            _write_baseline(after)
    return parted


def _write_baseline(baseline: "Baseline") -> None:
    from npu_migrate.baseline import BaselineError

    try:
        baseline.write()
    except BaselineError as error:
        raise click.ClickException(str(error)) from error


def _sources(request: Request) -> "Tuple[List[Source], List[SourceError]]":
    from npu_migrate.sources import find, stdin

    if request.paths == ("-",):
        return [stdin(sys.stdin.buffer.read())], []
    return find(request.paths, request.exclusions)


def _results(request: Request, sources: "Sequence[Source]", rules: LazyRules) -> "List[FileResult]":
    """All results, before any is written: what a file says of another must not have changed."""
    from npu_migrate.options import Options

    near = [] if sources and sources[0].given is not None else _beside(request)
    options = Options(
        select=request.select,
        ignore=request.ignore,
        removed=request.removed,
        optimizer=request.optimizer,
        estimator=request.estimator,
        precision_mode=request.precision_mode or "",
        jobs=request.jobs,
        loss_scale=request.loss_scale,
        extend_select=request.extend_select,
        with_texts=request.shows_texts,
        add_ignores=request.add_ignores,
        for_page=request.report is not None,
        ignored_in=request.settings.ignored_in([source.path for source in (*sources, *near)]),
    )
    folder = _cache_folder(request)
    if not folder:
        return _worked_out(request, sources, near, rules(), options)
    from npu_migrate.cache.checks import Check

    check = Check(folder, sources, near, options, request.rules)
    results = check.recall()
    if results is None:
        results = _worked_out(request, check.sources, check.beside, rules(), options)
        check.remember(results)
    return results


def _cache_folder(request: Request) -> str:
    """Where the results of this run may be known from; nothing for a run without a cache."""
    if request.no_cache or not request.is_check:
        return ""
    if request.cache_dir:
        return request.cache_dir
    from npu_migrate.cache.folder import default_folder

    return default_folder()


def _worked_out(
    request: Request,
    sources: "Sequence[Source]",
    near: "Sequence[Source]",
    rules: "Rules",
    options: "Options",
) -> "List[FileResult]":
    from npu_migrate.engine import migrate

    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        advance()

    try:
        with _progress(len(sources), request.quiet) as advance:
            return migrate(sources, rules, options, count, near)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of libcst's parser is no Exception
        raise _Defect(sources[min(done, len(sources) - 1)].path, error) from error


def _beside(request: Request) -> "List[Source]":
    """The scripts that run together with files that are given by themselves."""
    from npu_migrate.neighbours import beside

    return beside(request.paths, request.exclusions)


def _written(results: "Sequence[FileResult]") -> "Tuple[FileResult, ...]":
    """The results, once their texts are in place; what can't be written was not migrated."""
    from npu_migrate.results import all_or_none
    from npu_migrate.sources import check_writable, write

    writable = all_or_none([_tried(result, check_writable, result.path) for result in results])
    return tuple(_tried(result, write, result.path, result.after) for result in writable)


def _tried(result: "FileResult", action: Callable[..., None], *arguments: object) -> "FileResult":
    from npu_migrate.sources import SourceError

    if result.is_changed:
        try:
            action(*arguments)
        except SourceError as error:
            return replace(result, after=result.before, findings=(), error=error, is_held_back=True)
    return result


def _write_stdout(results: "Sequence[FileResult]") -> None:
    stream = sys.stdout.buffer
    for result in results:
        stream.write(result.after)
    stream.flush()


def _status(run: "Run", check: bool) -> int:
    if run.errors:
        return FAILED
    return LEFT if run.left or (check and run.migrated) else DONE


# What people see


def _report(request: Request, run: "Run", rules: LazyRules) -> None:
    """The product (a source, a diff, a report for a machine) has standard output to itself."""
    from npu_migrate.reports import text

    to_file, for_people = request.output_file is not None, request.format == "text"
    if request.diff:
        from npu_migrate.reports import diff

        stream = sys.stdout if to_file or for_people else sys.stderr
        shown = diff.render(run, _paint(stream))
        click.echo(shown, stream, nl=False, color=True)  # What patch takes must be whole.
    for error in run.errors:
        click.echo(text.render_error(error, _paint(sys.stderr)), err=True)
    if request.report is not None:
        from npu_migrate.reports import html

        _write_report(request.report, html.render(run, rules(), _about(request)))
    aside = request.is_filter or (request.diff and for_people)
    stream = sys.stderr if aside else sys.stdout
    if request.output_file is not None:
        _write_report(request.output_file, _rendered(request, run, rules))
    else:
        click.echo(_rendered(request, run, rules, stream), stream, nl=False)


def _about(request: Request) -> "About":
    """The run itself, as the page speaks of it."""
    import time

    from npu_migrate.reports.html import About

    tops = [os.path.abspath(path) for path in request.paths]
    names = dict.fromkeys(os.path.basename(top) or top for top in tops)
    title = "standard input" if request.paths == ("-",) else ", ".join(names)
    when = time.strftime("%d %B %Y, %H:%M %Z").lstrip("0")
    return About(title, when, request.paths, tuple(_settings(request)))


def _settings(request: Request) -> Iterator[str]:
    """What differs from the defaults, as the command line would have it."""
    if request.settings.path:
        yield f"--config {request.settings.path}"
    for parameter in command.params:
        name = parameter.name or ""
        value = getattr(request, name, None)
        is_setting = name.replace("_", "-") in KEYS and name not in ("jobs", "cache_dir")
        if is_setting and value and value != parameter.get_default(_BARE):
            text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            yield f"{parameter.opts[-1]} {text}"


_BARE = click.Context(command)


def _rendered(
    request: Request, run: "Run", rules: LazyRules, stream: Optional[TextIO] = None
) -> str:
    if request.format == "json":
        from npu_migrate.reports import json

        return json.render(run)
    if request.format == "github":
        from npu_migrate.reports import github

        return github.render(run)
    if request.format == "sarif":
        from npu_migrate.reports import sarif

        return sarif.render(run, rules())
    from npu_migrate.reports import style, text

    reasons = rules() if request.verbose else None
    paint = style.plain if stream is None else _paint(stream)
    return text.render(run, request.quiet, reasons, paint)


def _write_report(path: str, report: str) -> None:
    from npu_migrate.sources import unusable

    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(report)
    except OSError as error:
        raise click.ClickException(str(unusable(path, error, "written"))) from error


def _paint(stream: TextIO) -> "Paint":
    from npu_migrate.reports.style import coloured, plain

    return coloured if _is_terminal(stream) and "NO_COLOR" not in os.environ else plain


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


@contextlib.contextmanager
def _progress(total: int, quiet: bool) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, for as long as the work lasts."""
    if quiet or total < _MANY or not _is_terminal(sys.stderr):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Migrating", total=total)
        yield lambda: progress.advance(task)
