"""What a run reads and keeps of its files."""

from npu_migrate import reader
from npu_migrate.engine import migrate
from npu_migrate.options import Options
from npu_migrate.rules import load
from npu_migrate.sources import Source

SCRIPT = b"import tensorflow as tf\n\nsession = tf.Session()\n"


def test_no_index_is_made_at_the_first_look_that_is_not_kept(monkeypatch):
    """Of a large run most would be made in vain, and stay in memory."""
    sources = [Source(f"train_{number}.py", SCRIPT) for number in range(4)]
    kept = migrate(sources, load(()), Options())
    made = []

    class Counting(reader.Index):
        def __init__(self, *arguments):
            made.append(arguments[1])
            super().__init__(*arguments)

    monkeypatch.setattr(reader, "Index", Counting)
    scan = reader.Reader.scan

    def first_look(self, source):
        scanned = scan(self, source)
        seen.append(len(made))
        return scanned

    monkeypatch.setattr(reader.Reader, "scan", first_look)
    for room, expected in ((10**6, [1, 2, 3, 4]), (len(SCRIPT), [1, 1, 1, 1]), (0, [0, 0, 0, 0])):
        monkeypatch.setattr(reader, "KEPT_BYTES", room)
        made, seen = [], []
        assert migrate(sources, load(()), Options()) == kept
        assert seen == expected
