"""Makes runs of the same script alike: seeds, and one thread a session."""

import collections
import itertools
import random
import weakref
import zlib
from typing import Any, Callable, Counter

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig
from tensorflow.python.client import session as tf_session
from tensorflow.python.data.experimental.ops import batching
from tensorflow.python.data.ops import dataset_ops, readers
from tensorflow.python.eager import context
from tensorflow.python.framework import random_seed
from tensorflow.python.ops import gen_data_flow_ops
from tensorflow.python.training import queue_runner_impl, supervisor

_SEED = 20151109
#: Rewritten graphs round otherwise, and the NPU's configuration rewrites less. What rewrites sums
#: and products also loses control edges, such as that of the loss before the update.
_REWRITING = RewriterConfig(
    remapping=RewriterConfig.OFF,
    arithmetic_optimization=RewriterConfig.OFF,
    meta_optimizer_iterations=RewriterConfig.ONE,
)


def make_deterministic(rank: int) -> None:
    """Seeds what has no seed, and lets sessions and datasets work in one order.

    Args:
      rank: of this process. Ranks get different seeds, so that it shows when variables are not
        broadcast.
    """
    seed = _SEED + rank
    _seed_python(seed)
    _seed_operations(seed)
    _use_one_thread()
    _order_datasets()
    _order_queues()
    _leave_out_timed_summaries()


def _seed_python(seed: int) -> None:
    """Seeds the generators that all share, also where a script or a library seeds them anew."""
    random.seed = _never_without(random.seed, seed)
    np.random.seed = _never_without(np.random.seed, seed)
    random.seed()
    np.random.seed()
    _seed_generators(seed)


def _seed_generators(seed: int) -> None:
    """Seeds generators that a script makes for itself and gives no seed, each another one."""
    plain: Any = np.random.RandomState
    numbers = itertools.count(seed)

    class OfPlain(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, plain)

    class Seeded(plain, metaclass=OfPlain):  # type: ignore[misc]
        def __init__(self, seed: Any = None) -> None:
            super().__init__(next(numbers) if seed is None else seed)

    np.random.RandomState = Seeded
    if hasattr(np.random, "default_rng"):
        make = np.random.default_rng
        np.random.default_rng = lambda seed=None: make(next(numbers) if seed is None else seed)


def _never_without(set_seed: Callable[..., None], seed: int) -> Callable[..., None]:
    def set_some_seed(given: Any = None, *args: Any, **kwargs: Any) -> None:
        set_seed(seed if given is None else given, *args, **kwargs)

    return set_some_seed


def _seed_operations(seed: int) -> None:
    """Seeds each operation after its scope.

    TensorFlow itself takes the number of operations in the graph, which a migration changes.
    """
    with_given_seed = random_seed.get_seed
    counts: weakref.WeakKeyDictionary[Any, Counter[str]] = weakref.WeakKeyDictionary()

    def get_seed(op_seed: Any) -> Any:
        if tf.executing_eagerly():
            return with_given_seed(op_seed)
        graph = tf.get_default_graph()
        graph_seed = graph.seed
        if op_seed is not None and graph_seed is None:
            return with_given_seed(op_seed)
        if op_seed is None:
            count = counts.setdefault(graph, collections.Counter())
            scope = graph.get_name_scope()
            count[scope] += 1
            op_seed = zlib.crc32(f"{scope} {count[scope]}".encode())
        graph_seed = seed if graph_seed is None else graph_seed
        seeds = random_seed._truncate_seed(graph_seed), random_seed._truncate_seed(op_seed)
        return (0, random_seed._MAXINT32) if seeds == (0, 0) else seeds

    random_seed.get_seed = get_seed


def _use_one_thread() -> None:
    construct = tf_session.BaseSession.__init__

    def construct_with_one_thread(
        session: Any, target: Any = "", graph: Any = None, config: Any = None
    ) -> None:
        if config is None or isinstance(config, config_pb2.ConfigProto):
            own = config_pb2.ConfigProto()
            own.CopyFrom(context.context().config if config is None else config)
            own.inter_op_parallelism_threads = 1
            own.intra_op_parallelism_threads = 1
            own.use_per_session_threads = True
            own.graph_options.rewrite_options.CopyFrom(_REWRITING)
            own.graph_options.optimizer_options.Clear()
            config = own
        construct(session, target, graph, config)

    tf_session.BaseSession.__init__ = construct_with_one_thread


def _order_datasets() -> None:
    _force(dataset_ops.ParallelMapDataset, 3, "num_parallel_calls", 1)
    _force(batching._MapAndBatchDataset, 4, "num_parallel_calls", 1)
    _force(readers.ParallelInterleaveDataset, 5, "sloppy", False)
    optimizations = dataset_ops.Options._static_optimizations

    def in_order(options: Any) -> Any:
        return [name for name in optimizations(options) if name != "make_sloppy"]

    dataset_ops.Options._static_optimizations = in_order


def _order_queues() -> None:
    """Takes the elements of shuffled queues in order, and fills queues by one thread.

    What such a queue gives depends on how full it is at the moment.
    """

    def in_order(
        component_types: Any,
        shapes: Any = (),
        capacity: int = -1,
        min_after_dequeue: int = 0,
        seed: int = 0,
        seed2: int = 0,
        container: str = "",
        shared_name: str = "",
        name: Any = None,
    ) -> Any:
        del min_after_dequeue, seed, seed2
        return gen_data_flow_ops.fifo_queue_v2(
            component_types, shapes, capacity, container, shared_name, name
        )

    gen_data_flow_ops.random_shuffle_queue_v2 = in_order
    fill = queue_runner_impl.QueueRunner._init_from_args

    def fill_once(runner: Any, enqueue_ops: Any = None, **rest: Any) -> None:
        once = list(dict.fromkeys(enqueue_ops)) if enqueue_ops else enqueue_ops
        fill(runner, enqueue_ops=once, **rest)

    queue_runner_impl.QueueRunner._init_from_args = fill_once


def _leave_out_timed_summaries() -> None:
    """Runs that a thread does now and then would draw random numbers and data between the steps."""
    supervisor.SVSummaryThread.run_loop = lambda thread: None


def _force(dataset: Any, position: int, name: str, value: Any) -> None:
    """Has the constructor of a dataset take one value for an argument, always.

    Args:
      dataset: class.
      position: of the argument, with `self` at 0.
      name: of the argument.
      value: what it gets.
    """
    construct = dataset.__init__

    def construct_so(*args: Any, **kwargs: Any) -> None:
        if len(args) > position:
            args = (*args[:position], value, *args[position + 1 :])
        else:
            kwargs[name] = value
        construct(*args, **kwargs)

    dataset.__init__ = construct_so
