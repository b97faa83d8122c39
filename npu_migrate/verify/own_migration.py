"""What npu-migrate makes of a script and of the project that it belongs to, written nowhere."""

import os
from typing import List, Tuple

from npu_migrate.results import FileResult
from npu_migrate.verify.migration import Migration, migration_by_us, shown
from npu_migrate.verify.program_files import ProgramFiles, outermost
from npu_migrate.verify.workspace import Project


def migrate_program(program: ProgramFiles) -> Tuple[Project, Migration]:
    """Migrates the files of a program, with all that lies in its folders.

    Returns:
      What a run of the migrated program finds, and what was migrated.

    Raises:
      ValueError: a file of the program could not be migrated; the message says which and why.
    """
    results = _results(program)
    files = {os.path.realpath(path) for path in program.files}
    for result in results:
        if result.error is not None and os.path.realpath(result.path) in files:
            raise ValueError(str(result.error))
    texts = {os.path.realpath(r.path): r.after for r in results if r.is_changed}
    folders = [os.path.dirname(path) for path in texts]
    project = Project(outermost([*program.roots, *folders]), tuple(files), texts)
    ours = [result for result in results if os.path.realpath(result.path) in files]
    return project, migration_by_us(ours)


def _results(program: ProgramFiles) -> List[FileResult]:
    from npu_migrate.engine import migrate
    from npu_migrate.options import Options
    from npu_migrate.rules import load
    from npu_migrate.sources import Source, find

    sources = [Source(shown(program.files[0]))]
    if len(program.files) > 1:
        sources, _ = find([shown(root) for root in program.roots])
        given = {os.path.realpath(source.path) for source in sources}
        left_out = [path for path in program.files if os.path.realpath(path) not in given]
        sources += [Source(shown(path)) for path in left_out]
    return migrate(sources, load(), Options())
