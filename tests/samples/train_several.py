"""Runs a training script several times in one process, which imports TensorFlow only once.

    train_several.py FOLDER MODULE RUNS

RUNS is a JSON file with a list of [name, arguments, is ordered]. A line of `=` and the name
precedes what a run prints. In an ordered run of BERT, the reads of the global step are put in
order.
"""

import contextlib
import importlib
import json
import sys
from unittest import mock

import tensorflow as tf
from absl import flags
from step_order import ordered


def main(folder, module_name, runs):
    sys.path.insert(0, folder)
    module = importlib.import_module(module_name)
    with open(runs) as file:
        runs = json.load(file)
    for name, arguments, is_ordered in runs:
        _parse([module_name, *arguments])
        tf.reset_default_graph()
        print("=", name, flush=True)
        with _ordered(module.optimization) if is_ordered else contextlib.nullcontext():
            module.main([])


def _parse(argv):
    flags.FLAGS.unparse_flags()
    for flag in flags.FLAGS:
        flags.FLAGS[flag].unparse()
    flags.FLAGS(argv)


def _ordered(optimization):
    create_optimizer = ordered(optimization.create_optimizer)
    return mock.patch.object(optimization, "create_optimizer", create_optimizer)


if __name__ == "__main__":
    main(*sys.argv[1:])
