"""What ``--select``, ``--ignore`` and suppressions leave of a plan.

The changes of some families make one whole: with a loss-scaled optimizer that is not nested in the
distributed one, or a step that is moved at one end only, a script would train otherwise than
before. Their rules are therefore always judged, and a program gets all of these changes or none.
"""

import os
import re
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Callable, Dict, FrozenSet, Iterable, Iterator, List, Mapping, Optional, Sequence

from npu_migrate.plan import AddImport, Edit, Finding, Plan
from npu_migrate.rules import Rules
from npu_migrate.sources import is_notebook
from npu_migrate.suppressions import Suppressions

TOGETHER = ("NPU1", "NPU2", "NPU3")
"""How the codes start whose changes belong together."""

STAYING = ("horovod-optimizer-subclass", "horovod-without-counterpart", "horovod-unsupported")
"""Rules by whose findings a file stays on Horovod, and with it all that it runs with."""

_PRECISION = "set_precision_mode"


@dataclass(frozen=True)
class Share:
    """What one file has of the changes of its program that belong together."""

    path: str
    program: str
    codes: FrozenSet[str] = frozenset()
    """Of the rules that change something there."""
    suppressed: Optional[Finding] = None
    """A finding whose changes belong to the others and are suppressed."""
    unfinished: Optional[Finding] = None
    """What is left for a person there before anything of the whole can change."""

    def placed(self, placed: Callable[[Finding], Finding]) -> "Share":
        """The same with its findings where people find them in the file."""
        suppressed, unfinished = (
            finding and placed(finding) for finding in (self.suppressed, self.unfinished)
        )
        return replace(self, suppressed=suppressed, unfinished=unfinished)


@dataclass(frozen=True)
class Hold:
    """Why a program gets none of the changes that belong together, and what to do about it."""

    reason: str
    remedy: str = ""
    families: FrozenSet[str] = frozenset()
    """Those that must be selected besides a finding's own."""

    def on(self, finding: Finding) -> Finding:
        families = {finding.code[: len(TOGETHER[0])], *self.families}
        remedy = self.remedy or f"select {','.join(sorted(families))}"
        return finding.left(f"only together with {self.reason}", remedy)


@dataclass(frozen=True)
class Selection:
    """The codes that were chosen, and the programs whose changes are held back."""

    codes: FrozenSet[str]
    holds: Mapping[str, Hold] = field(default_factory=dict)

    def cut(self, plan: Plan, suppressions: Suppressions, program: str) -> Plan:
        """The chosen findings of a plan, and the edits that can be done without the others."""
        chosen = [finding for finding in plan.findings if finding.code in self.codes]
        shown = [finding for finding in chosen if not suppressions.holds(finding)]
        hidden = [finding for finding in plan.findings if suppressions.holds(finding)]
        kept = Plan(shown, suppressed=plan.suppressed + hidden)
        hold = self.holds.get(program)
        if hold is None:
            _take(kept, plan, _without_unread(plan))
            return kept
        kept.findings = [hold.on(f) if is_coupled(f.code) else f for f in shown]
        _take(kept, plan, [n for n, owner in plan.owners.items() if not is_coupled(owner.code)])
        kept.edits += _imports_for(kept.edits, plan)
        return kept


def holds(shares: Iterable[Share], codes: FrozenSet[str], given: FrozenSet[str]) -> Dict[str, Hold]:
    """Program -> why it is held back, where it is; ``given`` are the paths that may change."""
    programs: Dict[str, List[Share]] = {}
    for share in shares:
        programs.setdefault(share.program, []).append(share)
    found = {program: _hold(parts, codes, given) for program, parts in programs.items()}
    return {program: hold for program, hold in found.items() if hold is not None}


