"""Plans the changes of one file of a linked run, and carries them out."""

from dataclasses import replace
from typing import Dict, FrozenSet, Iterable, List, Mapping, Tuple

from npu_migrate.changes import changes_of
from npu_migrate.facts import RunFacts
from npu_migrate.migrations.context import Context
from npu_migrate.migrations.file_plan import plan_file
from npu_migrate.migrations.table import Table
from npu_migrate.names import Index
from npu_migrate.on_npu import SIGN, places_on_npu
from npu_migrate.options import Options
from npu_migrate.plan import Finding, Plan
from npu_migrate.programs import Programs
from npu_migrate.reader import Reader, ReadFile, ScannedFile, too_deep
from npu_migrate.results import FileResult
from npu_migrate.rewrite import RewriteError, rewrite
from npu_migrate.rules import HUNDREDS, Rule, Rules
from npu_migrate.scripts import Script, read_script
from npu_migrate.selection import Selection, Share, is_coupled, judged, share
from npu_migrate.sources import Source, SourceError, decode
from npu_migrate.suppressions import Suppressions, are_in
from npu_migrate.suppressions import read as read_suppressions


class Migrator:
    """Plans and rewrites one file after the other."""

    def __init__(
        self,
        reader: Reader,
        run: RunFacts,
        rules: Rules,
        chosen: Rules,
        concerned: FrozenSet[str],
        programs: Programs,
        options: Options,
    ) -> None:
        self._reader = reader
        self._concerned = concerned
        self._programs = programs
        self._run = run
        self._known = rules
        self._chosen = chosen
        self._rules = _by_name(judged(rules, chosen))
        self._with_sessions = {**_by_name(rules.select((HUNDREDS["session"],))), **self._rules}
        self._table = Table(self._rules.values())
        self._options = options

    def share(self, source: Source) -> Share:
        """What a file has of the changes that belong together, whatever is chosen.

        Sessions may have to carry the precision of a switch that goes with the others.
        """
        module = self._reader.module(source)
        program = self._programs.name(module)
        try:
            read = self._reader.read(source, self._run)
            suppressions = self._suppressions(source.path, read.script)
            plan = self._plan(source.path, read, suppressions, self._with_sessions)
        except (SourceError, RecursionError):
            return Share(source.path, program)
        precision_goes = self._run.precision_of(module).goes_with_scaling
        found = share(source.path, program, plan, suppressions, precision_goes)
        return found.placed(read.script.placed)

    def result(self, selection: Selection, file: ScannedFile) -> FileResult:
        """The plan of a file, carried out."""
        result = self._result(selection, file)
        if not self._options.counts_done or not SIGN.search(result.before):
            return result
        try:
            read = self._reader.read(file.source, self._run)
            return replace(result, on_npu=places_on_npu(read.index))
        except (SourceError, RecursionError):
            return result

    def _result(self, selection: Selection, file: ScannedFile) -> FileResult:
        path = file.source.path
        if file.error is not None:
            return FileResult(path, b"", b"", error=file.error)
        module = self._reader.module(file.source)
        try:
            if module not in self._concerned:
                return self._unconcerned(file)
            read = self._reader.read(file.source, self._run)
            suppressions = self._suppressions(path, read.script)
            plan = self._plan(path, read, suppressions, self._rules)
            program = self._programs.name(module) if selection.holds else ""
            plan = selection.cut(plan, suppressions, program)
            plan.findings += self._judged(path, suppressions, plan.suppressed)
            if self._options.add_ignores:
                return _with_ignores(path, read.script, plan)
            result = self._migrated(path, read.script, read.index, plan)
            self._reader.forget(file.source, read.index)
            return result
        except SourceError as error:
            return self._lost(path, module, error)
        except RecursionError:
            return self._lost(path, module, too_deep(path))

    def _unconcerned(self, file: ScannedFile) -> FileResult:
        path, data = file.source.path, file.source.read()
        result = FileResult(path, data, data, skipped=file.skipped)
        if file.scan is None or not file.scan.suppresses:
            return result
        script = read_script(file.source)
        findings = self._judged(path, self._suppressions(path, script), [])
        return replace(result, findings=_placed(script, findings))

    def _lost(self, path: str, module: str, error: SourceError) -> FileResult:
        """What is read no more might have had to change with the rest of its program."""
        program = self._programs.name(module)
        return FileResult(path, b"", b"", error=error, program=program, is_held_back=True)

    def _migrated(self, path: str, script: Script, index: Index, plan: Plan) -> FileResult:
        in_program = any(is_coupled(finding.code) for finding in plan.owners.values())
        result = FileResult(
            path,
            script.file,
            script.file,
            _placed(script, plan.findings),
            suppressed=_placed(script, plan.suppressed),
            program=self._programs.name(index.module) if in_program else "",
        )
        if not self._options.with_texts:
            return replace(result, would_change=bool(plan.edits))
        try:
            rewritten = rewrite(script.python, index.tree, plan.edits)
            after = script.with_python(rewritten.data)
        except RewriteError as error:
            held_back = result.unchanged(str(error))
            return replace(held_back, error=_unwritten(path, error), is_held_back=True)
        if rewritten.failed:
            # A file is never half migrated: one edit that finds no place holds all of them back.
            held_back = result.unchanged("its text could not be matched")
            return replace(held_back, is_held_back=True)
        return replace(result, after=after, changes=changes_of(plan, index.tree, script))

    def _suppressions(self, path: str, script: Script) -> Suppressions:
        ignored = self._options.ignored_in.get(path, ())
        if not are_in(script.python):
            return Suppressions(everywhere=ignored)
        return replace(read_suppressions(decode(script.python, path)), everywhere=ignored)

    def _judged(self, path: str, suppressions: Suppressions, found: List[Finding]) -> List[Finding]:
        """What is to be said of the comments of a file, once ``found`` is suppressed."""
        return suppressions.judged(path, found, self._chosen, self._known)

    def _plan(
        self, path: str, read: ReadFile, suppressions: Suppressions, rules: Mapping[str, Rule]
    ) -> Plan:
        context = Context(
            path,
            read.index,
            dict(rules),
            self._run,
            self._options,
            read.script.python,
            read.text,
            suppressions,
        )
        return plan_file(context, self._table)


def _by_name(rules: Rules) -> Dict[str, Rule]:
    return {rule.name: rule for rule in rules.by_code.values()}


def _with_ignores(path: str, script: Script, plan: Plan) -> FileResult:
    """The file as it was, with comments that suppress what would be left."""
    from npu_migrate.add_ignores import can_be_ignored, with_ignores

    left = [finding for finding in plan.findings if finding.status.is_left]
    ignored = [finding for finding in left if can_be_ignored(finding)]
    try:
        after = script.with_python(with_ignores(script.python, path, ignored))
    except RewriteError as error:
        unchanged = FileResult(path, script.file, script.file, _placed(script, left))
        return replace(unchanged, error=_unwritten(path, error))
    return FileResult(
        path,
        script.file,
        after,
        _placed(script, [finding for finding in left if not can_be_ignored(finding)]),
        suppressed=_placed(script, plan.suppressed + ignored),
    )


def _placed(script: Script, findings: Iterable[Finding]) -> Tuple[Finding, ...]:
    """Findings in the order of a script, as people find them in the file."""
    return tuple(script.placed(finding) for finding in sorted(findings, key=_by_place))


def _by_place(finding: Finding) -> Tuple[int, int, str]:
    return finding.line, finding.column, finding.code


def _unwritten(path: str, error: RewriteError) -> SourceError:
    return SourceError(path, f"cannot be rewritten: {error}", "make its changes by hand")
