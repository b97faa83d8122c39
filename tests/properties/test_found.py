"""What the properties once found, shrunk: each holds all promises, and what else is said here."""

from textwrap import dedent
from typing import Dict, Tuple, Union

import pytest
from promises import RULES, Result, check

from npu_migrate import engine
from npu_migrate.options import Options
from npu_migrate.sources import Source


def checked(files: Union[str, Dict[str, str]]) -> Dict[str, Result]:
    if isinstance(files, str):
        files = {"train.py": files}
    return check({path: dedent(text).encode() for path, text in files.items()})


def text(script: str) -> str:
    """What becomes of one script."""
    return checked(script)["train.py"].after.decode()


MIXED = "from tensorflow.contrib import mixed_precision as mp\n"


def test_a_name_from_a_submodule_of_the_same_name_that_is_not_there() -> None:
    package = "from .ext import ext\nopt = ext().minimize()\n"
    checked({"setup.py": "", "pkg/__init__.py": package})
    checked({"setup.py": "", "pkg/__init__.py": "from .user import *\n", "pkg/user.py": package})


def test_an_import_of_horovod_goes_with_its_last_use() -> None:
    after = text("from horovod import tensorflow as hvd\nopt = hvd.DistributedOptimizer(opt)\n")
    assert "hvd" not in after and "ops_adapter" not in after
    after = text("import os, horovod.tensorflow as hv\nprint(os, hv.DistributedOptimizer(opt))\n")
    assert "import os\n" in after and "hv." not in after and "as hv" not in after


def test_the_adapter_is_imported_once() -> None:
    after = text(
        """\
        import tensorflow as tf
        import horovod.tensorflow
        manager = tf.contrib.mixed_precision.FixedLossScaleManager(8)
        opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, manager)
        """
    )
    assert after.count("import ops_adapter") == 1


def test_the_rank_of_a_broadcast_under_the_dotted_name_of_horovod() -> None:
    after = text(
        """\
        import horovod.tensorflow
        print(horovod.tensorflow.rank())
        hooks.append(horovod.tensorflow.BroadcastGlobalVariablesHook(0))
        """
    )
    assert "NPUBroadcastGlobalVariablesHook(0, ops_adapter.rank())" in after


def test_new_code_uses_the_name_of_tensorflow_that_stays() -> None:
    after = text(
        """\
        import tensorflow.contrib.mixed_precision
        import tensorflow as tf
        with tf.control_dependencies(update_ops):
            if FLAGS:
                m = tensorflow.contrib.mixed_precision.ExponentialUpdateLossScaleManager(8, 9)
        """
    )
    assert "with tf.control_dependencies(None):" in after
    after = text(
        """\
        import tensorflow.contrib.mixed_precision
        from tensorflow.compat import v1 as tf1
        class Own(tf1.train.Optimizer):
            def apply_gradients(self, grads_and_vars, global_step=None, name=None):
                return tf1.group(*[v.assign_sub(g) for g, v in grads_and_vars])
        opt = tensorflow.contrib.mixed_precision.LossScaleOptimizer(Own(False, 'own'), manager)
        train_op = opt.minimize(loss, global_step=step)
        train_op = tf1.group(train_op, tf1.assign(step, step + 1))
        """
    )
    assert "tf1.control_dependencies([update_op])" in after


def test_a_star_import_of_the_classes_goes_with_the_last_of_them() -> None:
    after = text(
        """\
        from tensorflow.contrib.mixed_precision import *
        manager = FixedLossScaleManager(8)
        """
    )
    assert "*" not in after


def test_an_unused_import_of_a_class_does_not_hide_the_new_one() -> None:
    after = text(
        """\
        import tensorflow as tf
        from tensorflow.contrib.mixed_precision import FixedLossScaleManager
        opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, 8.)
        """
    )
    assert after.count("import FixedLossScaleManager") == 1
    after = text(
        """\
        import tensorflow
        def f(opt):
            from tensorflow.contrib.mixed_precision import FixedLossScaleManager
            scale = tensorflow.train.experimental.FixedLossScale(8)
            return tensorflow.train.experimental.MixedPrecisionLossScaleOptimizer(opt, scale)
        """
    )
    assert "tensorflow.contrib" not in after


def test_the_arms_of_a_try() -> None:
    checked(
        MIXED
        + """\
try:
    opt = mp.LossScaleOptimizer(base, manager)
except ValueError:
    opt = mp.LossScaleOptimizer(base, other)
"""
    )


def test_a_statement_of_several_lines_beside_another() -> None:
    after = text(
        MIXED
        + """\
print(
    a); a = mp.LossScaleOptimizer(a, m)
b = mp.LossScaleOptimizer(b,
    m); print(b)
c = mp.LossScaleOptimizer \\
  (c, m); print(c)
with tf.control_dependencies(update_ops):
    n = mp.ExponentialUpdateLossScaleManager(2 ** 15,
      1000); d = mp.LossScaleOptimizer(d, n)
"""
    )
    assert "mp." not in after


