"""Comments that suppress findings: what they reach, what they hold back, how they are written."""

import json
from textwrap import dedent

import pytest

from npu_migrate.engine import migrate
from npu_migrate.options import Options
from npu_migrate.plan import Status
from npu_migrate.rules import load
from npu_migrate.sources import Source

RULES = load()
HEAD = "import os\nimport tensorflow as tf\n\n"
SCALED = """\
import tensorflow as tf

mixed = tf.contrib.mixed_precision
manager = mixed.FixedLossScaleManager(128)
optimizer = mixed.LossScaleOptimizer(tf.train.GradientDescentOptimizer(0.1), manager)
train = optimizer.minimize(loss)
session = tf.Session()
"""


def run_all(files, **options):
    sources = [Source(path, dedent(text).encode()) for path, text in files.items()]
    results = migrate(sources, RULES, Options(**options))
    assert [result.error for result in results if result.error] == []
    return {result.path: result for result in results}


def migrated(text, **options):
    return run_all({"a.py": text}, **options)["a.py"]


def codes(result):
    return [(finding.line, finding.code) for finding in result.findings]


def session(comment):
    return migrated(f"{HEAD}session = tf.Session()  {comment}\n")


# What a comment reaches


@pytest.mark.parametrize(
    "comment",
    [
        "# npu-migrate: ignore",
        "#npu-migrate:ignore",
        "# npu-migrate: ignore[NPU401]",
        "# npu-migrate: ignore [ npu4 ]",
        "# npu-migrate: ignore[NPU401] until the bridge is updated",
        "# type: ignore  # npu-migrate: ignore[NPU4]  # noqa",
        "# npu-migrate: ignore[ALL]",
        "# NPU-migrate : Ignore[npu401]",
    ],
)
def test_a_suppressed_line_is_neither_changed_nor_reported(comment):
    result = session(comment)
    assert result.after == result.before
    assert result.findings == ()
    assert [finding.code for finding in result.suppressed] == ["NPU401"]


def test_other_lines_are_migrated_as_ever():
    result = migrated(f"{HEAD}a = tf.Session()  # npu-migrate: ignore\nb = tf.Session()\n")
    lines = result.after.decode().splitlines()
    assert "a = tf.Session()  # npu-migrate: ignore" in lines
    assert "b = tf.Session(config=npu_config_proto())" in lines


def test_other_codes_of_a_line_are_reported_as_ever():
    assert codes(session("# npu-migrate: ignore[NPU6]")) == [(4, "NPU401"), (4, "NPU001")]


@pytest.mark.parametrize("line", [0, 2, 3])
def test_of_a_statement_the_first_and_the_last_line_speak_for_all(line):
    lines = ["session = make(", "    1,", "    tf.Session(", "    ))"]
    lines[line] += "  # npu-migrate: ignore[NPU401]"
    assert codes(migrated(HEAD + "\n".join(lines) + "\n")) == []


def test_a_line_in_the_middle_of_a_statement_speaks_for_itself():
    text = """\
    import tensorflow as tf
    sessions = [
        tf.Session(),  # npu-migrate: ignore
        tf.Session(),
    ]
    """
    result = migrated(text)
    assert b"    tf.Session(),  # npu-migrate: ignore\n" in result.after
    assert b"    tf.Session(config=npu_config_proto()),\n" in result.after


def test_the_header_of_a_block_does_not_speak_for_the_block():
    text = """\
    import tensorflow as tf
    with scope(
        "x"
    ):  # npu-migrate: ignore
        session = tf.Session()
    """
    assert codes(migrated(text)) == [(4, "NPU001"), (5, "NPU401")]


@pytest.mark.parametrize("line", [0, 2])
def test_decorators_belong_to_what_they_decorate(line):
    lines = ["@first", "@second", "class Own(tf.Session):", "    pass"]
    lines[line] += "  # npu-migrate: ignore[NPU4]"
    result = migrated(HEAD + "\n".join(lines) + "\n")
    assert [finding.code for finding in result.suppressed] == ["NPU403"]
    assert result.findings == ()


