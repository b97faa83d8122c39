"""Distribution: where gradients are averaged, and which devices judge overflow together."""

import pytest
from support import body, code_of, left_as_marked, migrate, untouched, with_tf

SCALED = "tf.contrib.mixed_precision.LossScaleOptimizer"

# Scripts that were never distributed


GUIDE = """
    if ops_adapter.size() > 1:
        {inner} = NPUDistributedOptimizer({inner})
        {outer} = NPULossScaleOptimizer({inner}, m, is_distributed=True)
    else:
        {outer} = NPULossScaleOptimizer({inner}, m)
    """
ONE_EXPRESSION = (
    "NPULossScaleOptimizer(NPUDistributedOptimizer({0}) if ops_adapter.size() > 1 else {0}, m,"
    " is_distributed=ops_adapter.size() > 1)"
)


def build_with(lines, parameters="opt, m, flag"):
    """A script whose function ``build`` holds these lines."""
    code = "".join(f"    {line}\n" for line in lines.splitlines())
    return with_tf(f"\n\ndef build({parameters}):\n{code}    return opt\n")


def in_build(outcome):
    """The code of ``build`` between its head and its return."""
    return "\n".join(line[4:] for line in body(outcome.text, "build").splitlines()[1:-1])


@pytest.mark.parametrize(
    "statement, inner, outer",
    [
        (f"opt = {SCALED}(opt, m)", "opt", "opt"),
        (f"opt = other = {SCALED}(opt, m)", "opt", "opt = other"),
    ],
)
def test_statement_takes_the_form_of_the_guide(statement, inner, outer):
    outcome = left_as_marked(build_with(statement))
    assert code_of(in_build(outcome)) == code_of(GUIDE.format(inner=inner, outer=outer))


def test_optimizer_that_the_statement_makes_is_made_once():
    outcome = left_as_marked(build_with(f"opt = {SCALED}(flag(1), m)"))
    guide = GUIDE.format(inner="opt", outer="opt").replace("\n    ", "\n")
    assert code_of(in_build(outcome)) == code_of("opt = flag(1)" + guide)


def test_optimizer_that_is_still_used_by_its_own_name_stays_what_it_was():
    outcome = left_as_marked(build_with(f"wrapped = {SCALED}(opt, m)\nopt.get_slot(flag, wrapped)"))
    assert "opt = NPUDistributedOptimizer" not in outcome.text
    assert "NPULossScaleOptimizer(NPUDistributedOptimizer(opt), m, is_dist" in outcome.text


@pytest.mark.parametrize(
    "line, optimizer",
    [
        ("opt = [{}]", "opt"),
        ("opt = {} if flag else opt", "opt"),
        ("opt, flag = {}, 1", "opt"),
        ("opt = (lambda: {})()", "opt"),
        ("opt = {}.minimize(flag)", "opt"),
        ("if flag: opt = {}", "opt"),
        ("flag = 1; opt = {}", "opt"),
    ],
)
def test_expression_takes_the_form_in_one_expression(line, optimizer):
    outcome = left_as_marked(build_with(line.format(f"{SCALED}({optimizer}, m)")))
    expected = line.format(ONE_EXPRESSION.format(optimizer))
    assert code_of(in_build(outcome)) == code_of(expected)


def test_one_finding_says_what_else_a_distributed_run_needs():
    outcome = left_as_marked(build_with(f"opt = {SCALED}(opt, m)\nopt = [opt, {SCALED}(flag, m)]"))
    (finding,) = outcome.of("NPU201")
    assert "broadcast" in finding.message and "data" in finding.message


def test_keywords_of_the_optimizer():
    outcome = left_as_marked(
        build_with(f"return {SCALED}(loss_scale_manager=m, opt=opt)", "opt, m, flag")
    )
    assert "opt=NPUDistributedOptimizer(opt) if ops_adapter.size() > 1 else opt" in outcome.text
    assert "is_distributed=ops_adapter.size() > 1" in outcome.text


# Horovod


