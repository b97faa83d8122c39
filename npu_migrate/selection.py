"""What ``--select``, ``--ignore`` and suppressions leave of a plan.

The changes of some families make one whole: with a loss-scaled optimizer that is not nested in the
distributed one, or a step that is moved at one end only, a script would train otherwise than
before. Their rules are therefore always judged, and their changes are done all or none.
"""

import re
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import FrozenSet, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from npu_migrate.plan import AddImport, Edit, Finding, Plan
from npu_migrate.rules import Rules
from npu_migrate.suppressions import Suppressions

TOGETHER = ("NPU1", "NPU2", "NPU3")
"""How the codes start whose changes belong together."""


@dataclass(frozen=True)
class Selection:
    """The codes that were chosen, and those whose changes belong to theirs but were not."""

    codes: FrozenSet[str]
    missing: Tuple[str, ...] = ()
    held: Mapping[str, Finding] = field(default_factory=dict)
    """Program -> a finding of it that is suppressed, although its changes belong to the others."""

    def completed(self, changing: Iterable[str]) -> "Selection":
        """The selection in a run in which the rules of the codes ``changing`` change something."""
        missing = {code for code in changing if is_coupled(code) and code not in self.codes}
        return replace(self, missing=tuple(sorted(missing)))

    def cut(self, plan: Plan, suppressions: Suppressions, program: str) -> Plan:
        """The chosen findings of a plan, and the edits that can be done without the others."""
        chosen = [finding for finding in plan.findings if finding.code in self.codes]
        shown = [finding for finding in chosen if not suppressions.holds(finding)]
        hidden = [finding for finding in plan.findings if suppressions.holds(finding)]
        kept = Plan(shown, suppressed=plan.suppressed + hidden)
        if not self.missing and program not in self.held:
            kept.edits, kept.owners = _without_unread(plan), plan.owners
            return kept
        kept.findings = [self._left(finding, program) for finding in shown]
        kept.edits = [
            edit
            for number, edit in enumerate(plan.edits)
            if number in plan.owners and not is_coupled(plan.owners[number].code)
        ]
        kept.edits += _imports_for(kept.edits, plan)
        return kept

    def _left(self, finding: Finding, program: str) -> Finding:
        if not is_coupled(finding.code):
            return finding
        if program in self.held:
            other = self.held[program]
            return finding.left(
                f"only together with {other.code} at {other.place}, which is suppressed",
                "no longer suppress that, or make both changes by hand",
            )
        families = {code[: len(TOGETHER[0])] for code in (finding.code, *self.missing)}
        return finding.left(
            "only together with what is not selected", f"select {','.join(sorted(families))}"
        )


def judged(rules: Rules, chosen: Rules) -> Rules:
    """The rules by which a plan is made: the chosen ones and all whose changes belong together."""
    coupled = [rule for code, rule in rules.select().by_code.items() if is_coupled(code)]
    both = {rule.code: rule for rule in (*coupled, *chosen.by_code.values())}
    return Rules.of(both.values(), rules.canonical, rules.exact)


def holding(plan: Plan, suppressions: Suppressions) -> Optional[Finding]:
    """The first finding of a plan that is suppressed with changes that belong to a whole."""
    changing = [f for f in plan.owners.values() if is_coupled(f.code) and suppressions.holds(f)]
    return min(changing, key=lambda finding: (finding.line, finding.column), default=None)


def is_coupled(code: str) -> bool:
    """Whether a code is of those whose changes belong together."""
    return code.startswith(TOGETHER)


def _without_unread(plan: Plan) -> List[Edit]:
    """The edits of a plan without the imports for new code that no judged rule put in."""
    others = [edit for edit in plan.edits if not isinstance(edit, AddImport)]
    read = _imports_for(others, plan)
    return [
        edit
        for number, edit in enumerate(plan.edits)
        if not isinstance(edit, AddImport)
        or number in plan.owners
        or edit.module == "tensorflow"  # the script itself reads it
        or edit in read
    ]


def _imports_for(edits: Sequence[Edit], plan: Plan) -> List[AddImport]:
    """The imports of a plan that the code of ``edits`` reads."""
    words = {word for text in _texts(edits) for word in re.findall(r"\w+", text)}
    imports = [edit for edit in plan.edits if isinstance(edit, AddImport)]
    return [edit for edit in imports if _bound(edit) in words]


def _bound(edit: AddImport) -> str:
    return edit.asname or edit.name or edit.module.partition(".")[0]


def _texts(value: object) -> Iterator[str]:
    """The code in edits; what stands in the script itself is no text here."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
    elif is_dataclass(value):
        yield from _texts([getattr(value, f.name) for f in fields(value)])