def test_strings_suppress_nothing():
    text = HEAD + 'a = tf.Session(), "# npu-migrate: ignore"\n'
    assert codes(migrated(text)) == [(4, "NPU401")]
    text = HEAD + 'a = """\n# npu-migrate: ignore-file\n"""\nb = tf.Session()\n'
    assert codes(migrated(text)) == [(7, "NPU401")]


def test_code_that_was_commented_out_suppresses_nothing_and_is_not_spoken_of():
    assert codes(migrated("x = 1\n# y = GPU()  # npu-migrate: ignore[NPU101]\n")) == []


def test_an_import_stays_that_a_suppressed_line_reads():
    text = """\
    import tensorflow as tf
    from tensorflow.python.client import device_lib
    import tensorflow.contrib.mixed_precision as mixed

    tf.nn.dropout(x, 0.9)  # npu-migrate: ignore
    """
    kept = migrated(text, select=("ALL", "NPU5"))
    assert kept.after == kept.before
    text = "from tensorflow.nn import dropout\n\ny = dropout(x, 0.9)"
    assert migrated(text, select=("NPU5",)).after != text.encode()
    text += "  # npu-migrate: ignore\n"
    assert migrated(text, select=("NPU5",)).after == text.encode()


def test_of_lines_that_go_together_the_suppressed_one_stays():
    text = """\
    import tensorflow as tf

    config = tf.ConfigProto()
    if local:
        config.gpu_options.visible_device_list = "0"  # npu-migrate: ignore
        config.gpu_options.visible_device_list = "1"
    """
    result = migrated(text)
    after = result.after.decode()
    assert 'visible_device_list = "0"  # npu-migrate: ignore' in after
    assert '"1"' not in after
    assert codes(result) == [(6, "NPU601")]
    assert [finding.line for finding in result.suppressed] == [5]


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_line_ends_and_encodings(end):
    text = [
        "# coding: gbk",
        "import tensorflow as tf",
        "s = tf.Session()  # 注释 # npu-migrate: ignore",
    ]
    (result,) = migrate([Source("a.py", end.join(text).encode("gbk"))], RULES, Options())
    assert result.after == result.before
    assert result.findings == ()


# Whole files


@pytest.mark.parametrize(
    "comment", ["ignore-file", "ignore-file[NPU4]", "ignore-file[NPU401, NPU6]"]
)
def test_a_whole_file(comment):
    text = f"{HEAD}a = tf.Session()\n# npu-migrate: {comment}\nb = tf.Session()\n"
    result = migrated(text, ignore=("NPU001",))
    assert (result.after, result.findings) == (text.encode(), ())


@pytest.mark.parametrize(
    "line",
    [
        "a = tf.Session()  # npu-migrate: ignore-file",
        "if a:\n    # npu-migrate: ignore-file\n    b = tf.Session()",
    ],
)
def test_a_comment_on_the_file_stands_alone_at_the_top_level(line):
    result = migrated(f"{HEAD}{line}\n")
    assert "NPU401" in [code for _, code in codes(result)]
    (finding,) = [finding for finding in result.findings if finding.code == "NPU002"]
    assert "stand alone" in finding.message


# What belongs together


@pytest.mark.parametrize("line", [4, 5])
def test_a_script_is_never_migrated_by_half(line):
    lines = SCALED.splitlines()
    lines[line - 1] += "  # npu-migrate: ignore"
    result = migrated("\n".join(lines) + "\n")
    after = result.after.decode()
    assert "contrib.mixed_precision" in after
    assert "NPULossScaleOptimizer" not in after and "npu_loss_scale_manager" not in after
    left = [finding for finding in result.findings if finding.status is Status.MANUAL]
    assert left and not [finding for finding in left if finding.line == line]
    assert all(f"a.py:{line}:" in finding.message for finding in left)
    assert "which is suppressed" in left[0].message


def test_what_stands_alone_is_migrated_beside_what_is_held_back():
    text = SCALED.replace("(128)", "(128)  # npu-migrate: ignore")
    assert b"session = tf.Session(config=npu_config_proto())" in migrated(text).after


