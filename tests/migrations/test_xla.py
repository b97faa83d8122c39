"""XLA goes off (NPU406 to NPU409)."""

import pytest
from support import left_as_marked, migrate, untouched, with_tf

LEVEL = "config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions."


@pytest.mark.parametrize(
    "statement",
    [
        LEVEL + "ON_1",
        LEVEL + "ON_2",
        "tf.config.optimizer.set_jit(True)",
        "os.environ['TF_XLA_FLAGS'] = '--tf_xla_auto_jit=2'",
        "os.environ['TF_XLA_FLAGS'] += ' --tf_xla_cpu_global_jit'",
        "os.environ.setdefault('TF_XLA_FLAGS', '--tf_xla_auto_jit=2')",
        "os.environ.update({'TF_XLA_FLAGS': '--tf_xla_auto_jit=2'})",
        "os.putenv('TF_XLA_FLAGS', '--tf_xla_auto_jit=2')",
    ],
)
def test_statements_are_commented_out(statement):
    text = with_tf(f"import os\nconfig = tf.ConfigProto()\n{statement}\nprint(config)\n")
    assert migrate(text).text == text.replace(statement, "# " + statement)
    assert migrate(text, removed="delete").text == text.replace(statement + "\n", "")


def test_a_condition_goes_with_all_that_it_holds():
    text = with_tf(f"if FLAGS.xla:\n  {LEVEL}ON_1\nrun(config)\n")
    assert "\nif" not in migrate(text).text
    kept = with_tf(f"if FLAGS.xla:\n  {LEVEL}ON_1\nelse:\n  run(config)\n")
    assert "if FLAGS.xla:\n" in migrate(kept).text


@pytest.mark.parametrize(
    "before, after",
    [
        (
            "tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1)",
            "tf.OptimizerOptions()",
        ),
        (
            "tf.contrib.compiler.jit.experimental_jit_scope()",
            "tf.contrib.compiler.jit.experimental_jit_scope(compile_ops=False)",
        ),
        (
            "tf.xla.experimental.jit_scope(True)",
            "tf.xla.experimental.jit_scope(False)",
        ),
        ("os.environ.update(A='1', TF_XLA_FLAGS='x')", "os.environ.update(A='1')"),
        ("tf.function(f, experimental_compile=True)", "tf.function(f)"),
    ],
)
def test_arguments_change(before, after):
    text = with_tf(f"import os\nx = {before}\n")
    assert migrate(text).text == text.replace(before, after)


def test_what_is_off_stays():
    untouched(
        with_tf(
            f"""\
            import os
            {LEVEL}OFF
            tf.config.optimizer.set_jit(False)
            options = tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.OFF)
            flags = os.environ.get('TF_XLA_FLAGS', '')
            scope = tf.xla.experimental.jit_scope(compile_ops=False)
            """
        )
    )


def test_what_a_person_must_change():
    left_as_marked(
        with_tf(
            """\
            import os
            x = tf.xla.experimental.compile(f, [y])  #! NPU408
            y = tf.contrib.compiler.xla.compile(f, [y])  #! NPU408
            os.environ.update({'A': '1', 'TF_XLA_FLAGS': '--tf_xla_auto_jit=2'})  #! NPU409
            """
        )
    )
