"""What a run reads and keeps of its files."""

import pytest

from npu_migrate import reader
from npu_migrate.engine import migrate
from npu_migrate.options import Options
from npu_migrate.rules import load
from npu_migrate.sources import Source

SCRIPT = b"import tensorflow as tf\n\nsession = tf.Session()\n"


@pytest.mark.parametrize("room", [10**6, len(SCRIPT), 0])
def test_what_is_not_kept_is_read_again(monkeypatch, room):
    sources = [Source(f"train_{number}.py", b"import shared\n" + SCRIPT) for number in range(4)]
    sources.append(Source("shared.py", SCRIPT))
    results = migrate(sources, load(()), Options())
    assert all(result.is_changed for result in results)
    monkeypatch.setattr(reader, "KEPT_BYTES", room)
    assert migrate(sources, load(()), Options()) == results


def test_what_no_other_file_has_a_say_in_is_not_kept(monkeypatch):
    read = []
    look = reader.Reader.read
    monkeypatch.setattr(
        reader.Reader,
        "read",
        lambda self, source, run: read.append(source.path) or look(self, source, run),
    )
    sources = [
        Source("alone.py", SCRIPT),
        Source("shared.py", SCRIPT + b"def make():\n    return session\n"),
        Source("train.py", b"from shared import make\n" + SCRIPT),
    ]
    results = migrate(sources, load(()), Options())
    assert all(result.is_changed for result in results)
    assert read == ["shared.py", "train.py"]


def test_several_processes_find_what_one_finds():
    scripts = {
        "models/__init__.py": b"from models.optimizer import scaled\n",
        "models/optimizer.py": b"from tensorflow.contrib import mixed_precision as amp\n\n"
        b"def scaled(opt):\n    manager = amp.FixedLossScaleManager(128)\n"
        b"    return amp.LossScaleOptimizer(opt, manager)\n",
        "train.py": b"import tensorflow as tf\nfrom models import scaled\n\n"
        b"train = scaled(tf.train.AdamOptimizer(1e-4)).minimize(loss)\n",
        "broken.py": b"print 'two'\n",
        "other.py": b"x = 1\n",
    }
    sources = [Source(path, text) for path, text in scripts.items()]
    results = migrate(sources, load(()), Options())
    assert sum(result.is_changed for result in results) == 1
    again = migrate(sources, load(()), Options(jobs=2))
    assert list(map(_seen, again)) == list(map(_seen, results))


def _seen(result):
    return (result.path, result.after, result.findings, result.program, str(result.error))


def test_a_star_import_of_a_module_that_is_not_there():
    """Such as one that a build generates: names may come from it, and it offers none."""
    sources = [
        Source("models/__init__.py", b""),
        Source("models/a.py", b"from models.generated import *\n" + SCRIPT + b"train(made)\n"),
    ]
    results = migrate(sources, load(()), Options())
    assert [result.is_changed for result in results] == [False, True]


def test_a_session_that_another_program_closes():
    """Sessions are judged by what all files of a run close, joined by imports or not."""
    keeping = b"class Trainer:\n    def __init__(self):\n        self.sess = tf.Session()\n"
    alone = Source("keeping.py", SCRIPT + keeping)
    other = Source("closing.py", b"def end(trainer):\n    trainer.sess.close()\n")
    codes = [
        {f.code for f in migrate(s, load(()), Options())[0].findings}
        for s in ([alone], [alone, other])
    ]
    assert codes[0] - codes[1] == {"NPU712"}