def test_a_program_is_held_back_and_others_are_not():
    optimizer = """\
    import tensorflow as tf

    def make(loss):
        manager = tf.contrib.mixed_precision.FixedLossScaleManager(128){}
        return tf.contrib.mixed_precision.LossScaleOptimizer(tf.train.AdamOptimizer(), manager)
    """
    train = """\
    import {name}
    import horovod.tensorflow as hvd

    hvd.init()
    {name}.make(loss).minimize(loss)
    """
    files = {
        "one.py": optimizer.format("  # npu-migrate: ignore[NPU1]"),
        "train_one.py": train.format(name="one"),
        "two.py": optimizer.format(""),
        "train_two.py": train.format(name="two"),
    }
    results = run_all(files)
    held, done = ["one.py", "train_one.py"], ["two.py", "train_two.py"]
    assert all(results[path].after == results[path].before for path in held)
    assert all(results[path].after != results[path].before for path in done)
    (finding, *_) = results["train_one.py"].findings
    assert "NPU101 at one.py:4" in finding.message
    again = run_all({path: result.after.decode() for path, result in results.items()})
    assert all(result.after == result.before for result in again.values())
    assert [codes(again[path]) for path in held] == [codes(results[path]) for path in held]


MIXED = """\
import os
import tensorflow as tf

os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"{}
session = tf.Session(){}
"""


def test_a_precision_that_is_suppressed_is_not_set_on_the_session():
    assert b"set_precision_mode" in migrated(MIXED.format("", "")).after
    result = migrated(MIXED.format("  # npu-migrate: ignore", ""))
    assert b"tf.Session(config=npu_config_proto())" in result.after
    assert b"set_precision_mode" not in result.after


def test_a_precision_is_left_to_a_person_where_the_session_is_suppressed():
    text = MIXED.format("", "  # npu-migrate: ignore")
    result = migrated(text)
    assert result.after.decode() == text
    assert [(f.code, f.status) for f in result.findings] == [("NPU132", Status.MANUAL)]


def test_what_is_left_to_a_person_holds_nothing_back():
    text = SCALED + "strategy = tf.distribute.experimental.ParameterServerStrategy()"
    expected = migrated(text).after.decode()
    assert expected != text
    result = migrated(text + "  # npu-migrate: ignore")
    assert result.after.decode() == expected + "  # npu-migrate: ignore"
    assert result.findings[-1].code != "NPU2"


def test_an_ignored_file_is_treated_as_a_suppressed_one():
    result = migrated(SCALED, ignored_in={"a.py": ("NPU103",)})
    assert b"NPULossScaleOptimizer" not in result.after
    assert "NPU103" not in [code for _, code in codes(result)]
    assert migrated(SCALED, ignored_in={"a.py": ("NPU",)}).after == SCALED.encode()


# Comments that are of no use


def test_a_comment_that_suppresses_nothing_is_reported():
    result = migrated("x = 1\ny = 2  # npu-migrate: ignore[NPU101]\n# npu-migrate: ignore-file\n")
    assert codes(result) == [(2, "NPU001"), (3, "NPU001")]
    assert [finding.column for finding in result.findings] == [8, 1]
    assert result.findings[0].message == "NPU101 suppresses nothing here"
    assert all(finding.status is Status.MANUAL for finding in result.findings)


def test_only_the_codes_of_no_use_are_reported():
    result = session("# npu-migrate: ignore[NPU401,NPU101,NPU4]")
    assert [finding.message for finding in result.findings] == ["NPU101 suppresses nothing here"]


@pytest.mark.parametrize(
    "comment, message",
    [
        ("ignore[NPU10l]", "(did you mean NPU10"),
        ("ignore[]", "no code stands in the brackets"),
        ("ignore[NPU401", "the bracket is not closed"),
        ("ingore[NPU401]", "ingore is neither ignore nor ignore-file"),
        ("noqa", "noqa is neither ignore nor ignore-file"),
        ("ignore NPU401", "codes stand in brackets, as in ignore[NPU101]"),
        ("ignore: NPU401", "codes stand in brackets"),
        ("ignore(NPU401)", "codes stand in brackets"),
        ("ignore=NPU401", "codes stand in brackets"),
        ("ignore{NPU401}", "codes stand in brackets"),
        ("ignore-next-line", "ignore-next-line is neither ignore nor ignore-file"),
        ("ignore[session-config]", "(the rule session-config has the code NPU401)"),
    ],
)
def test_a_comment_that_is_not_clear_suppresses_nothing(comment, message):
    result = session(f"# npu-migrate: {comment}")
    (unclear, finding) = sorted(result.findings, key=lambda finding: finding.code)
    assert (unclear.code, finding.code) == ("NPU002", "NPU401")
    assert message in unclear.message


