"""How long rewriting a script takes, as a multiple of libcst's own parse and code generation.

    python benchmarks/rewrite_speed.py [FILE OR FOLDER]... [--python PYTHON]... [--pairs N]

Each measurement is a process of its own that imports everything first, then either migrates the
script or lets libcst parse it and print it, once. Both are started in turn and timed in pairs; the
table shows medians. Without arguments the scripts are the project's samples and generated ones of
growing length; of a folder, the scripts that the tool changes. The exit status is 1 where a ratio
is above the limit.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Dict, List, NamedTuple, Sequence, Tuple

from check_speed import interpreters

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

HEAD = "import tensorflow as tf\nimport horovod.tensorflow as hvd\n"
TRAINING = """

def train_{n}(loss, lr, tvars):
    step = tf.train.get_or_create_global_step()
    opt = hvd.DistributedOptimizer(tf.train.AdamOptimizer(lr * hvd.size()))  # averages
    manager = tf.contrib.mixed_precision.FixedLossScaleManager(128)
    opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, manager)
    grads_and_vars = opt.compute_gradients(loss, tvars)
    return opt.apply_gradients(zip(*grads_and_vars), global_step=step)
"""
MODEL = """

class Layer{n}(object):
    '''A layer, which no migration is about.'''

    def __init__(self, units, activation=None, name='layer_{n}'):
        self.units, self.activation, self.name = units, activation, name

    def __call__(self, inputs, training=False):
        with tf.variable_scope(self.name):
            kernel = tf.get_variable('kernel', [inputs.shape[-1].value, self.units])
            outputs = tf.matmul(inputs, kernel)  # [batch, units]
            if training and self.activation is not None:
                outputs = self.activation(outputs)
        return {{'outputs': outputs, 'mean': tf.reduce_mean(outputs, axis=[0, 1])}}
"""


class Row(NamedTuple):
    """What was measured of one script, in seconds."""

    name: str
    lines: int
    libcst: float
    rewrite: float
    ratio: float


def main() -> int:
    if len(sys.argv) == 3 and sys.argv[1] in MEASURED:
        print(MEASURED[sys.argv[1]](Path(sys.argv[2])))
        return 0
    options = _options()
    worst = 0.0
    with tempfile.TemporaryDirectory() as temporary:
        scripts = _scripts(options.paths, Path(temporary))
        for python in options.python:
            print(f"{python}, {options.pairs} pairs")
            print(f"{'script':44} {'lines':>6} {'libcst':>9} {'rewrite':>9} {'ratio':>6}")
            for name, path in scripts.items():
                row = _measured(name, path, python, options.pairs)
                print(
                    f"{row.name[-44:]:44} {row.lines:6} {row.libcst * 1000:7.1f}ms "
                    f"{row.rewrite * 1000:7.1f}ms {row.ratio:6.2f}"
                )
                worst = max(worst, row.ratio)
    print(f"processor time; at most {options.limit} is wanted")
    return 1 if worst > options.limit else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, help="scripts, or folders of them")
    parser.add_argument("--python", action="append", help="an interpreter to time (repeatable)")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--limit", type=float, default=3.0)
    options = parser.parse_args()
    options.python = options.python or interpreters()
    return options


def _scripts(paths: Sequence[Path], temporary: Path) -> Dict[str, Path]:
    """The scripts to time, by the names to show."""
    if paths:
        return {str(path): path for path in _changing(paths)}
    scripts = {str(path.relative_to(ROOT)): path for path in _changing([ROOT / "samples"])}
    for training, model in ((1, 0), (1, 60), (20, 0), (20, 200)):
        text = HEAD + "".join(MODEL.format(n=n) for n in range(model))
        text += "".join(TRAINING.format(n=n) for n in range(training))
        path = temporary / f"training_{training}_model_{model}.py"
        path.write_text(text)
        scripts[f"generated: {training} functions, {model} classes"] = path
    return scripts


def _changing(paths: Sequence[Path]) -> List[Path]:
    """The scripts that the tool changes, each taken by itself as it will be timed."""
    from npu_migrate.sources import Source, find

    sources, _ = find([str(path) for path in paths])
    changing = [source for source in sources if _migrated(Source(source.path))]
    return [Path(source.path) for source in changing]


def _migrated(source: object) -> bool:
    from npu_migrate import engine, options, rules

    (result,) = engine.migrate([source], rules.load(()), options.Options())  # type: ignore[list-item]
    return result.before != result.after


def _measured(name: str, path: Path, python: str, count: int) -> Row:
    pairs: List[Tuple[float, float]] = []
    for number in range(count):
        order = list(MEASURED) if number % 2 else list(MEASURED)[::-1]
        took = {kind: _cold(python, kind, path) for kind in order}
        pairs.append((took["libcst"], took["rewrite"]))
    libcst, rewrite = zip(*pairs)
    ratio = median(other / own for own, other in pairs)
    return Row(name, path.read_bytes().count(b"\n"), median(libcst), median(rewrite), ratio)


def _cold(python: str, kind: str, path: Path) -> float:
    command = [python, __file__, kind, str(path)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


# In the processes that are timed ----------------------------------------------------------------


def _time_libcst(path: Path) -> float:
    import libcst

    libcst.parse_module("x = 1\n")
    data = path.read_bytes()
    start = time.process_time()
    libcst.parse_module(data).bytes  # noqa: B018
    return time.process_time() - start


def _time_rewrite(path: Path) -> float:
    import libcst

    import npu_migrate.rewrite.editor  # noqa: F401
    from npu_migrate import engine, options, rules
    from npu_migrate.sources import Source

    libcst.parse_module("x = 1\n")
    loaded = rules.load(())
    start = time.process_time()
    list(engine.migrate([Source(str(path))], loaded, options.Options()))
    return time.process_time() - start


MEASURED = {"libcst": _time_libcst, "rewrite": _time_rewrite}


if __name__ == "__main__":
    sys.exit(main())
