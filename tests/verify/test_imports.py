"""Modules of the user's folders come from the working copy, however a script finds them."""

import os
import subprocess
import sys

from npu_migrate.verify.workspace import Project, Workspace

IMPORT = """\
import sys
from npu_migrate.verify.recorder.imports import import_from_copy
import_from_copy({tree!r}, {roots!r})
sys.path.append({path!r})
import flat, package, package.inner, spaces.inner
import json
print([m.where for m in (flat, package, package.inner, spaces.inner)], json.__file__)
"""


def test_absolute_folder_on_the_path(tmp_path):
    project = tmp_path / "project"
    for name in ("flat", "package/__init__", "package/inner", "spaces/inner"):
        file = project / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("where = 'original'\n")
    texts = {str(path): b"where = 'copy'\n" for path in project.rglob("*.py")}
    current = tmp_path / "elsewhere"
    current.mkdir()
    own = Project((str(project),), (), texts)
    copy = Workspace(str(tmp_path / "run"), str(current), (), own)
    script = IMPORT.format(tree=copy.tree, roots=copy.roots, path=str(project))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.startswith(str(["copy"] * 4)), done.stderr
    assert os.path.basename(os.path.dirname(done.stdout.split()[-1])) == "json"