@pytest.mark.parametrize(
    "comment",
    ["# npu_migrate: ignore[NPU401]", "# npu-migrate ignore[NPU401]", "#NPUmigrate:ignore"],
)
def test_a_mark_that_is_written_otherwise_is_not_passed_over(comment):
    result = session(comment)
    (unclear, finding) = sorted(result.findings, key=lambda finding: finding.code)
    assert (unclear.code, finding.code) == ("NPU002", "NPU401")
    assert "it is written # npu-migrate: ignore" in unclear.message


def test_prose_is_no_suppression():
    assert codes(migrated("x = 1  # npu_migrate ignores this\n# npu-migrate ignore it\n")) == []
    assert codes(migrated("# npu-migrate: see the guide\nx = 1  # npu-migrate: by hand\n")) == []


def test_a_known_code_beside_an_unknown_one_counts():
    assert [code for _, code in codes(session("# npu-migrate: ignore[NPU401,XYZ1]"))] == ["NPU002"]


@pytest.mark.parametrize(
    "options",
    [
        {"ignore": ("NPU0",)},
        {"ignore": ("NPU1",)},
        {"select": ("NPU401", "NPU0")},
        {"ignored_in": {"a.py": ("NPU001",)}},
    ],
)
def test_what_a_run_does_not_look_for_is_not_called_useless(options):
    assert codes(migrated("x = 1  # npu-migrate: ignore[NPU101]\n", **options)) == []


def test_what_only_the_first_run_sees_is_not_called_useless_after_it():
    text = """\
    import tensorflow as tf
    def build(opt, sess):
        opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, 'dynamic')
        return opt, sess.run('loss_scale:0')  # npu-migrate: ignore[NPU131]
    """
    result = migrated(text)
    assert b"NPULossScaleOptimizer" in result.after
    assert [finding.code for finding in result.suppressed] == ["NPU131"]
    assert codes(migrated(result.after.decode())) == []


def test_a_precision_that_stays_open_is_suppressed_in_later_runs_too():
    text = """\
    import tensorflow as tf
    def build(opt, flags):
        if flags():
            opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(opt)
        return opt
    session = tf.Session()  # npu-migrate: ignore[NPU405]
    """
    result = migrated(text)
    again = migrated(result.after.decode())
    for one in (result, again):
        assert [finding.code for finding in one.suppressed] == ["NPU405"]
    assert codes(again) == []


def test_rules_that_are_off_are_not_called_useless():
    text = "x = 1  # npu-migrate: ignore[NPU5]\n"
    assert codes(migrated(text)) == []
    assert codes(migrated(text, extend_select=("NPU5",))) == [(1, "NPU001")]


def test_a_comment_cannot_suppress_what_is_said_of_it():
    assert codes(migrated("x = 1  # npu-migrate: ignore[NPU0]\n")) == [(1, "NPU001")]


# Other files


def test_shell_scripts():
    text = "horovodrun -np 8 python train.py  # npu-migrate: ignore[NPU281]\n"
    assert run_all({"a.sh": text})["a.sh"].findings == ()
    result = run_all({"a.sh": "# npu-migrate: ignore-file\necho x # npu-migrate: ignore\n" + text})
    assert codes(result["a.sh"]) == [(2, "NPU001")]
    result = run_all({"a.sh": text}, ignored_in={"a.sh": ("NPU2",)})["a.sh"]
    assert (result.findings, len(result.suppressed)) == ((), 1)


LAUNCHED = """\
export X=1
{}
mpirun -np 8 \\{}
    python train.py{}
echo done{}
"""
IGNORED = "  # npu-migrate: ignore[NPU281]"


@pytest.mark.parametrize("place", [0, 2])
def test_a_command_over_several_lines(place):
    comments = [""] * 4
    comments[place] = IGNORED
    result = run_all({"a.sh": LAUNCHED.format(*comments)})["a.sh"]
    assert result.findings == ()
    assert [finding.code for finding in result.suppressed] == ["NPU281"]


