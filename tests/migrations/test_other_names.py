"""What a script calls under another name than the one that TensorFlow gives it is found as well."""

import pytest
from support import RULES, migrate

from npu_migrate.layout import OF_OTHERS

RUN = "import tensorflow as tf\nwith {made}:\n    pass\n"


def found(files):
    return sorted((f.path, f.code) for f in migrate(files).findings if f.code == "NPU401")


@pytest.mark.parametrize(
    "lines, called",
    (
        ("from tensorflow import Session as S", "S()"),
        ("import tensorflow as tf\nmake = tf.Session", "make()"),
        ("import tensorflow as tf\nmake = again = tf.Session", "again()"),
        ("import tensorflow as tf\nmake, other = tf.Session, None", "make()"),
        ("import tensorflow as tf\nx = tf.compat\ny = x.v1", "y.Session()"),
        ("import tensorflow as tf", "(tf.Session if tf else tf.Session)()"),
        ("from tensorflow import *", "Session()"),
        ("from tensorflow.python.client import session as s", "s.Session()"),
    ),
)
def test_under_a_name_of_the_script_s_own(lines, called):
    assert found(f"{lines}\nwith {called}:\n    pass\n") == [("script.py", "NPU401")]


def test_as_an_attribute():
    script = """
    import tensorflow as tf
    class Trainer:
        def __init__(self):
            self.make = tf.Session
        def train(self):
            with self.make():
                pass
    """
    assert found(script) == [("script.py", "NPU401")]


@pytest.mark.parametrize(
    "imports, called",
    (
        ("from library import start", "start()"),
        ("import library", "library.start()"),
        ("import library as l", "l.start()"),
        ("import library\nl = library", "l.start()"),
        ("from library import *", "start()"),
    ),
)
def test_under_a_name_that_another_file_gives_it(imports, called):
    library = "import tensorflow as tf\nfrom tensorflow import Session as start\n"
    script = f"import tensorflow as tf\n{imports}\nwith {called}:\n    tf.Session\n"
    assert ("script.py", "NPU401") in found({"library.py": library, "script.py": script})


@pytest.mark.parametrize(
    "script, other",
    (
        ("examples/tensorflow/train.py", "examples/torch/train.py"),
        ("tensorflow/train.py", "train.py"),
        ("backends/tensorflow.py", "backends/torch.py"),
        ("backends/tensorflow/train.py", "backends/tensorflow/__init__.py"),
        ("lib/tensorflow/a/train.py", "lib/tensorflow/b/other.py"),
    ),
)
def test_beside_files_that_are_called_like_it(script, other):
    files = {script: RUN.format(made="tf.Session()"), other: "x = 1\n"}
    assert found(files) == [(script, "NPU401")]


def test_no_file_stands_for_a_package_that_the_rules_speak_of():
    canonical = {**RULES.canonical, **RULES.exact}
    matched = [name for rule in RULES.by_code.values() for name in rule.match]
    spoken_of = {name.partition(".")[0] for name in [*canonical, *canonical.values(), *matched]}
    assert spoken_of <= OF_OTHERS