@pytest.mark.parametrize(
    "importing, imported",
    [
        ("import horovod.tensorflow as hvd", "from npu_migrate.runtime import ops_adapter as hvd"),
        (
            "from horovod import tensorflow as hv",
            "from npu_migrate.runtime import ops_adapter as hv",
        ),
        (
            "from horovod.tensorflow import size",
            "from npu_migrate.runtime.ops_adapter import size",
        ),
        (
            "from horovod.tensorflow.compression import Compression as C",
            "from npu_migrate.runtime.ops_adapter import Compression as C",
        ),
        (
            "from horovod.tensorflow import Compression",
            "from npu_migrate.runtime.ops_adapter import Compression",
        ),
    ],
)
def test_import_of_horovod(importing, imported):
    name = imported.split()[-1]
    outcome = left_as_marked(f"{importing}\n\nprint({name})\n")
    assert outcome.text == f"{imported}\n\nprint({name})\n"


def test_import_of_horovod_without_another_name():
    outcome = left_as_marked("""
        import horovod.tensorflow

        horovod.tensorflow.init()
        print(horovod.tensorflow.size())
        """)
    assert "horovod" not in outcome.text
    assert "ops_adapter.init()" in outcome.text and "print(ops_adapter.size())" in outcome.text


def test_unread_import_of_horovod_without_another_name():
    outcome = migrate("""
        import horovod.tensorflow
        import tensorflow as tf

        optimizer = tf.train.AdamOptimizer(0.1)
        """)
    assert "horovod" not in outcome.text


def test_star_import_of_horovod_is_reported():
    outcome = migrate("from horovod.tensorflow import *\n\nprint(size())\n")
    assert [(f.line, f.code[:4]) for f in outcome.findings if f.line == 1] == [(1, "NPU2")]


def test_import_of_horovod_inside_of_a_function_and_under_try():
    outcome = left_as_marked("""
        try:
            import horovod.tensorflow as hvd
        except ImportError:
            hvd = None

        def start():
            global hvd
            import horovod.tensorflow as hvd
            hvd.init()
            return hvd.rank() if hvd is not None else 0
        """)
    assert "horovod" not in outcome.text
    assert outcome.text.count("from npu_migrate.runtime import ops_adapter as hvd") == 2


def test_uses_that_keep_working_stay():
    uses = """
        def build(grads, fp16, hvd=hvd):
            if hvd is not None and hvd.size() > 1:
                grads = [hvd.allreduce(g, compression=hvd.Compression.fp16) for g in grads]
            return grads, hvd.rank(), hvd.local_rank(), hvd.broadcast_global_variables(0)
        """
    outcome = left_as_marked("import horovod.tensorflow as hvd\n" + body(uses, "build"))
    assert code_of(body(outcome.text, "build")) == code_of(body(uses, "build"))


def with_hvd(text, parameters="opt, m, flag, config"):
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return with_tf(f"import horovod.tensorflow as hvd\n\n\ndef build({parameters}):\n{lines}")


def hvd_becomes(given, expected, **named):
    outcome = left_as_marked(with_hvd(given))
    built = "\n".join(line[4:] for line in body(outcome.text, "build").splitlines()[1:])
    assert code_of(built) == code_of(expected)
    for code, words in named.items():
        for word in words.split():
            assert word in outcome.messages(code)
    return outcome


@pytest.mark.parametrize(
    "given, expected, named",
    [
        ("hvd.DistributedOptimizer(opt)", "NPUDistributedOptimizer(opt)", ""),
        (
            "hvd.DistributedOptimizer(opt, compression=hvd.Compression.fp16)",
            "NPUDistributedOptimizer(opt)",
            "compression float16",
        ),
        (
            "hvd.DistributedOptimizer(opt, sparse_as_dense=True)",
            "NPUDistributedOptimizer(opt)",
            "sparse_as_dense momentum",
        ),
        (
            "hvd.DistributedOptimizer(opt, op=hvd.Adasum if flag else hvd.Average)",
            "NPUDistributedOptimizer(opt)",
            "op averaged otherwise",
        ),
        (
            "hvd.DistributedOptimizer(opt, op=hvd.Average, backward_passes_per_step=1)",
            "NPUDistributedOptimizer(opt)",
            "",
        ),
    ],
)
def test_distributed_optimizer(given, expected, named):
    hvd_becomes(f"opt = {given}\nreturn opt", f"opt = {expected}\nreturn opt", NPU203=named)