def test_a_comment_speaks_for_no_other_command():
    result = run_all({"a.sh": LAUNCHED.format("", "", "", IGNORED)})["a.sh"]
    assert codes(result) == [(3, "NPU281"), (5, "NPU001")]
    above = "# npu-migrate: ignore\n\nmpirun -np 2 python a.py\n"
    assert codes(run_all({"a.sh": above})["a.sh"]) == [(1, "NPU001"), (3, "NPU281")]


def test_comments_above_each_other_speak_for_the_same_command():
    text = "# npu-migrate: ignore[NPU281]\n# why\n# npu-migrate: ignore[NPU681]\n"
    text += "CUDA_VISIBLE_DEVICES=0 mpirun -np 2 python a.py\n"
    result = run_all({"a.sh": text})["a.sh"]
    assert (result.findings, len(result.suppressed)) == ((), 2)


@pytest.mark.parametrize(
    "name, text",
    [
        (
            "Dockerfile",
            "# npu-migrate: ignore[NPU984]\nFROM nvcr.io/nvidia/tensorflow:20.06-tf1-py3\n",
        ),
        ("requirements.txt", "# npu-migrate: ignore\nhorovod==0.19\n"),
        ("Makefile", "train:\n# npu-migrate: ignore\n\tmpirun -np 2 \\\n\t  python train.py\n"),
    ],
)
def test_a_line_that_takes_no_comment_has_it_above(name, text):
    result = run_all({name: text})[name]
    assert (result.findings, len(result.suppressed)) == ((), 1)


@pytest.mark.parametrize(
    "text",
    [
        "cat > notes <<EOF\n# npu-migrate: ignore-file\nEOF\nmpirun -np 2 python a.py\n",
        "cat <<-'END'\n\t# npu-migrate: ignore-file\n\tEND\nmpirun -np 2 python a.py\n",
        'echo "# npu-migrate: ignore[NPU281]"; mpirun -np 2 python a.py\n',
        "x='\n# npu-migrate: ignore-file\n'\nmpirun -np 2 python a.py\n",
        "echo $# npu-migrate: ignore; mpirun -np 2 python a.py\n",
    ],
)
def test_strings_of_a_shell_script_suppress_nothing(text):
    assert [code for _, code in codes(run_all({"a.sh": text})["a.sh"])] == ["NPU281"]


def test_comments_beside_strings_suppress_as_ever():
    text = "echo it\\'s \"a # b\" # don't\nmpirun -np 2 python a.py  # npu-migrate: ignore\n"
    assert codes(run_all({"a.sh": text})["a.sh"]) == []


def test_strings_of_settings_suppress_nothing():
    text = '[project]\ndescription = """\n# npu-migrate: ignore-file\n"""\n'
    text += 'dependencies = ["horovod"]{}\n'
    assert codes(run_all({"pyproject.toml": text.format("")})["pyproject.toml"]) == [(5, "NPU982")]
    text = text.format("  # npu-migrate: ignore")
    assert codes(run_all({"pyproject.toml": text})["pyproject.toml"]) == []


# Writing the comments


LEFT = "strategy = tf.distribute.experimental.ParameterServerStrategy("


def added(text, **options):
    """The text with comments; a second run adds none, and nothing is left after it."""
    result = migrated(text, add_ignores=True, **options)
    again = migrated(result.after.decode(), add_ignores=True, **options)
    assert again.after == result.after
    assert not [finding for finding in again.findings if finding.status.is_left]
    assert not migrated(result.after.decode(), **options).findings
    return result.after.decode()


