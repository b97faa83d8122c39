"""Plans the changes of one file of a linked run, and carries them out."""

from copy import copy
from dataclasses import replace
from typing import Dict, Mapping

from npu_migrate.changes import changes_of
from npu_migrate.facts import RunFacts
from npu_migrate.migrations.context import Context
from npu_migrate.migrations.file_plan import plan_file
from npu_migrate.migrations.table import Table
from npu_migrate.names import Index
from npu_migrate.options import Options
from npu_migrate.plan import Plan
from npu_migrate.reader import Reader, ReadFile, too_deep
from npu_migrate.results import FileResult, placed
from npu_migrate.rewrite import RewriteError, rewrite
from npu_migrate.rules import HUNDREDS, Rule, Rules
from npu_migrate.scripts import Script
from npu_migrate.selection import Selection, Share, is_coupled, judged, share
from npu_migrate.sources import Source, SourceError
from npu_migrate.suppressions import Suppressions, of_script


class Migrator:
    """Plans and rewrites one file after the other, of those that may hold something to migrate."""

    def __init__(
        self,
        run: RunFacts,
        program_of: Mapping[str, str],
        rules: Rules,
        chosen: Rules,
        options: Options,
    ) -> None:
        self._program_of = program_of
        self._run = run
        self._known = rules
        self._chosen = chosen
        self._rules = _by_name(judged(rules, chosen))
        self._with_sessions = {**_by_name(rules.select((HUNDREDS["session"],))), **self._rules}
        self._table = Table(self._rules.values())
        self._options = options

    def share(self, reader: Reader, source: Source) -> Share:
        """What a file has of the changes that belong together, whatever is chosen.

        Sessions may have to carry the precision of a switch that goes with the others.
        """
        module = reader.module(source)
        program = self._program_of[module]
        try:
            read = reader.read(source, self._run)
            suppressions = self._suppressions(source.path, read.script)
            plan = self._plan(source.path, read, suppressions, self._with_sessions)
        except (SourceError, RecursionError):
            return Share(source.path, program)
        precision_goes = self._run.precision_of(module).goes_with_scaling
        found = share(source.path, program, plan, suppressions, precision_goes)
        return found.placed(read.script.placed)

    def of(self, run: RunFacts, program_of: Mapping[str, str]) -> "Migrator":
        """The same for the files of another run."""
        other = copy(self)
        other._run, other._program_of = run, program_of
        return other

    def result(self, selection: Selection, reader: Reader, source: Source) -> FileResult:
        """The plan of a file, carried out."""
        path, module = source.path, reader.module(source)
        try:
            read = reader.read(source, self._run)
            result = self.result_of(selection, path, read)
            reader.forget(source, read.index)
            return result
        except SourceError as error:
            return self._lost(path, module, error)
        except RecursionError:
            return self._lost(path, module, too_deep(path))

    def result_of(self, selection: Selection, path: str, read: ReadFile) -> FileResult:
        """The plan of a file that was read, carried out."""
        suppressions = self._suppressions(path, read.script)
        plan = self._plan(path, read, suppressions, self._rules)
        program = self._program_of[read.index.module] if selection.holds else ""
        plan = selection.cut(plan, suppressions, program)
        plan.findings += suppressions.judged(path, plan.suppressed, self._chosen, self._known)
        if self._options.add_ignores:
            return _with_ignores(path, read.script, plan)
        return self._migrated(path, read.script, read.index, plan)

    def _lost(self, path: str, module: str, error: SourceError) -> FileResult:
        """What is read no more might have had to change with the rest of its program."""
        program = self._program_of[module]
        return FileResult(path, b"", b"", error=error, program=program, is_held_back=True)

    def _migrated(self, path: str, script: Script, index: Index, plan: Plan) -> FileResult:
        in_program = any(is_coupled(finding.code) for finding in plan.owners.values())
        result = FileResult(
            path,
            script.file,
            script.file,
            placed(script, plan.findings),
            suppressed=placed(script, plan.suppressed),
            program=self._program_of[index.module] if in_program else "",
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
        changes = changes_of(plan, index.tree, script) if self._options.for_page else ()
        return replace(result, after=after, changes=changes)

    def _suppressions(self, path: str, script: Script) -> Suppressions:
        return of_script(path, script.python, self._options.ignored_in.get(path, ()))

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
        unchanged = FileResult(path, script.file, script.file, placed(script, left))
        return replace(unchanged, error=_unwritten(path, error))
    return FileResult(
        path,
        script.file,
        after,
        placed(script, [finding for finding in left if not can_be_ignored(finding)]),
        suppressed=placed(script, plan.suppressed + ignored),
    )


def _unwritten(path: str, error: RewriteError) -> SourceError:
    return SourceError(path, f"cannot be rewritten: {error}", "make its changes by hand")