def _hold(parts: List[Share], codes: FrozenSet[str], given: FrozenSet[str]) -> Optional[Hold]:
    unfinished = next((part.unfinished for part in parts if part.unfinished), None)
    if unfinished is not None:
        return Hold(
            f"{unfinished.code} at {unfinished.place}, which is left for you",
            "do what is said there and migrate again; where that code never runs on the NPU, "
            "suppress it",
        )
    others = [part.path for part in parts if part.codes and part.path not in given]
    if others:
        return Hold(_not_given(others), f"give all of the program: {_folder(parts)}")
    suppressed = next((part.suppressed for part in parts if part.suppressed), None)
    if suppressed is not None:
        return Hold(
            f"{suppressed.code} at {suppressed.place}, which is suppressed",
            "no longer suppress that, or make both changes by hand",
        )
    whole = {code for part in parts for code in part.codes}
    if not whole <= codes:
        families = frozenset(code[: len(TOGETHER[0])] for code in whole)
        return Hold("what is not selected", families=families)
    return None


def _not_given(paths: Sequence[str]) -> str:
    first = min(paths, key=lambda path: (is_notebook(path), path))
    if len(paths) == 1:
        return f"{first}, which is not given"
    return f"{first} and {len(paths) - 1} more, which are not given"


def _folder(parts: Sequence[Share]) -> str:
    """The folder that holds all files of a program that change."""
    folders = [os.path.dirname(part.path) for part in parts if part.codes]
    return os.path.commonpath(folders) or os.curdir


def judged(rules: Rules, chosen: Rules) -> Rules:
    """The rules by which a plan is made: the chosen ones and all whose changes belong together."""
    coupled = [rule for code, rule in rules.select().by_code.items() if is_coupled(code)]
    both = {rule.code: rule for rule in (*coupled, *chosen.by_code.values())}
    return Rules.of(both.values(), rules.canonical, rules.exact)


def share(path: str, program: str, plan: Plan, suppressions: Suppressions, holding: bool) -> Share:
    """What a plan has of the changes that belong together.

    What sets the precision is one of them where the program's own switch goes with the others,
    since a later run could no longer see it: ``holding`` says so.
    """
    changing = [
        finding
        for number, finding in plan.owners.items()
        if is_coupled(finding.code) or (holding and _sets_precision(plan.edits[number]))
    ]
    return Share(
        path,
        program,
        frozenset(finding.code for finding in changing),
        _first(f for f in changing if is_coupled(f.code) and suppressions.holds(f)),
        _first(f for f in plan.findings if f.name in STAYING and not suppressions.holds(f)),
    )


def _first(findings: Iterable[Finding]) -> Optional[Finding]:
    return min(findings, key=lambda finding: (finding.line, finding.column), default=None)


def _sets_precision(edit: Edit) -> bool:
    return any(_PRECISION in text for text in _texts(edit))


def is_coupled(code: str) -> bool:
    """Whether a code is of those whose changes belong together."""
    return code.startswith(TOGETHER)


def _take(kept: Plan, plan: Plan, numbers: Iterable[int]) -> None:
    """Take some edits of a plan over, with whom they serve."""
    for number in numbers:
        if number in plan.owners:
            kept.owners[len(kept.edits)] = plan.owners[number]
        kept.edits.append(plan.edits[number])


def _without_unread(plan: Plan) -> List[int]:
    """The edits of a plan without the imports for new code that no judged rule put in."""
    others = [edit for edit in plan.edits if not isinstance(edit, AddImport)]
    read = _imports_for(others, plan)
    return [
        number
        for number, edit in enumerate(plan.edits)
        if not isinstance(edit, AddImport)
        or number in plan.owners
        or edit.module == "tensorflow"  # the script itself reads it
        or edit in read
    ]


def _imports_for(edits: Sequence[Edit], plan: Plan) -> List[AddImport]:
    """The imports of a plan that the code of ``edits`` reads."""
    words = words_of(edits)
    imports = [edit for edit in plan.edits if isinstance(edit, AddImport)]
    return [edit for edit in imports if edit.bound in words]


def words_of(edits: Sequence[Edit]) -> FrozenSet[str]:
    """The words of the code that edits put in."""
    return frozenset(word for text in _texts(edits) for word in re.findall(r"\w+", text))


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
