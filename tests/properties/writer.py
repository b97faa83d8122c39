"""Training scripts as people write them, every construct of the migrations in some form.

A script comes out as plain code (see ``typeset``): what it does is drawn here, how it looks there.
"""

from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

from hypothesis import strategies as st
from typeset import Setting, settings, typeset


class Script(NamedTuple):
    """One file: what it says, how it is set, and the bytes."""

    code: str
    setting: Setting

    @property
    def data(self) -> bytes:
        return typeset(self.code, self.setting)


class Draw:
    """Choices, in the words of this module."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self._draw = draw
        self._count = 0

    def one(self, *choices: Any) -> Any:
        return self._draw(st.sampled_from(choices))

    def maybe(self, *lines: str) -> List[str]:
        """The lines, or none."""
        return list(lines) if self.flip() else []

    def flip(self) -> bool:
        return bool(self._draw(st.booleans()))

    def count(self, least: int, most: int) -> int:
        return int(self._draw(st.integers(least, most)))

    def order(self, items: Sequence[Any]) -> List[Any]:
        return list(self._draw(st.permutations(items)))

    def number(self) -> int:
        """A number of its own, for names."""
        self._count += 1
        return self._count


def indented(lines: Sequence[str], header: str = "") -> List[str]:
    body = ["    " + line for line in lines or ["pass"]]
    return [header, *body] if header else body


# Code that no migration is about ----------------------------------------------------------------

PLAIN = (
    """\
def noisy(x, *args, key=None, **kwargs):
    '''Says é.¶    Twice.'''
    for i in range(3):
        if i % 2:
            continue
        elif x: print(f"{i!r:>{key}} {x + 1}", *args, **kwargs)
        else:
            pass
    return [u for u in args if u] or {**kwargs}
""",
    """\
class Pool(object):
    '''A pool.'''
    tf = None
    def __init__(self, items): self.items = items
    @property
    def size(self):
        return len(self.items)
    @staticmethod
    def batch(n, hvd = lambda: 1):
        return hvd() if n else None
    def rank(self, tf):
        return tf.train.experimental.FixedLossScale(tf.hvd.size())
""",
    """\
class LossScaleOptimizer(Base):
    def apply_gradients(self, pairs, global_step=None):
        return list(pairs)
    def DistributedOptimizer(self, opt):
        return opt
""",
    """\
def deco(*given, **named):
    def wrap(function):
        return function
    return wrap
@deco(1, key="é")
@deco
def decorated(a: int = 1, *, b: "str" = '''multi¶line # no comment''') -> None:
    global STATE
    STATE = a; b = 2
    def inner():
        nonlocal a
        a = b
        return lambda c, d=3: (c, d, a)
    return inner()
""",
    """\
try:
    import json as simplejson
except ImportError as error:
    simplejson = None
else:
    import os.path, sys as system
finally:
    DONE = True
while DONE: DONE = not DONE
with open(__file__) as handle, handle:
    TEXT = handle.read() ; LINES = TEXT.split("\\n")