def test_classes_that_are_each_others_base() -> None:
    checked(
        """\
        class One(Other):
            def apply_gradients(self, grads_and_vars, global_step=None):
                return super().apply_gradients(grads_and_vars, global_step)
        class Other(One):
            pass
        train_op = tf.cond(ready, lambda: One().apply_gradients(gvs), tf.no_op)
        """
    )


def test_an_optimizer_of_an_outer_scope_is_not_bound_anew() -> None:
    checked(
        """\
        import tensorflow as tf
        opt_tmp = tf.train.AdamOptimizer(0.1)
        def wrapped(manager):
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt_tmp, manager)
            return opt
        """
    )


@pytest.mark.parametrize("header", ["while x:", "for _ in range(2):"])
def test_a_loop_averages_once(header: str) -> None:
    after = text(
        f"""\
        import tensorflow as tf
        {header}
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(base, manager)
        """
    )
    assert "base = NPUDistributedOptimizer(base)" not in after


def test_a_manager_that_a_loop_may_not_bind() -> None:
    checked(
        """\
        import tensorflow as tf
        while x:
            if FLAGS:
                manager = tf.contrib.mixed_precision.FixedLossScaleManager(8)
        opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, manager)
        """
    )


def test_an_import_that_stands_twice_goes_twice() -> None:
    after = text(
        """\
        from tensorflow.contrib import mixed_precision
        from tensorflow.contrib import mixed_precision
        manager = mixed_precision.FixedLossScaleManager(8)
        """
    )
    assert "contrib" not in after


def test_horovod_stays_imported_for_a_parameter_that_is_left() -> None:
    checked(
        """\
        import horovod.tensorflow as hvd
        def train(opt, hvd=None):
            opt = hvd.DistributedOptimizer(opt, backward_passes_per_step=4)
            return tf.contrib.mixed_precision.LossScaleOptimizer(opt, manager)
        print(hvd.DistributedOptimizer(base))
        """
    )
    checked(
        """\
        import horovod.tensorflow
        def train(opt, hvd):
            opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(opt)
            opt = hvd.DistributedOptimizer(opt, *KWARGS)
        """
    )
    checked(
        """\
        import horovod.tensorflow as hvd
        from tensorflow.train.experimental import enable_mixed_precision_graph_rewrite
        train(hvd.DistributedOptimizer(opt))
        def train(opt, hvd=None):
            scaled = enable_mixed_precision_graph_rewrite(opt)
            opt = scaled
            opt = hvd.DistributedOptimizer(opt)
        """
    )


def test_a_comment_in_a_dotted_name_is_not_lost() -> None:
    script = """\
        import tensorflow.compat.v1 as tf
        scaler = (tf.train.experimental.  # note
            FixedLossScale(8))
        opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, scaler)
        """
    (result,) = checked(script).values()
    assert result.after == result.before
    assert len(result.left) == len(result.findings)


@pytest.mark.parametrize("path", ["compat/__init__.py", "compat.py"])
@pytest.mark.parametrize("names", ["*", "LossScaleOptimizer", "LossScaleOptimizer as LSO"])
def test_what_a_facade_offers_to_others_stays(path: str, names: str) -> None:
    facade = f"from tensorflow.contrib.mixed_precision import {names}\n"
    assert checked({"setup.py": "", path: facade})[path].after.decode() == facade


def test_two_wraps_in_a_loop_share_no_manager() -> None:
    checked(
        """\
        import tensorflow.compat.v1 as v1
        while FLAGS:
            loss_scaler = 'dynamic'
            opt = v1.train.experimental.MixedPrecisionLossScaleOptimizer(base, loss_scaler)
        """
    )


@pytest.mark.parametrize("given", ["", ", backward_passes_per_step=4"])
def test_horovod_stays_imported_under_another_name(given: str) -> None:
    checked(
        f"""\
        import tensorflow
        import horovod.tensorflow as hv
        opt = hv.DistributedOptimizer(opt)
        def train(opt, hvd):
            opt = tensorflow.train.experimental.MixedPrecisionLossScaleOptimizer(opt, 'dynamic')
            return hvd.DistributedOptimizer(opt{given})
        """
    )