def test_positional_arguments_of_horovod_are_kept_or_named():
    outcome = left_as_marked(
        with_hvd("return hvd.DistributedOptimizer(opt, 'mine', False, '/gpu:0')")
    )
    assert "NPUDistributedOptimizer(opt" in outcome.text
    assert "'mine'" in outcome.text or " name" in outcome.messages("NPU203")
    assert "device_dense" in outcome.messages("NPU203")


@pytest.mark.parametrize(
    "argument", ["backward_passes_per_step=2", "op=hvd.Adasum", "op=hvd.Sum", "op=flag"]
)
def test_argument_without_counterpart(argument):
    call = f"hvd.DistributedOptimizer(opt, {argument})"
    outcome = left_as_marked(with_hvd(f"opt = {call}  #! NPU207\nreturn opt"))
    assert call in outcome.text and argument.partition("=")[0] in outcome.messages("NPU207")


@pytest.mark.parametrize("hook", ["BroadcastGlobalVariablesHook({})"])
@pytest.mark.parametrize("root", ["0", "root_rank=0"])
def test_broadcast_hook(hook, root):
    outcome = left_as_marked(with_hvd(f"return hvd.{hook.format(root)}"))
    argument = root.replace("root_rank=", "")
    assert f"NPU{hook.format(argument + ', hvd.rank()')}" in outcome.text


@pytest.mark.parametrize(
    "given, expected",
    [
        (
            f"opt = hvd.DistributedOptimizer(opt)\nopt = {SCALED}(opt, m)\nreturn opt",
            """
            opt = NPUDistributedOptimizer(opt)
            opt = NPULossScaleOptimizer(opt, m, is_distributed=ops_adapter.size() > 1)
            return opt
            """,
        ),
        (
            f"if flag:\n    opt = hvd.DistributedOptimizer(opt)\nreturn {SCALED}(opt, m)",
            """
            if flag:
                opt = NPUDistributedOptimizer(opt)
            return NPULossScaleOptimizer(opt, m, is_distributed=ops_adapter.size() > 1)
            """,
        ),
        (
            f"opt = {SCALED}(opt, m)\n"
            "return [(hvd.allreduce(g), v) for g, v in opt.compute_gradients(flag)]",
            """
            opt = NPULossScaleOptimizer(opt, m, is_distributed=ops_adapter.size() > 1)
            return [(hvd.allreduce(g), v) for g, v in opt.compute_gradients(flag)]
            """,
        ),
        (
            f"return hvd.DistributedOptimizer({SCALED}(opt, m))",
            """
            return NPULossScaleOptimizer(
                NPUDistributedOptimizer(opt), m, is_distributed=ops_adapter.size() > 1)
            """,
        ),
        (
            f"opt = {SCALED}(opt, m)\nopt = hvd.DistributedOptimizer(opt)\nreturn opt",
            """
            opt = NPULossScaleOptimizer(
                NPUDistributedOptimizer(opt), m, is_distributed=ops_adapter.size() > 1)
            return opt
            """,
        ),
    ],
)
def test_gradients_are_averaged_where_horovod_did(given, expected):
    hvd_becomes(given, expected)


@pytest.mark.parametrize(
    "argument", ["backward_passes_per_step=2", "op=hvd.Adasum", "backward_passes_per_step=flag"]
)
@pytest.mark.parametrize(
    "given",
    [
        "return hvd.DistributedOptimizer({}(opt, m), {})",
        "opt = {}(opt, m)\nopt = hvd.DistributedOptimizer(opt, {})\nreturn opt",
    ],
)
def test_wrong_nesting_with_an_argument_without_counterpart_is_left(given, argument):
    outcome = migrate(with_hvd(given.format(SCALED, argument)))
    assert argument in outcome.text and "NPULossScaleOptimizer(" not in outcome.text
    assert argument.partition("=")[0] in outcome.messages("NPU207")


def test_wrong_nesting_names_what_is_dropped():
    outcome = left_as_marked(
        with_hvd(
            f"return hvd.DistributedOptimizer({SCALED}(opt, m), "
            "compression=hvd.Compression.fp16, sparse_as_dense=True)"
        )
    )
    assert "compression" in outcome.messages() and "sparse_as_dense" in outcome.messages()


