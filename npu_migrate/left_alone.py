"""The results of files in which there is nothing to migrate."""

from npu_migrate.first_look import FirstLook
from npu_migrate.options import Options
from npu_migrate.results import FileResult, placed
from npu_migrate.rules import Rules
from npu_migrate.scripts import read_script
from npu_migrate.sources import Source
from npu_migrate.suppressions import of_script


def left_alone(
    source: Source, look: FirstLook, known: Rules, chosen: Rules, options: Options
) -> FileResult:
    """A file as it was; comments in it that suppress findings may be wrong or of no use."""
    path = source.path
    if look.error is not None:
        return FileResult(path, b"", b"", error=look.error)
    data = source.read()
    result = FileResult(path, data, data, skipped=look.skipped)
    if look.scan is None or not look.scan.suppresses:
        return result
    script = read_script(source)
    comments = of_script(path, script.python, options.ignored_in.get(path, ()))
    findings = comments.judged(path, (), chosen, known)
    return FileResult(path, data, data, placed(script, findings))
