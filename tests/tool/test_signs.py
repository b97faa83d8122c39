"""The signs of what a file may hold cost no finding, whatever they leave out."""

import ast

import pytest

from npu_migrate import rules
from npu_migrate.canonical import Canonical
from npu_migrate.engine import migrate
from npu_migrate.migrations import signs
from npu_migrate.migrations.gpu import gpu_packages, gpu_pinning
from npu_migrate.migrations.session import estimator_classes, sessions, xla
from npu_migrate.migrations.signs import Text
from npu_migrate.migrations.unsupported import processes, wide_types
from npu_migrate.options import Options
from npu_migrate.outline import outline
from npu_migrate.sources import Source

RULES = rules.load()
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-{number}")
    for rule in RULES.by_code.values()
    for number, example in enumerate(rule.examples, 1)
]
NAMES = [
    (signs.ESTIMATORS, estimator_classes.CONFIG_AT),
    (signs.ESTIMATORS, estimator_classes.RUN_CONFIGS),
    (signs.GPU_PACKAGES, [name.partition(".")[2] or name for name in gpu_packages.REMEDIES]),
    (signs.GPU_PINNING, gpu_pinning.SETTERS | gpu_pinning.QUESTIONS),
    (signs.PROCESSES, processes.STARTERS),
    (signs.SESSIONS, [name for name in sessions.MAKERS if not name.endswith(".train")]),
    (signs.SESSIONS, [sessions.MONITORED, *sessions.DISTINCTIVE]),
    (signs.WIDE_TYPES, wide_types.OF_TENSORFLOW | wide_types.MAKERS),
    (signs.XLA, [xla.LEVEL, xla.SET_JIT, xla.SCOPE, *xla.COMPILE]),
]


def findings(rule, example, text):
    select = () if rule.default else ("ALL", rule.code)
    source = Source(example.file, given=text.encode())
    (result,) = migrate([source], RULES, Options(select=select, loss_scale=example.loss_scale))
    return result.findings


@pytest.mark.parametrize("rule, example", EXAMPLES)
def test_a_run_without_signs_finds_nothing_else(rule, example, monkeypatch):
    found = findings(rule, example, example.before)
    monkeypatch.setattr(Text, "shows", lambda text, signs: True)
    assert findings(rule, example, example.before) == found


@pytest.mark.parametrize("shown, names", NAMES)
def test_every_name_is_a_sign_by_all_its_paths(shown, names):
    canonical = Canonical(RULES.canonical, RULES.exact)
    for name in names:
        for path in canonical.paths(name):
            text = Text(f"import tensorflow\nimport {path}\n".encode())
            assert text.shows(shown), path


@pytest.mark.parametrize(
    "code, counts",
    [
        ("tf.Session()", True),
        ("from tensorflow import Session as S", True),
        ("make('Session')", True),
        ("make(Session=1)", True),
        ("config.Session = None", True),
        ("'''Takes a tf.Session.'''", False),
        ("def f():\n    'Takes a tf.Session.'\n    return 'a'", False),
        ("def f():\n    'Takes a tf.Session.'\n    return tf.Session()", True),
        ("def f():\n    'Session'\n    return 'Session'", True),
        ("def f():\n    'S'\n    return tf.Session()", True),
        ("if x:\n    pass\nelif y:\n    tf.Session()", True),
        ("tf.SessionLog()", False),
    ],
)
def test_words_of_docstrings_do_not_count(code, counts):
    data = f"import tensorflow as tf\n{code}\n".encode()
    text = Text(outline(ast.parse(data)).code(data))
    assert text.shows(signs.SESSIONS) is counts
