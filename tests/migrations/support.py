"""Migrates small scripts in process and says what came out, promises of the rewriter included."""

import ast
import re
from collections import namedtuple
from textwrap import dedent

from pyflakes import checker, messages

from npu_migrate import rules
from npu_migrate.engine import migrate as run_engine
from npu_migrate.options import Options
from npu_migrate.plan import Status
from npu_migrate.sources import Source

RULES = rules.load(())

BRIDGE = """\
import tensorflow as tf
from npu_bridge.estimator.npu.npu_loss_scale_manager import ExponentialUpdateLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_manager import FixedLossScaleManager
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer
"""
"""What a script that somebody migrated by hand starts with."""

GUARDED_STEP = """\
if global_step is not None:
  with tf.control_dependencies(ops):
    ops.append(tf.assign_add(global_step, 1))
"""
"""How ``apply_gradients`` moves the step once its updates, collected in ``ops``, are done."""

OWN_CLASS = """\
class Own(tf.train.Optimizer):
  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    ops = [v.assign_sub(0.1 * g) for g, v in grads_and_vars]
    return tf.group(*ops, name=name)
"""
"""An optimizer that leaves the step to its caller, as BERT's do."""

SAID_ONCE = tuple(rule.code for rule in RULES.by_code.values() if rule.once)
"""Findings about what the first run changed; later runs don't see that it was different."""

_MARK = re.compile(r"#!((?: NPU\d+)+)")


def with_tf(text):
    return "import tensorflow as tf\n" + dedent(text)


def with_own(text):
    return with_tf(OWN_CLASS + dedent(text))


def with_bridge(text):
    return BRIDGE + dedent(text)


class Outcome(namedtuple("Outcome", "texts findings")):
    """The text of each file after the run, and all findings."""

    @property
    def text(self):
        (text,) = self.texts.values()
        return text

    @property
    def left(self):
        """Line and code of what is left for a person."""
        return sorted((f.line, f.code) for f in self.findings if f.status.is_left)

    @property
    def notes(self):
        """Line and code of what asks nothing of anybody."""
        return sorted((f.line, f.code) for f in self.findings if f.status is Status.NOTE)

    def of(self, code):
        """The findings of one rule."""
        return [f for f in self.findings if f.code == code]

    def messages(self, *codes):
        """What the findings (of these rules) say, in one text."""
        return "\n".join(f.message for f in self.findings if not codes or f.code in codes)


def migrate(files, **options):
    """Migrate a text, or a dict of path -> text, as one run.

    What holds of every run is asserted here: the output parses and binds every name that it uses,
    and a second run changes nothing and leaves the same to a person.
    """
    if isinstance(files, str):
        files = {"script.py": files}
    files = {path: dedent(text) for path, text in files.items()}
    outcome = _run(files, options)
    for path, text in outcome.texts.items():
        new = undefined_names(text) - undefined_names(files[path])
        assert not new, f"{path} has new undefined names {sorted(new)}:\n{text}"
    again = _run(outcome.texts, options)
    assert again.texts == outcome.texts, "a second run changes something"
    assert [f for f in again.findings if f.status is Status.MIGRATED] == []
    assert _codes_left(again) == _codes_left(outcome), "the second run leaves something else"
    assert [c for _, c in again.notes] == [c for _, c in outcome.notes], "other notes"
    return outcome


def _codes_left(outcome):
    return sorted(code for _, code in outcome.left if code not in SAID_ONCE)


def _run(files, options):
    sources = [Source(path, text.encode("utf-8")) for path, text in sorted(files.items())]
    texts, findings = {}, []
    for result in run_engine(sources, RULES, Options(**options)):
        assert result.error is None, str(result.error)
        texts[result.path] = result.after.decode("utf-8")
        findings.extend(result.findings)
    return Outcome(texts, tuple(findings))


def left_as_marked(files, **options):
    """Migrate; what is left for a person must be what ``#! CODE`` marks, line by line."""
    if isinstance(files, str):
        files = {"script.py": files}
    outcome = migrate(files, **options)
    marked = sorted(
        (path, number, code)
        for path, text in files.items()
        for number, line in enumerate(dedent(text).splitlines(), 1)
        for mark in _MARK.findall(line)
        for code in mark.split()
    )
    left = [(f.path, f.line, f.code) for f in outcome.findings if f.status.is_left]
    assert sorted(left) == marked, outcome.messages()
    return outcome


def untouched(text, **options):
    """As :func:`left_as_marked`, and not one byte changes."""
    outcome = left_as_marked(text, **options)
    assert outcome.text == dedent(text)
    return outcome


def undefined_names(text):
    """The names that ``text`` uses and nothing binds, as pyflakes sees it."""
    kinds = (messages.UndefinedName, messages.UndefinedLocal, messages.UndefinedExport)
    found = checker.Checker(ast.parse(text)).messages
    return {message.message_args[0] for message in found if isinstance(message, kinds)}


def code_of(text):
    """The statements of ``text`` without layout and comments, for comparing what code does."""
    return ast.dump(ast.parse(dedent(text)))


def body(text, name):
    """The source of the function or class ``name`` in ``text``, dedented, without its comments."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = re.match(rf"( *)(?:def|class) {name}\b", line)
        if match:
            block = [line]
            for following in lines[number + 1 :]:
                if following.strip() and not following.startswith(match.group(1) + " "):
                    break
                block.append(following)
            kept = [one for one in block if one.strip() and not one.strip().startswith("#")]
            return dedent("\n".join(kept)) + "\n"
    raise AssertionError(f"no {name} in:\n{text}")