""",
    "if __debug__: del __builtins__\nVERY_LONG = [" + ", ".join(map(str, range(90))) + "]\n",
    "async def k():\n    async with l as m: await n(m)\n    return [u async for u in m if u]\n",
    "x = y = z = {'a': 1, 'b': [2, 3]}['a'] if 1 else (4,)\nx += -1 ** 2\nassert x, 'é'\n",
    "flags = tf_flags = object()\nFLAGS = flags\n",
)
"""None of these changes, whatever stands around it."""


@st.composite
def plain_codes(draw: Any) -> str:
    """Code without any construct."""
    parts = draw(st.lists(st.sampled_from(PLAIN), min_size=0, max_size=6))
    head = draw(st.sampled_from(("", "'''Doc é.'''\n", "from __future__ import division\n")))
    return head + "".join(parts)


# Imports ----------------------------------------------------------------------------------------

TENSORFLOW = {
    "import tensorflow as tf": "tf",
    "import tensorflow": "tensorflow",
    "import numpy as np, tensorflow as tf": "tf",
    "import tensorflow.compat.v1 as tf": "tf",
    "from tensorflow.compat import v1 as tf1": "tf1",
    "import tensorflow as tf; import tensorflow": "tf",
}
"""An import and the name that it gives."""

CONTRIB = {
    "": "{tf}.contrib.mixed_precision.{name}",
    "import tensorflow.contrib.mixed_precision as mp": "mp.{name}",
    "import tensorflow.contrib.mixed_precision": "tensorflow.contrib.mixed_precision.{name}",
    "from tensorflow.contrib import mixed_precision": "mixed_precision.{name}",
    "from tensorflow.contrib import layers, mixed_precision as mp2": "mp2.{name}",
    "from tensorflow import contrib": "contrib.mixed_precision.{name}",
    "from tensorflow.contrib.mixed_precision import {name}": "{name}",
    "from tensorflow.contrib.mixed_precision import {name} as Own{name}": "Own{name}",
    "from tensorflow.contrib.mixed_precision import *": "{name}",
    "from tensorflow.contrib.mixed_precision.python import loss_scale_optimizer as lso,"
    " loss_scale_manager as lsm": "{private}.{name}",
    "amp = {tf}.contrib.mixed_precision": "amp.{name}",
}
EXPERIMENTAL = {
    "": "{tf}.train.experimental.{name}",
    "import tensorflow.compat.v1 as v1": "v1.train.experimental.{name}",
    "from tensorflow.train.experimental import {name}": "{name}",
    "from tensorflow.train import experimental": "experimental.{name}",
    "train = {tf}.train": "train.experimental.{name}",
}
HOROVOD = {
    "import horovod.tensorflow as hvd": "hvd",
    "import horovod.tensorflow": "horovod.tensorflow",
    "from horovod import tensorflow as hvd": "hvd",
    "import os, horovod.tensorflow as hv": "hv",
    "try:\n    import horovod.tensorflow as hvd\nexcept ImportError:\n    hvd = None": "hvd",
    "hvd = None\nif FLAGS.horovod:\n    import horovod.tensorflow as hvd": "hvd",
    "def load():\n    global hvd\n    import horovod.tensorflow as hvd": "hvd",
}


class Author:
    """Writes one script; collects the imports that its parts need."""

    def __init__(self, draw: Draw, tensorflow: str, horovod: str, local: bool) -> None:
        self.draw = draw
        self.tf = TENSORFLOW[tensorflow]
        self.hvd = HOROVOD.get(horovod, "")
        self.imports: List[str] = [tensorflow, *([horovod] if horovod else [])]
        self.local: List[str] = []
        self.imports_locally = local
        self.classes: List[str] = []
        self.forms: Dict[str, Tuple[str, str]] = {}

    def _import(self, statement: str) -> None:
        found = self.local if self.imports_locally else self.imports
        if statement and statement not in found:
            found.append(statement)

    def _name(self, name: str, forms: Dict[str, str]) -> str:
        statement, use = self.forms.setdefault(name[:5], self.draw.one(*forms.items()))
        if statement not in forms:
            statement, use = self.draw.one(*forms.items())
        if statement.endswith("*") and self.imports_locally:
            statement, use = next(iter(forms.items()))
        private = "lso" if name.endswith("Optimizer") else "lsm"
        self._import(statement.format(tf=self.tf, name=name))
        return use.format(tf=self.tf, name=name, private=private)

    def contrib(self, name: str) -> str:
        if "compat" in self.imports[0]:
            forms = {k: v for k, v in CONTRIB.items() if k and "{tf}" not in k}
        else:
            forms = CONTRIB
        return self._name(name, forms)

    def experimental(self, name: str) -> str:
        return self._name(name, EXPERIMENTAL)

    # Loss scaling ---------------------------------------------------------------------------------

    def manager(self) -> str:
        """A manager of ``tf.contrib``, as one expression."""
        if self.draw.flip():
            name = self.contrib("FixedLossScaleManager")
            return f"{name}({self.draw.one('128', 'loss_scale=8.', '2 ** 10')})"
        name = self.contrib("ExponentialUpdateLossScaleManager")
        given = self.draw.one(
            "2 ** 32, 1000",
            "init_loss_scale=2 ** 15, incr_every_n_steps=1000",
            "2 ** 15, 1000, 2, decr_ratio=0.5",
            "*ARGS",
        )
        return f"{name}({given})"

    def scale(self) -> str:
        """A loss scale as ``tf.train.experimental`` takes it."""
        dynamic, fixed = "DynamicLossScale", "FixedLossScale"
        kind = self.draw.one("'dynamic'", "128.", dynamic, fixed, "scale")
        if kind == dynamic:
            given = self.draw.one("", "increment_period=100", "2. ** 12, 2000, 4.", "2 ** 9")
            return f"{self.experimental(dynamic)}({given})"
        return f"{self.experimental(fixed)}(8.)" if kind == fixed else str(kind)

    def wrapped(self, opt: str) -> Tuple[List[str], str, List[str]]:
        """Statements before, a loss-scaling optimizer as an expression, statements after."""
        kind = self.draw.one("contrib", "contrib", "experimental", "rewrite")
        before, after = [], []
        value = self.manager() if kind == "contrib" else self.scale()
        name = self.draw.one("", "", "manager", "self.manager", "loss_scaler")
        if name.startswith("self") and not self.draw.flip():
            name = "manager"
        if name:
            before = [f"{name} = {value}"]
            if kind == "contrib" and self.draw.flip():
                before = ["if FLAGS.dynamic:", f"    {name} = {self.manager()}", "else:"]
                before += [f"    {name} = {value}"]
            elif kind != "contrib" and "LossScale" in value:
                call = self.draw.one(f"{name}()", f"tf.identity({name}(), name='loss_scale')")
                after = self.draw.maybe(f"value = {call}", f"print('scale', {name}())")
            value = name
        if kind == "contrib":
            keyword = self.draw.one("", "loss_scale_manager=")
            return before, f"{self.contrib('LossScaleOptimizer')}({opt}, {keyword}{value})", after
        if kind == "rewrite":
            name = self.experimental("enable_mixed_precision_graph_rewrite")
            given = self.draw.one(f", {value}", f", loss_scale={value}", "")
            return before, f"{name}({opt}{given})", after
        name = self.experimental("MixedPrecisionLossScaleOptimizer")
        return before, f"{name}({opt}, {value})", after

    def averaged(self, opt: str, hvd: str) -> str:
        given = self.draw.one(
            "",
            ", name='d'",
            f", compression={hvd}.Compression.fp16, sparse_as_dense=True",
            ", backward_passes_per_step=4",
            f", op={hvd}.Average",
            ", **KWARGS",
        )
        return f"{hvd}.DistributedOptimizer({opt}{given})"

    def wrapping(self, hvd: str) -> List[str]:
        """What makes of ``opt`` an optimizer that scales the loss, and averages."""
        draw = self.draw
        lines: List[str] = []
        wraps = [self._scaling(), *([self._averaging(hvd)] if hvd else [])]
        for wrap in draw.order(wraps) if draw.flip() else reversed(wraps):
            lines += wrap
        if hvd and draw.count(0, 4) == 0:
            before, value, after = self.wrapped(self.averaged("opt", hvd))
            lines = [*before, f"opt = {value}", *after]
        return lines

    def _averaging(self, hvd: str) -> List[str]:
        wrap = [f"opt = {self.averaged('opt', hvd)}"]
        header = self.draw.one(
            "", f"if {hvd} is not None:", f"if {hvd}.size() > 1:", "if FLAGS.hvd:"
        )
        return indented(wrap, header) if header else wrap

    def _scaling(self) -> List[str]:
        draw = self.draw
        before, value, after = self.wrapped("opt")
        form = draw.one(
            "same",
            "same",
            "other",
            "guarded",
            "arms",
            "with",
            "tuple",
            "expression",
            "closure",
            "loop",
        )
        if form == "other":
            return [*before, f"scaled = {value}", *after, "opt = scaled"]
        if form == "guarded":
            return indented([*before, f"opt = {value}", *after], "if FLAGS.fp16:")
        if form == "arms":
            first = indented([*before, f"opt = {value}", *after], draw.one("if FLAGS.a:", "try:"))
            last = "else:" if first[0] == "if FLAGS.a:" else "except ValueError:"
            before, value, after = self.wrapped("opt")
            return first + indented([*before, f"opt = {value}", *after], last)
        if form == "with":
            header = f"with {self.tf}.control_dependencies(update_ops):"
            return indented([*before, f"opt = {value}", *after], header)
        if form == "tuple":
            return [*before, f"opt, kept = {value}, opt", *after]
        if form == "closure":
            wrap = [*before, f"scaled = {value}", *after, "return scaled"]
            return [*indented(wrap, "def wrapped():"), "opt = wrapped()"]
        if form == "loop":
            header = draw.one("for _ in range(2):", "while not FLAGS.done:")
            return [
                "base = opt",
                *indented([*before, f"opt = {value.replace('(opt', '(base')}"], header),
            ]
        if form == "expression":
            return [*before, f"opt = {value} if FLAGS.fp16 else opt", *after]
        return [*before, f"opt = {value}", *after]

    # Training functions -------------------------------------------------------------------------

    def base(self) -> List[str]:
        tf = self.tf
        choices = [f"{tf}.train.AdamOptimizer(lr)", f"{tf}.train.MomentumOptimizer(lr, 0.9)"]
        choices += [f"{name}(lr)" for name in self.classes] * 2
        if self.draw.count(0, 3) == 0:
            first, last = self.draw.one(*choices), self.draw.one(*choices)
            if self.draw.flip():
                return [f"opt = {first} if FLAGS.decay else {last}"]
            return ["if FLAGS.decay:", f"    opt = {first}", "else:", f"    opt = {last}"]
        return [f"opt = {self.draw.one(*choices)}"]

    def applying(self) -> List[str]:
        """From ``opt`` to ``train_op``."""
        draw, tf = self.draw, self.tf
        step = draw.one("", ", global_step=step", ", step")
        if draw.count(0, 2) == 0:
            return [f"train_op = opt.minimize(loss{step})"]
        lines = draw.one(
            ["gvs = opt.compute_gradients(loss, tvars)", "grads = [g for g, _ in gvs]"],
            ["gvs = opt.compute_gradients(loss, tvars)", "grads, tvars = zip(*gvs)"],
            [f"grads = {tf}.gradients(loss, tvars)"],
        )
        lines += self._checked() if draw.flip() else []
        pairs = draw.one(
            "zip(grads, tvars)", "list(zip(grads, tvars))", "pairs", "[(g, v) for g, v in gvs]"
        )
        if pairs == "pairs":
            lines.append(f"pairs = {draw.one('zip(grads, tvars)', 'map(tuple, gvs)')}")
        if "compute" not in lines[0]:
            pairs = pairs.replace("gvs", "zip(grads, tvars)")
            lines = [line.replace("gvs", "zip(grads, tvars)") for line in lines]
        extra = draw.one("", "", ", manual_fp16=True", ", name='train'")
        call = f"opt.apply_gradients({pairs}{step}{extra})"
        form = draw.one("train_op = {}", "train_op = {}", "train_op = [{}]", "cond", "arms")
        if form == "cond":
            ready = draw.one("ready", f"{tf}.equal(step % 4, 3)")
            return [
                *lines,
                f"train_op = {tf}.cond({ready}, lambda: {call}, lambda: {tf}.no_op())",
            ]
        if form == "arms":
            arms = ["if FLAGS.accumulate:", f"    train_op = {call}", "else:"]
            return [*lines, *arms, f"    train_op = {call}"]
        return [*lines, form.format(call)]

    def _checked(self) -> List[str]:
        draw, tf = self.draw, self.tf
        is_finite = f"{tf}.{draw.one('is_finite', 'math.is_finite', 'debugging.is_finite')}"
        lines = [f"finite = {tf}.reduce_all([{tf}.reduce_all({is_finite}(g)) for g in grads])"]
        norm = f"{tf}.cond(finite, lambda: {tf}.global_norm(grads), lambda: {tf}.constant(1.0))"
        use = draw.one(f", use_norm={norm}", ", use_norm=norm", "")
        if "=norm" in use:
            lines.append(f"norm = {norm}")
        lines.append(f"grads, _ = {tf}.clip_by_global_norm(grads, 1.0{use})")
        return lines

    def stepping(self, finite: bool) -> List[str]:
        """The step logic behind ``train_op``."""
        draw, tf = self.draw, self.tf
        new = draw.one("new_step", "step + 1", f"{tf}.add(step, 1)", f"{tf}.identity(step + 1)")
        lines: List[str] = []
        if new == "new_step":
            value = draw.one("step + 1", f"{tf}.cond(ready, lambda: step + 1, lambda: step)")
            if finite and draw.flip():
                value = f"{tf}.cond(finite, lambda: step + 1, lambda: step)"
            lines = [f"new_step = {value}"]
            if draw.flip():
                lines = ["if FLAGS.clip:", f"    new_step = {value}", "else:"]
                lines += ["    new_step = step + 1"]
            lines += draw.maybe(f"new_step = {tf}.identity(new_step, name='step_update')")
        move = draw.one(
            f"step.assign({new})",
            f"{tf}.assign(step, {new})",
            *([f"{tf}.assign_add(step, 1)", "step.assign_add(1)"] if not lines else []),
        )
        form = draw.one("group", "group", "members", "with", "list", "apart", "guarded", "append")
        if form == "group":
            lines.append(f"train_op = {tf}.group(train_op, [{move}])")
        elif form == "members":
            name = draw.one("", ", name='train'")
            lines.append(f"train_op = {tf}.group({move}, train_op, *update_ops{name})")
        elif form == "with":
            lines += [f"with {tf}.control_dependencies([train_op]):", f"    train_op = {move}"]
        elif form == "list":
            lines.append(f"train_op = [train_op, {move}]")
        elif form == "apart":
            lines += [f"moved = {move}", f"train_op = {tf}.group(train_op, moved)"]
        elif form == "append":
            lines += ["ops = [train_op]", f"ops.append({move})", f"train_op = {tf}.group(*ops)"]
        else:
            lines += ["if FLAGS.decay > 0:", f"    train_op = {tf}.group(train_op, {move})"]
        return lines

    def function(self) -> List[str]:
        """A training function, alone, in a class, or in another function."""
        draw, tf = self.draw, self.tf
        self.local = []
        hvd, parameter = self.hvd, ""
        if hvd and "." not in hvd and draw.count(0, 2) == 0:
            hvd, parameter = "hvd", draw.one(", hvd=None", ", hvd")
        step = draw.one(
            f"step = {tf}.train.get_or_create_global_step()",
            f"step = {tf}.train.get_global_step()",
            "step = self.global_step",
            "",
        )
        applying = self.applying()
        finite = any(line.startswith("finite") for line in applying)
        body = [
            *draw.maybe("'''Trains.¶    é'''"),
            *([step] if step else []),
            *self.base(),
            *self.wrapping(hvd if draw.count(0, 3) else ""),
            *draw.maybe("assert isinstance(opt, object)", "print(opt)"),
            *applying,
            *(self.stepping(finite) if draw.flip() else []),
            draw.one("return train_op", "return train_op, loss", "self.train_op = train_op"),
        ]
        place = 1 if body[0].startswith("'''") else 0
        if self.local and draw.flip() and step:
            body[place:place] = [f"import tensorflow as {tf}"] if tf == "tf" else []
        body[place:place] = [one for line in self.local for one in line.split("\n")]
        self.local = []
        name = f"train{draw.number()}"
        given = "self, loss, lr, tvars, ready, scale, update_ops, ARGS=(), KWARGS={}"
        given += (", step" if not step else "").replace(", step", ", step=None") + parameter
        given = given.replace(", hvd,", ", hvd=None,")
        if parameter == ", hvd":
            given = given.replace(", ARGS=(), KWARGS={}", ", ARGS, KWARGS").replace("=None", "")
        lines = indented(body, f"def {name}({given}):")
        form = draw.one("alone", "alone", "class", "nested", "if", "decorated")
        if form == "class":
            return indented(lines, f"class Model{name}(object):")
        if form == "nested":
            lines = [*lines, f"return {name}(None, loss=1)" if "self, " in given else "return 0"]
            return indented(lines, f"def outer_{name}():")
        if form == "if":
            return [*indented(lines, "if FLAGS:"), "else:", f"    {name} = None"]
        return ["@staticmethod", *lines] if form == "decorated" else lines

    # Optimizer classes --------------------------------------------------------------------------

    def optimizer(self) -> List[str]:
        """A class that leaves the step to its caller, moves it, or hands it on."""
        draw, tf = self.draw, self.tf
        name = f"Own{draw.number()}"
        base = draw.one(f"{tf}.train.Optimizer", f"{tf}.train.AdamOptimizer", *self.classes)
        if self.classes and base == self.classes[-1] and draw.flip():
            base = f"{tf}.train.Optimizer"
        self.classes.append(name)
        loop = [
            "ops = []",
            "for grad, var in grads_and_vars:",
            "    if grad is None: continue",
            "    ops.append(var.assign_sub(0.1 * grad))",
        ]
        ops = draw.one(loop, ["ops = [v.assign_sub(g) for g, v in grads_and_vars]"])
        early = draw.maybe("if not ops:", f"    return {tf}.no_op()")
        reads = draw.maybe(f"rate = 1 - 0.9 ** {tf}.cast(global_step, {tf}.float32)")
        ending = draw.one(
            [f"return {tf}.group(*ops, name=name)"],
            [f"return {tf}.group(*ops)"],
            [f"return {tf}.group(*[op for op in ops], name=name)"],
            [f"apply_op = {tf}.group(*ops)", "return apply_op"],
            [f"with {tf}.name_scope('a'):", f"    return {tf}.group(*ops)"],
            ["if self.lr:", f"    return {tf}.group(*ops)", "else:", f"    return {tf}.no_op()"],
            [f"ops.append({tf}.assign_add(global_step, 1))", f"return {tf}.group(*ops)"],
            ["return ops"],
        )
        hands = [f"return super({name}, self).apply_gradients(grads_and_vars, global_step, name)"]
        body = draw.one([*ops, *early, *reads, *ending], [*reads, *ops, *ending], hands)
        given = draw.one("global_step=None, name=None", "global_step=None, name=None, **kw")
        method = indented(body, f"def apply_gradients(self, grads_and_vars, {given}):")
        hook = ["def _apply_dense(self, grad, var):", "    return var.assign_sub(grad)"]
        init = ["def __init__(self, lr):"]
        init += [f"    super({name}, self).__init__(False, '{name}')", "    self.lr = lr"]
        methods = draw.one([*init, *method], [*method, *init], method, [*init, *hook])
        return indented(methods, f"class {name}({base}):")

    def main(self) -> List[str]:
        """A function that runs the training."""
        draw, tf, hvd = self.draw, self.tf, self.hvd
        lines = [f"config = {tf}.ConfigProto()", "hooks = []"]
        if hvd:
            visible = f"config.gpu_options.visible_device_list = str({hvd}.local_rank())"
            hook = f"hooks.append({hvd}.BroadcastGlobalVariablesHook(0))"
            lines += draw.order([f"{hvd}.init()", visible, hook, f"print({hvd}.rank())"])
            if draw.flip():
                lines = [*lines[:2], *indented(lines[2:], f"if {hvd} is not None:")]
        call = draw.one("'step_update:0'", "['loss_scale:0', train_op]", "train_op")
        lines += [
            f"with {tf}.train.MonitoredTrainingSession(config=config, hooks=hooks) as sess:",
            f"    sess.run({call})",
        ]
        return indented(lines, draw.one("def main(train_op=None):", "def main(train_op=None, *_):"))


@st.composite
def codes(draw: Any, others: Sequence[str] = ()) -> str:
    """The plain code of one script; ``others`` are names of classes to be had from elsewhere."""
    chosen = Draw(draw)
    tensorflow = chosen.one(*TENSORFLOW)
    horovod = chosen.one("", "", *HOROVOD)
    author = Author(chosen, tensorflow, horovod, chosen.count(0, 3) == 0)
    author.classes += others
    parts: List[List[str]] = []
    for _ in range(chosen.count(0, 2)):
        parts.append(author.optimizer())
    for _ in range(chosen.count(1, 2)):
        parts.append(author.function())
    parts += [author.main()] if chosen.flip() else []
    parts += [chosen.one(*PLAIN).split("\n") for _ in range(chosen.count(0, 2))]
    head = [*chosen.maybe("'''Doc é.'''"), *chosen.maybe("from __future__ import print_function")]
    aliases = [one for one in author.imports if " = " in one.split("\n")[0] and "None" not in one]
    imports = [one for one in author.imports if one not in aliases] + ["import os"]
    flags = f"FLAGS = {author.tf}.flags.FLAGS"
    if not any("if FLAGS" in one for one in imports):
        imports = [*chosen.order(imports), flags]
    else:
        imports = [imports[0], flags, *imports[1:]]
    lines = [*head, *imports, *aliases]
    for part in chosen.order(parts) if chosen.flip() else parts:
        lines += part
    lines += chosen.maybe("if __name__ == '__main__':", f"    {author.tf}.app.run()")
    return "\n".join(lines) + "\n"


@st.composite
def scripts(draw: Any, code: "st.SearchStrategy[str]" = codes()) -> Script:  # noqa: B008
    """A script in any setting."""
    return Script(draw(code), draw(settings()))


OTHER_MODULE = {
    "import lamb": "lamb.{name}",
    "import lamb as lm": "lm.{name}",
    "from lamb import {name}": "{name}",
    "from lamb import {name} as Taken": "Taken",
    "from lamb import *": "{name}",
}


@st.composite
def projects(draw: Any) -> Dict[str, Script]:
    """Two or three files of one run, that take optimizers and Horovod from each other."""
    chosen = Draw(draw)
    author = Author(chosen, "import tensorflow as tf", "", False)
    library = ["import tensorflow as tf", *chosen.maybe("import horovod.tensorflow as hvd")]
    classes = [author.optimizer() for _ in range(chosen.count(1, 2))]
    for lines in classes:
        library += lines
    statement, use = chosen.one(*OTHER_MODULE.items())
    name = chosen.one(*author.classes)
    code = draw(codes(others=[use.format(name=name)]))
    code = _with_import(code, statement.format(name=name))
    files = {"lamb.py": "\n".join(library) + "\n", "train.py": code}
    if "import horovod" in library[1] and chosen.flip():
        taking = chosen.one("from lamb import hvd", "import lamb", "from lamb import *")
        size = "lamb.hvd.size()" if taking == "import lamb" else "hvd.size()"
        files["usage.py"] = f"{taking}\nprint({size})\n"
    return {path: Script(code, draw(settings())) for path, code in files.items()}


def _with_import(code: str, statement: str) -> str:
    """The code with one more import before its first."""
    lines = code.split("\n")
    place = next(n for n, line in enumerate(lines) if line.startswith(("import ", "from ", "try:")))
    if lines[place].startswith("from __future__"):
        place += 1
    return "\n".join([*lines[:place], statement, *lines[place:]])
