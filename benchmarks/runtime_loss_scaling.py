"""What loss scaling costs, over the shapes of BERT-base's gradients (109 million float32).

    python benchmarks/runtime_loss_scaling.py

Times one overflow check and one whole loss-scaled SGD step, and the peak memory of the step, each
against TensorFlow's own. Rivals take turns in one process, so that other load meets all alike; the
memory is measured in processes of their own. The loss is the sum of squares of all weights, whose
gradient costs one pass: next to nothing beside a real model's.

Exits with 1 if a figure is worse than promised in docs/runtime.md.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

HIDDEN, LAYERS, VOCABULARY, POSITIONS = 768, 12, 30522, 512
FEED_FORWARD = 4 * HIDDEN
ROUNDS = 25

#: Figures promised, as ratios.
PROMISES = {
    "check / one sum of the gradients": 1.2,
    "check / reduce_all(is_finite)": 0.5,
    "step / contrib's step": 0.7,
    "memory of a step / contrib's": 1.0,
    "peak memory / contrib's": 1.0,
}


def shapes():
    """Those of all trainable variables of BERT-base."""
    attention = [[HIDDEN, HIDDEN], [HIDDEN]] * 4 + [[HIDDEN]] * 2
    feed_forward = [[HIDDEN, FEED_FORWARD], [FEED_FORWARD], [FEED_FORWARD, HIDDEN], [HIDDEN]]
    layer = attention + feed_forward + [[HIDDEN]] * 2
    embeddings = [[VOCABULARY, HIDDEN], [2, HIDDEN], [POSITIONS, HIDDEN], [HIDDEN], [HIDDEN]]
    return embeddings + LAYERS * layer + [[HIDDEN, HIDDEN], [HIDDEN]]


def weights(tf):
    return [
        tf.get_variable(f"weight{number}", shape, initializer=tf.random_normal_initializer(0, 0.02))
        for number, shape in enumerate(shapes())
    ]


def checks(tf):
    """The overflow check and its rivals."""
    from npu_migrate.runtime import GradientFiniteness

    gradients = [weight.read_value() for weight in weights(tf)]
    finite = [tf.reduce_all(tf.is_finite(gradient)) for gradient in gradients]
    return {
        "one sum of the gradients": tf.add_n([tf.reduce_sum(gradient) for gradient in gradients]),
        "overflow check": GradientFiniteness().status(gradients),
        "reduce_all(is_finite)": tf.reduce_all(finite),
    }


def step(tf, kind):
    """One training step, with `ours`, with `contrib`'s loss scaling, or with none (`plain`)."""
    from tensorflow.contrib import mixed_precision

    from npu_migrate.runtime import ExponentialUpdateLossScaleManager, NPULossScaleOptimizer

    variables = weights(tf)
    optimizer = tf.train.GradientDescentOptimizer(1e-9)
    if kind == "ours":
        manager = ExponentialUpdateLossScaleManager(2.0**15, 2000)
        optimizer = NPULossScaleOptimizer(optimizer, manager)
    elif kind == "contrib":
        manager = mixed_precision.ExponentialUpdateLossScaleManager(2.0**15, 2000)
        optimizer = mixed_precision.LossScaleOptimizer(optimizer, manager)
    loss = tf.add_n([tf.nn.l2_loss(variable) for variable in variables])
    return optimizer.minimize(loss, tf.train.get_or_create_global_step())


def take_turns(runs):
    """Median milliseconds of each, in turns."""
    for run in 2 * list(runs.values()):
        run()
    times = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(1000 * (time.perf_counter() - start))
    return {name: statistics.median(values) for name, values in times.items()}


def time_checks(tf):
    with tf.Graph().as_default(), tf.Session() as session:
        fetches = checks(tf)
        session.run(tf.global_variables_initializer())
        return take_turns(
            {name: (lambda fetch=fetch: session.run(fetch)) for name, fetch in fetches.items()}
        )


def time_steps(tf):
    runs = {}
    for kind in ("plain", "contrib", "ours"):
        with tf.Graph().as_default():
            train = step(tf, kind)
            session = tf.Session()
            session.run(tf.global_variables_initializer())
            runs[kind] = lambda session=session, train=train: session.run(train)
    return take_turns(runs)


def memory_of(kind):
    """Peak of the process during a step, and at rest between steps; megabytes.

    In a process of its own, whose allocator takes large blocks from the system and gives them back
    at once, so that the figures are what the step needs and not what the allocator keeps.
    """
    environment = dict(os.environ, MALLOC_MMAP_THRESHOLD_="65536")
    command = [sys.executable, __file__, "--measure-memory", kind]
    return json.loads(subprocess.check_output(command, env=environment).splitlines()[-1])


def measure_memory(tf, kind):
    def status(key):
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith(key))

    train = step(tf, kind)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # forget the peak so far
        for _ in range(5):
            session.run(train)
        return status("VmHWM"), status("VmRSS")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure-memory", choices=("plain", "contrib", "ours"))
    options = parser.parse_args()
    import tensorflow.compat.v1 as tf

    tf.logging.set_verbosity(tf.logging.ERROR)
    if options.measure_memory:
        print(json.dumps(measure_memory(tf, options.measure_memory)))
        return 0
    check, steps = time_checks(tf), time_steps(tf)
    memory = {kind: memory_of(kind) for kind in ("plain", "contrib", "ours")}
    for name, value in check.items():
        print(f"{name:28}{value:8.1f} ms")
    for name, value in steps.items():
        peak, rest = memory[name]
        print(
            f"SGD step, {name:18}{value:8.1f} ms   "
            f"needs {peak - rest:4.0f} MB beside the {rest:4.0f} MB of the process"
        )
    ours = check["overflow check"]
    needs = {kind: peak - rest for kind, (peak, rest) in memory.items()}
    ratios = {
        "check / one sum of the gradients": ours / check["one sum of the gradients"],
        "check / reduce_all(is_finite)": ours / check["reduce_all(is_finite)"],
        "step / contrib's step": steps["ours"] / steps["contrib"],
        "memory of a step / contrib's": needs["ours"] / needs["contrib"],
        "peak memory / contrib's": memory["ours"][0] / memory["contrib"][0],
    }
    for name, promise in PROMISES.items():
        print(f"{name:36}{ratios[name]:7.3f}   promised: at most {promise}")
    return int(any(ratios[name] > promise for name, promise in PROMISES.items()))


if __name__ == "__main__":
    sys.exit(main())
