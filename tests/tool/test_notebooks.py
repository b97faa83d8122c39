"""Notebooks are migrated cell by cell, and only the sources of changed cells differ."""

import json
import os
import subprocess
from textwrap import dedent

import pytest

from npu_migrate.notebooks.magics import to_python

IMPORTS = "import tensorflow as tf\nimport horovod.tensorflow as hvd\nhvd.init()"
OPTIMIZER = "opt = tf.train.MomentumOptimizer(0.1, 0.9)\nopt = hvd.DistributedOptimizer(opt)"


def cell(source, kind="code", **others):
    lines = source.splitlines(True)
    outputs = {"execution_count": 3, "outputs": [{"text": ["naïve\n"]}]} if kind == "code" else {}
    return {"cell_type": kind, "id": "a1", "metadata": {"tags": []}, **outputs, "source": lines}


def notebook(*cells, metadata=None, **layout):
    cells = [one if isinstance(one, dict) else cell(one) for one in cells]
    content = {"cells": cells, "metadata": metadata or {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, **{"indent": 1, "ensure_ascii": False, **layout}) + "\n"


@pytest.fixture
def migrated(folder, run):
    """Writes a notebook, migrates it and returns its sources, and what the command said."""

    def migrated(text, *options, status=0):
        path = folder / "train.ipynb"
        path.write_bytes(text.encode("utf-8"))
        outcome = run(*options, "train.ipynb")
        assert outcome.status == status, outcome
        return path.read_bytes().decode("utf-8"), outcome

    return migrated


def sources(text):
    return ["".join(one["source"]) for one in json.loads(text)["cells"]]


def changed_lines(before, after):
    before, after = before.splitlines(), after.splitlines()
    return [line for line in after if line not in before]


def test_cells_share_one_namespace_in_their_order(migrated):
    after, outcome = migrated(notebook(IMPORTS, cell("# hvd", "markdown"), OPTIMIZER))
    assert sources(after) == [
        "import tensorflow as tf\n"
        "from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer\n"
        "from npu_migrate.runtime import ops_adapter as hvd\n"
        "hvd.init()",
        "# hvd",
        "opt = tf.train.MomentumOptimizer(0.1, 0.9)\nopt = NPUDistributedOptimizer(opt)",
    ]
    assert "1 of 1 file changed" in outcome.out


def test_a_second_run_changes_nothing(migrated):
    once, _ = migrated(notebook(IMPORTS, OPTIMIZER))
    twice, outcome = migrated(once, "--check")
    assert twice == once
    assert "0 of 1 file would change" in outcome.out


@pytest.mark.parametrize(
    "layout",
    [
        {},
        {"indent": 4},
        {"indent": "\t"},
        {"indent": None},
        {"indent": None, "separators": (",", ":")},
        {"ensure_ascii": True},
    ],
)
def test_only_the_lines_that_change_differ(migrated, layout):
    before = notebook(IMPORTS, OPTIMIZER, "print('naïve')\n", **layout)
    after, _ = migrated(before)
    new = {
        "opt = NPUDistributedOptimizer(opt)": "opt = hvd.DistributedOptimizer(opt)",
        "from npu_migrate.runtime import ops_adapter as hvd\\n": (
            "import horovod.tensorflow as hvd\\n"
        ),
    }
    back = after
    for line, old in new.items():
        assert line in back
        back = back.replace(line, old)
    added = "from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer"
    start = back.index(f'"{added}')
    end = back.index('"import horovod')
    assert back[:start] + back[end:] == before


@pytest.mark.parametrize("change", ["\r\n", "\ufeff", "no end"])
def test_line_ends_mark_and_missing_end_stay(folder, run, change):
    text = notebook(IMPORTS, OPTIMIZER)
    before = {
        "\r\n": text.replace("\n", "\r\n"),
        "\ufeff": "\ufeff" + text,
        "no end": text.rstrip("\n"),
    }[change].encode("utf-8")
    (folder / "train.ipynb").write_bytes(before)
    run("train.ipynb")
    after = (folder / "train.ipynb").read_bytes()
    assert b"NPUDistributedOptimizer(opt)" in after
    assert after.count(b"\r") == (after.count(b"\n") if change == "\r\n" else 0)
    assert after.startswith("\ufeff".encode()) == (change == "\ufeff")
    assert after.endswith(b"}") == (change == "no end")


def test_a_source_may_be_one_string(migrated):
    code = {**cell(""), "source": IMPORTS}
    after, _ = migrated(notebook(code))
    source = json.loads(after)["cells"][0]["source"]
    assert source == IMPORTS.replace(
        "import horovod.tensorflow as hvd", "from npu_migrate.runtime import ops_adapter as hvd"
    )


MAGIC = """\
%matplotlib inline
!pip install something \\
    --quiet
import os
if os.environ:
    %load_ext autoreload
    files = !ls -l 'a"b'
x, y = %who_ls str
?os
os.path.join??
text = '''
%s
!not a command
''' % 3
total = (1
    % 2)
get_ipython().run_line_magic('time', '')
hvd.init();
"""


def test_magics_survive(migrated):
    head = "%%time -x\nimport tensorflow as tf\nimport horovod.tensorflow as hvd"
    after, outcome = migrated(notebook(head, MAGIC, OPTIMIZER + "\n!ls"))
    first, second, third = sources(after)
    assert first.startswith("%%time -x\nimport tensorflow as tf\nfrom npu_bridge")
    assert second == MAGIC
    assert third.endswith("\nopt = NPUDistributedOptimizer(opt)\n!ls")
    assert "train.ipynb:cell 3:2:7 NPU203" in outcome.out


def test_magics_survive_in_cells_that_change(migrated):
    code = MAGIC.replace("import os\n", f"import os\n{IMPORTS}\n")
    after, _ = migrated(notebook(code))
    new = code.replace(
        "import horovod.tensorflow as hvd", "from npu_migrate.runtime import ops_adapter as hvd"
    )
    assert sources(after) == [new]


@pytest.mark.parametrize("magic", ["%%bash", "%%writefile x.py", "%%javascript", "%%latex"])
def test_cells_in_other_languages_are_left(migrated, magic):
    other = f"\n{magic}\nimport horovod.tensorflow as hvd (\nfor f in *; do echo $f; done"
    before = notebook(other, IMPORTS)
    after, _ = migrated(before)
    assert sources(after)[0] == other
    assert "ops_adapter as hvd" in sources(after)[1]


@pytest.mark.parametrize(
    "line",
    [
        "x != y",
        "f(a=1) != 2",
        "x %= 3",
        "print('a = !b', 'why?')",
        "y = 5 %x",
        "# x = !ls",
        "t = '= !ls'",
        "a = (b,\n%c)",
        "a = b \\\n%c",
        'd = """\n!ls\n%s\n""" % 1',
        "s = 'it\\\n!s'",
    ],
)
def test_python_that_looks_like_magic(line):
    assert to_python(line).text == line
    assert to_python(line + "\n%time").hidden == {str(line.count("\n") + 1): "%time"}


def test_code_that_is_indented_as_a_whole(migrated):
    indented = "\n  hvd.init()\n  h = [hvd.BroadcastGlobalVariablesHook(0)]\n  if h:\n    !ls\n"
    after, outcome = migrated(notebook(IMPORTS, indented))
    assert sources(after)[1] == (
        "\n  hvd.init()\n  h = [NPUBroadcastGlobalVariablesHook(0, hvd.rank())]\n  if h:\n    !ls\n"
    )
    assert "train.ipynb:cell 2:3:8 NPU204" in outcome.out


def test_a_blank_line_in_code_that_is_indented_as_a_whole(migrated):
    indented = "  hvd.init()\n  \n  h = hvd.BroadcastGlobalVariablesHook(0)\n   "
    after, _ = migrated(notebook(IMPORTS, indented))
    assert sources(after)[1] == (
        "  hvd.init()\n  \n  h = NPUBroadcastGlobalVariablesHook(0, hvd.rank())\n   "
    )


def test_findings_name_the_cell_and_the_line_in_it(migrated):
    text = notebook(cell("# Title", "markdown"), IMPORTS, "", "\n\nhvd.init(comm=[0])", OPTIMIZER)
    _, outcome = migrated(text, "--check", "--format", "json", status=1)
    found = json.loads(outcome.out)["findings"]
    places = {(f["code"], f["path"], f["cell"], f["line"]) for f in found}
    assert ("NPU203", "train.ipynb", 5, 2) in places
    assert ("NPU202", "train.ipynb", 2, 2) in places


def test_the_diff_is_what_is_written(migrated, folder):
    before = notebook(IMPORTS, OPTIMIZER)
    unchanged, outcome = migrated(before, "--diff")
    assert unchanged == before
    applied = subprocess.run(["patch", "-p1"], input=outcome.out, cwd=str(folder), text=True)
    assert applied.returncode == 0
    patched = (folder / "train.ipynb").read_text("utf-8")
    assert patched == migrated(before)[0]


@pytest.mark.parametrize(
    "text, place, what",
    [
        (notebook(IMPORTS, "x = 1\nprint x"), "cell 2:2", "Python 2 syntax: print statement"),
        (notebook(IMPORTS, "x = (1,\n", "2)"), "cell 2:", "syntax error"),
        (notebook("a = \\\n", IMPORTS), "cell 1:", "syntax error"),
        ('{"cells": [', "1", "broken JSON"),
        ('{"cells": {}}', "", "no notebook"),
        ('{"worksheets": []}', "", "old format 3"),
        ("[]", "", "no notebook"),
    ],
)
def test_a_notebook_that_cannot_be_read_is_reported(migrated, text, place, what):
    after, outcome = migrated(text, status=2)
    assert after == text
    assert f"train.ipynb:{place}" in outcome.err
    assert what in outcome.err


@pytest.mark.parametrize(
    "metadata",
    [
        {"kernelspec": {"name": "ir", "language": "R"}, "language_info": {"name": "R"}},
        {"kernelspec": {"name": "julia-1.6"}},
    ],
)
def test_a_notebook_in_another_language_is_skipped_with_a_word(migrated, metadata):
    text = notebook("x <- horovod(", metadata=metadata)
    after, outcome = migrated(text)
    assert after == text
    assert "train.ipynb: skipped: its kernel speaks " in outcome.out
    assert "0 of 1 file changed" in outcome.out


def test_notebooks_are_found_in_folders_and_know_the_modules(folder, run):
    (folder / "model.py").write_text(
        dedent(
            """\
            import tensorflow as tf

            def scaled(opt, manager):
                return tf.contrib.mixed_precision.LossScaleOptimizer(opt, manager)
            """
        )
    )
    (folder / ".ipynb_checkpoints").mkdir()
    for name in ("train.ipynb", ".ipynb_checkpoints/train-checkpoint.ipynb"):
        (folder / name).write_text(
            notebook(
                "import tensorflow as tf\nfrom model import scaled\n"
                "from tensorflow.contrib.mixed_precision import FixedLossScaleManager",
                "opt = scaled(tf.train.AdamOptimizer(), FixedLossScaleManager(8))",
            )
        )
    outcome = run(".")
    assert outcome.status == 0
    assert "2 of 2 files changed" in outcome.out
    after = sources((folder / "train.ipynb").read_text())
    assert "npu_loss_scale_manager import FixedLossScaleManager" in after[0]


def test_output_holds_the_migrated_notebook(folder, run):
    (folder / "proj").mkdir()
    before = notebook(IMPORTS, OPTIMIZER)
    (folder / "proj" / "train.ipynb").write_text(before, "utf-8")
    assert run("-o", "out", "proj").status == 0
    assert "ops_adapter as hvd" in (folder / "out" / "train.ipynb").read_text("utf-8")
    assert (folder / "proj" / "train.ipynb").read_text("utf-8") == before


def test_a_notebook_keeps_its_mode(folder, run):
    path = folder / "train.ipynb"
    path.write_text(notebook(IMPORTS), "utf-8")
    path.chmod(0o640)
    run("train.ipynb")
    assert os.stat(str(path)).st_mode & 0o777 == 0o640


def test_shell_commands_are_looked_at(migrated):
    text = notebook(
        IMPORTS,
        "x = 1\nif x:\n    !CUDA_VISIBLE_DEVICES=3 python t.py\n"
        "log = !mpirun -np 2 \\\n   python t.py",
        "%env CUDA_VISIBLE_DEVICES=1\n!pip install -q tensorflow-gpu==1.15",
        "%%bash\nhorovodrun -np 2 python t.py",
        "%%writefile run.sh\nhorovodrun -np 2 python t.py",
        "s = '''\n!mpirun -np 2 python t.py\n'''",
    )
    after, outcome = migrated(text, "--format", "json", status=1)
    assert sources(after)[1:] == sources(text)[1:]
    found = json.loads(outcome.out)["findings"]
    left = [(f["cell"], f["line"], f["column"], f["code"]) for f in found[1:]]
    assert left == [
        (2, 3, 6, "NPU681"),
        (2, 4, 8, "NPU281"),
        (3, 1, 6, "NPU681"),
        (3, 2, 17, "NPU981"),
        (4, 2, 1, "NPU281"),
    ]
    _, outcome = migrated(text, "--check", status=1)
    for line in (
        "    write: !ASCEND_DEVICE_ID=3 npu-run t.py\n",
        "    write: !npu-run -np 2 t.py\n",
        "    write: %env ASCEND_DEVICE_ID=1\n",
        "    write: npu-run -np 2 t.py\n",
    ):
        assert line in outcome.out


def test_variables_of_a_notebook_with_and_without_a_sign(migrated):
    text = notebook("%env TF_ENABLE_AUTO_MIXED_PRECISION 1\n%env A", "%set_env TF_XLA_FLAGS=--x")
    _, outcome = migrated(text, "--format", "json", status=1)
    found = json.loads(outcome.out)["findings"]
    assert [(f["cell"], f["line"], f["code"]) for f in found] == [
        (1, 1, "NPU481"),
        (2, 1, "NPU482"),
    ]


def test_the_statement_on_the_line_of_a_magic_is_migrated(migrated):
    timed = (
        "if hvd.rank() == 0:\n  %time opt = hvd.DistributedOptimizer(opt)\n"
        "%timeit -n 3 hvd.size()\n%prun hvd.rank()"
    )
    after, outcome = migrated(notebook(IMPORTS, timed))
    assert sources(after)[1] == timed.replace("hvd.Dist", "NPUDist")
    assert "train.ipynb:cell 2:2:" in outcome.out


def test_a_timed_statement_may_become_several(migrated):
    after, _ = migrated(
        notebook(
            "import tensorflow as tf\nm = tf.contrib.mixed_precision.FixedLossScaleManager(8)",
            "opt = tf.train.AdamOptimizer()",
            "%time opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, m)",
        )
    )
    assert sources(after)[2] == (
        "if ops_adapter.size() > 1:\n"
        "    opt = NPUDistributedOptimizer(opt)\n"
        "    %time opt = NPULossScaleOptimizer(opt, m, is_distributed=True)\n"
        "else:\n"
        "    %time opt = NPULossScaleOptimizer(opt, m)"
    )


def test_a_timed_statement_that_outgrows_its_line():
    python = to_python("%time x = f(1)")
    assert python.keeps("y = g(1)  # npu-migrate 0")
    assert not python.keeps("y = g(\n    1)  # npu-migrate 0")
    assert not python.keeps("# y = g(1)  # npu-migrate 0")


GPU = "tf.test.is_gpu_available()"


@pytest.mark.parametrize(
    "line",
    [
        f"%time x = {GPU}",
        f"%timeit -n3\n%prun f({GPU})",
        f"%memit x = {GPU}  # why",
        f"%time x = '#', {GPU}",
    ],
)
def test_comments_are_written_on_the_line_of_a_magic(migrated, line):
    before = notebook(f"import tensorflow as tf\n{line}")
    after, outcome = migrated(before, "--add-ignores")
    assert sources(after) == [f"import tensorflow as tf\n{line}  # npu-migrate: ignore[NPU608]"]
    assert "1 suppressed" in outcome.out
    again, _ = migrated(after, "--add-ignores")
    assert again == after
    _, outcome = migrated(after, "--check")
    assert outcome.out.endswith("0 of 1 file would change, 1 suppressed\n")


def test_a_column_counts_the_magic(migrated):
    _, outcome = migrated(
        notebook(f"import tensorflow as tf\n%time x = {GPU}"), "--check", status=1
    )
    assert "train.ipynb:cell 1:2:11 NPU608" in outcome.out
