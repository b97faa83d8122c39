"""What remains to be done, by what it is, and who does it."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import DefaultDict, List, Sequence, Tuple

from npu_migrate.findings import Finding
from npu_migrate.reports import Run
from npu_migrate.reports.explain import AS_SHOWN, in_words
from npu_migrate.reports.html.states import MANUAL, UNSUPPORTED
from npu_migrate.rules import Rule, Rules

WHO = {
    UNSUPPORTED: "owner of the design",
    MANUAL: "an engineer",
}
"""What is left -> who has to do it, what takes most thought first."""


@dataclass(frozen=True)
class Task:
    """All that one rule leaves; ``what`` is what to do about each, ``known`` are in a baseline."""

    state: str
    who: str
    code: str
    name: str
    family: str
    what: str
    places: int
    files: int
    known: int


def tasks_of(run: Run, rules: Rules) -> Tuple[Task, ...]:
    """What is left for people, the most frequent first of each kind."""
    known = [f for result in run.results for f in result.known if f.status.is_left]
    found: DefaultDict[Tuple[str, str], List[Finding]] = defaultdict(list)
    for finding in (*run.left, *known):
        found[finding.status.value, finding.code].append(finding)
    counted = Counter((finding.status.value, finding.code) for finding in known)
    tasks = [
        _task(state, rules.by_code[code], findings, counted[state, code])
        for (state, code), findings in found.items()
    ]
    order = list(WHO)
    return tuple(sorted(tasks, key=lambda task: (order.index(task.state), -task.places, task.code)))


def _task(state: str, rule: Rule, findings: Sequence[Finding], known: int) -> Task:
    return Task(
        state=state,
        who=WHO[state],
        code=rule.code,
        name=rule.name,
        family=rule.family,
        what=_what([finding.remedy for finding in findings], rule),
        places=len(findings),
        files=len({finding.path for finding in findings}),
        known=known,
    )


def _what(remedies: Sequence[str], rule: Rule) -> str:
    """The one remedy, or the rule's in words that fit all places, or the most frequent one."""
    (first, count), *_ = Counter(remedies).most_common(1)
    if count == len(remedies):
        return first
    in_general = in_words(rule.remedy, rule) if rule.remedy else AS_SHOWN
    return f"each place says what, such as: {first}" if in_general == AS_SHOWN else in_general
