"""The run for people: what was done, what is left for them and how to do it, and a summary."""

from typing import TYPE_CHECKING, Iterator, Optional, Sequence, Tuple

from npu_migrate.findings import Finding, Status
from npu_migrate.reports import TO_MIGRATE, Run
from npu_migrate.reports.style import Paint, plain
from npu_migrate.reports.visible import visible_line
from npu_migrate.sources import SourceError

if TYPE_CHECKING:
    from npu_migrate.rules import Rules

_STYLES = {
    Status.MIGRATED: "green",
    Status.MANUAL: "yellow",
    Status.UNSUPPORTED: "red",
    Status.NOTE: "cyan",
}


def render(
    run: Run, quiet: bool = False, rules: "Optional[Rules]" = None, paint: Paint = plain
) -> str:
    """One line a finding; where ``rules`` are given also why, and where the vendor says so."""
    return "".join(f"{line}\n" for line in _lines(run, quiet, rules, paint))


def render_error(error: SourceError, paint: Paint = plain) -> str:
    place, kind = paint(visible_line(error.place), "bold"), paint("error", "bold red")
    return f"{place}: {kind}: {_one_line(error.message)}; {_one_line(error.remedy)}"


def _lines(run: Run, quiet: bool, rules: "Optional[Rules]", paint: Paint) -> Iterator[str]:
    if run.findings and not quiet:
        for number, (title, findings) in enumerate(_parts(run)):
            if number:
                yield ""
            if title:
                yield paint(title, "bold")
            for finding in findings:
                yield from _finding(finding, rules, paint)
        yield ""
    if run.skipped and not quiet:
        yield from (f"{visible_line(path)}: skipped: {reason}" for path, reason in run.skipped)
        yield ""
    yield _summary(run)


def _parts(run: Run) -> Sequence[Tuple[str, Tuple[Finding, ...]]]:
    """The findings by who has something to do, each with a title where it needs one."""
    parts = (
        ("" if run.written else f"{TO_MIGRATE.capitalize()}:", run.migrated),
        ("Left for you:", run.left),
        ("Nothing to do:", run.notes),
    )
    return [(title, findings) for title, findings in parts if findings]


def _finding(finding: Finding, rules: "Optional[Rules]", paint: Paint) -> Iterator[str]:
    code = paint(finding.code, _STYLES[finding.status])
    place = paint(visible_line(finding.place), "bold")
    assumed = " (assumed)" if finding.assumed else ""
    yield f"{place} {code} {_one_line(finding.message)}{assumed}"
    if finding.remedy:
        yield f"    {_one_line(finding.remedy)}"
    rule = rules.by_code.get(finding.code) if rules else None
    if rule:
        yield f"    why: {_one_line(rule.reason)}"
        if rule.documentation:
            yield f"    see: {rule.documentation}"


def _summary(run: Run) -> str:
    summary = run.summary
    verb = "changed" if run.written else "would change"
    parts = [f"{summary['changed']} of {_count(summary['files'], 'file')} {verb}"]
    if run.findings:
        ahead = TO_MIGRATE if run.migrated else "to migrate"
        parts.append(f"{summary['migrated']} {'migrated' if run.written else ahead}")
    if run.left:
        kinds = ", ".join(
            f"{summary[kind]} {kind}" for kind in ("manual", "unsupported") if summary[kind]
        )
        parts.append(f"{len(run.left)} left for you ({kinds})")
    if run.notes:
        parts.append(_count(summary["note"], "note"))
    parts += [f"{summary[kind]} {kind}" for kind in ("suppressed", "known") if summary[kind]]
    if run.errors:
        parts.append(_count(summary["errors"], "error"))
    return ", ".join(parts)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _one_line(text: str) -> str:
    return visible_line(" ".join(text.split()))