def test_a_class_stays_as_it_is_while_its_user_can_not_be_rewritten() -> None:
    """``except E :`` does not survive libcst, so the file with the step logic is left."""
    files = {
        "lamb.py": """\
import tensorflow as tf
class Own(tf.train.Optimizer):
    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        return tf.group(*[v.assign_sub(g) for g, v in grads_and_vars])
""",
        "train.py": """\
import lamb
import tensorflow as tf
from tensorflow.contrib import mixed_precision as mp
def train(loss, step):
    try:
        opt = mp.LossScaleOptimizer(lamb.Own(False, 'own'), mp.FixedLossScaleManager(8))
    except ValueError : raise
    train_op = opt.minimize(loss, global_step=step)
    return tf.group(train_op, step.assign(step + 1))
""",
    }
    sources = [Source(path, code.encode()) for path, code in files.items()]
    results = engine.migrate(sources, RULES, Options())
    changed = {result.path for result in results if result.before != result.after}
    assert changed in (set(), set(files))


def test_a_class_that_is_left_keeps_its_import() -> None:
    after = text(
        """\
        from tensorflow.contrib.mixed_precision import ExponentialUpdateLossScaleManager
        import horovod.tensorflow as hvd
        from tensorflow import contrib
        import tensorflow as tf
        def migrated(opt):
            scale = tf.train.experimental.DynamicLossScale()
            return tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, scale)
        def left(opt, update_ops, hvd):
            with tf.control_dependencies(update_ops):
                manager = ExponentialUpdateLossScaleManager(2, 9)
                opt = contrib.mixed_precision.LossScaleOptimizer(opt, manager)
            return hvd.DistributedOptimizer(opt, backward_passes_per_step=4)
        """
    )
    assert "from tensorflow.contrib.mixed_precision import Exponential" in after


def test_an_import_of_horovod_that_stands_twice_goes_twice() -> None:
    after = text("import horovod.tensorflow as hvd\n" * 2 + "opt = hvd.DistributedOptimizer(opt)\n")
    assert "hvd" not in after


def test_each_function_keeps_its_own_import_of_a_dotted_module_only_while_it_needs_it() -> None:
    after = text(
        """\
        import tensorflow as tf
        hvd = None
        if FLAGS.horovod:
            import horovod.tensorflow as hvd
        def left(opt):
            import tensorflow.contrib.mixed_precision
            opt = tensorflow.contrib.mixed_precision.LossScaleOptimizer(opt, manager)
            if hvd is not None:
                opt = hvd.DistributedOptimizer(opt)
            return opt
        def migrated(opt):
            import tensorflow.contrib.mixed_precision
            return tensorflow.contrib.mixed_precision.LossScaleOptimizer(opt, manager)
        """
    )
    assert after.count("import tensorflow.contrib.mixed_precision") == 1
    assert "NPULossScaleOptimizer" in after


MANAGER = "FixedLossScaleManager"


@pytest.mark.parametrize("imports", [("*", MANAGER), (MANAGER, "*")])
def test_a_star_import_goes_where_the_name_that_is_left_is_imported_too(
    imports: Tuple[str, str],
) -> None:
    left = text(
        """\
        import tensorflow as tf
        import horovod.tensorflow
        from tensorflow.contrib.mixed_precision import {}
        from tensorflow.contrib.mixed_precision import {}

        def train(loss, opt):
            opt = horovod.tensorflow.DistributedOptimizer(opt)
            manager = ExponentialUpdateLossScaleManager(2 ** 32, 1000)
            opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, manager)
            return opt.minimize(loss)

        def other(loss, opt, a):
            if a:
                scale = tf.train.experimental.DynamicLossScale()
                opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, scale)
            else:
                opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, FixedLossScaleManager(1))
            opt = horovod.tensorflow.DistributedOptimizer(opt)
            return opt.minimize(loss)
        """.format(*imports)
    )
    assert " FixedLossScaleManager(1)" in left
    assert "import *" not in left


def test_what_keeps_a_script_on_horovod_is_not_taken_away() -> None:
    level = "config.graph_options.optimizer_options.global_jit_level"
    result = checked(
        f"""\
        import os
        import horovod.tensorflow as hvd
        def build(config, opt, params):
            if params.use_xla:
                {level} = hvd.compat.v1.OptimizerOptions.ON_1
            os.environ['TF_XLA_FLAGS'] = hvd.flags
            os.environ['CUDA_VISIBLE_DEVICES'] = hvd.devices
            return hvd.DistributedOptimizer(opt)
        """
    )["train.py"]
    assert result.after == result.before
    assert {"NPU206", "NPU406", "NPU606"} < {finding.code for finding in result.left}


def test_what_only_sets_gpus_up_goes_with_what_decides_it() -> None:
    after = text(
        """\
        import tensorflow as tf
        def load(growth):
            if growth:
                devices = tf.config.experimental.list_physical_devices("GPU")
                for device in devices:
                    tf.config.experimental.set_memory_growth(device, True)
            return 1
        """
    )
    assert after == "import tensorflow as tf\ndef load(growth):\n    return 1\n"