def test_wrong_nesting_with_something_between_is_reported():
    given = f"opt = {SCALED}(opt, m)\nflag(opt)\nopt = hvd.DistributedOptimizer(opt)\nreturn opt"
    outcome = migrate(with_hvd(given))
    assert {code for _, code in outcome.left} == {"NPU205"}
    assert outcome.text.count("DistributedOptimizer(") == 1


def test_distributed_optimizer_of_a_handed_module():
    files = {
        "train.py": with_tf("""
            import horovod.tensorflow as hvd
            import model

            def main(loss, flag):
                return model.build(loss, comm=hvd if flag else None)
            """),
        "model.py": with_tf("""
            def build(loss, comm=None):
                opt = tf.train.AdamOptimizer(0.1)
                if comm is not None:
                    opt = comm.DistributedOptimizer(opt)
                opt = tf.contrib.mixed_precision.LossScaleOptimizer(
                    opt, tf.contrib.mixed_precision.FixedLossScaleManager(8))
                return opt.minimize(loss)

            def other(loss, hvd=None):
                return hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1)).minimize(loss)

            def third(loss, comm):
                return comm.DistributedOptimizer(tf.train.AdamOptimizer(0.1)).minimize(loss)
            """),
    }
    outcome = migrate(files)
    text = outcome.texts["model.py"]
    build = body(text, "build")
    assert "if comm is not None:\n        opt = NPUDistributedOptimizer(opt)" in build
    assert "is_distributed=ops_adapter.size() > 1)" in build
    assert build.count("NPUDistributedOptimizer") == 1
    assert "NPUDistributedOptimizer(" in body(text, "other")
    assert "comm.DistributedOptimizer(" in body(text, "third")
    assumed = [(f.line, f.assumed) for f in outcome.of("NPU203")]
    assert assumed == [(6, False), (12, True)]


def test_parameter_that_looks_like_horovod_gets_no_second_average():
    outcome = migrate(
        with_tf("""
        def build(loss, hvd=None):
            opt = tf.train.AdamOptimizer(0.1)
            if hvd is not None:
                opt = hvd.DistributedOptimizer(opt)
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(
                opt, tf.contrib.mixed_precision.FixedLossScaleManager(8))
            return opt.minimize(loss)
        """)
    )
    assert "        opt = hvd.DistributedOptimizer(opt)" in outcome.text.splitlines()
    if "NPUDistributedOptimizer" in outcome.text:
        assert [f for f in outcome.findings if "hvd.DistributedOptimizer" in f.message]


def test_what_is_left_of_horovod_is_the_same_in_the_second_run():
    text = with_hvd(
        f"opt = {SCALED}(opt, m)\nflag(opt)\nopt = hvd.DistributedOptimizer(opt)\nreturn opt"
    )
    first = migrate(text)
    second = migrate(first.text)
    assert [(f.code, f.message) for f in second.findings] == [
        (f.code, f.message) for f in first.findings if f.status.value != "migrated"
    ]


@pytest.mark.parametrize(
    "name, code",
    [("hvd.mpi_ops._allreduce(opt)", "NPU206"), ("hvd.allgather_object(opt)", "NPU918")],
)
def test_use_without_counterpart(name, code):
    untouched(with_hvd(f"return {name}  #! {code}"))


def test_use_without_counterpart_in_a_subscript_of_several_dimensions():
    untouched(with_hvd("return x[hvd.nope(), 0:1]  #! NPU206", "x"))


# Devices


def test_device_of_the_process_is_bound_by_the_environment():
    outcome = hvd_becomes(
        "config.gpu_options.visible_device_list = str(hvd.local_rank())\n"
        "config.gpu_options.allow_growth = True\nreturn config",
        "config.gpu_options.allow_growth = True\nreturn config",
    )
    assert [f.line for f in outcome.of("NPU601")] == [6]


def test_device_line_that_is_a_whole_block():
    hvd_becomes(
        "if hvd.size() > 1:\n"
        "    config.gpu_options.visible_device_list = str(hvd.local_rank())\nreturn config",
        "if hvd.size() > 1:\n    pass\nreturn config",
    )