@pytest.mark.parametrize(
    "before, after",
    [
        (")", ")  # npu-migrate: ignore[NPU219]"),
        (")   ", ")  # npu-migrate: ignore[NPU219]"),
        (") # why", ") # why  # npu-migrate: ignore[NPU219]"),
        (")  # npu-migrate: ignore[NPU6] x", ")  # npu-migrate: ignore[NPU219,NPU6] x"),
        ("\n)", "  # npu-migrate: ignore[NPU219]\n)"),
        ('"""\na"""\n)', '"""\na"""\n)  # npu-migrate: ignore[NPU219]'),
        ("\\\n)", "\\\n)  # npu-migrate: ignore[NPU219]"),
        ("# \\\n)", "# \\  # npu-migrate: ignore[NPU219]\n)"),
        (") # npu-migrate: noqa", ") # npu-migrate: noqa  # npu-migrate: ignore[NPU219]"),
        ("); f()", "); f()  # npu-migrate: ignore[NPU219]"),
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_comments_are_written_where_a_line_ends(before, after, end):
    line = end or "\n"
    text = (HEAD + LEFT + before).replace("\n", line) + end
    expected = (HEAD + LEFT + after).replace("\n", line) + end
    assert added(text, ignore=("NPU0",)) == expected


def test_writing_comments_migrates_nothing():
    assert migrated(SCALED, add_ignores=True).after == SCALED.encode()
    assert migrated(SCALED, add_ignores=True).findings == ()


def test_no_comment_is_written_on_comments():
    text = "x = 1  # npu-migrate: ignore[NPU101]\n"
    result = migrated(text, add_ignores=True)
    assert (result.after.decode(), codes(result)) == (text, [(1, "NPU001")])


def test_comments_in_a_notebook():
    source = ["%matplotlib inline\n", "import tensorflow as tf\n", LEFT + ")"]
    cells = [{"cell_type": "code", "source": "x = 1"}, {"cell_type": "code", "source": source}]
    before = json.dumps({"cells": cells, "metadata": {}}, indent=1)
    result = run_all({"a.ipynb": before}, add_ignores=True)["a.ipynb"]
    source[-1] += "  # npu-migrate: ignore[NPU219]"
    assert result.after.decode() == json.dumps({"cells": cells, "metadata": {}}, indent=1)
    again = run_all({"a.ipynb": result.after.decode()})["a.ipynb"]
    assert (again.findings, [finding.cell for finding in again.suppressed]) == ((), [2])


def test_the_command_line(run, folder):
    (folder / "a.py").write_text(HEAD + LEFT + ")\n")
    outcome = run("--add-ignores", "--diff", ".")
    assert "+" + LEFT + ")  # npu-migrate: ignore[NPU219]\n" in outcome.out
    assert (folder / "a.py").read_text() == HEAD + LEFT + ")\n"
    outcome = run("--add-ignores", ".")
    assert (outcome.status, outcome.out) == (0, "1 of 1 file changed, 1 suppressed\n")
    outcome = run("--check", ".")
    assert (outcome.status, outcome.out) == (0, "0 of 1 file would change, 1 suppressed\n")
    outcome = run("--check", "--format=json", ".")
    assert json.loads(outcome.out)["summary"]["suppressed"] == 1


@pytest.mark.parametrize("option", ["--check", "--output=out"])
def test_comments_are_all_that_is_written(run, folder, option):
    (folder / "a.py").write_text(HEAD)
    outcome = run("--add-ignores", option, "a.py")
    assert outcome.status == 2
    assert "--add-ignores writes comments into the files and nothing else" in outcome.err


PROJECT_FILES = {
    "train.sh": "set -e\nfor n in 1 2; do\n  mpirun -np $n \\\n    python train.py\ndone\n",
    "Dockerfile": "# syntax=docker/dockerfile:1\nFROM nvcr.io/nvidia/tensorflow:20.06-tf1-py3\n",
    "requirements.txt": "numpy\nhorovod==0.19",
    "pyproject.toml": '[project]\ndependencies = [\n  "tensorflow-gpu==1.15",\n]\n',
    "Makefile": "train:\n\thorovodrun -np 2 python train.py\n",
}


@pytest.mark.parametrize("name", PROJECT_FILES)
def test_comments_are_written_above_what_is_no_python(name):
    text = PROJECT_FILES[name]
    result = run_all({name: text}, add_ignores=True)[name]
    lines = result.after.decode().splitlines()
    assert [line for line in lines if "npu-migrate" not in line] == text.splitlines()
    assert len(lines) == len(text.splitlines()) + 1
    assert result.findings == ()
    again = run_all({name: result.after.decode()})[name]
    assert (again.findings, len(again.suppressed)) == ((), 1)
