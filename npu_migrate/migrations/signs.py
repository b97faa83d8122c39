"""What the text of a file has that holds work for a migration.

The first look at a run and the plan of a file go by the same signs, so that a file is planned where
a migration may find something in it, and only what may find something is run.
"""

import re
from typing import FrozenSet, Iterable, NamedTuple, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.session.estimator_classes import CONFIG_AT, RUN_CONFIGS

_APART = bytes(
    byte if byte >= 128 or chr(byte).isalnum() or chr(byte) == "_" else ord(" ")
    for byte in range(256)
)
"""Turns all that is no part of a word into spaces."""
_RUNS = re.compile(rb"\W?\w+\W?")


class Text:
    """The code of a file, with its words (whole identifiers, also those in strings)."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        self.words = frozenset(code.translate(_APART).split())
        self._listed = b" %b " % b" ".join(self.words)

    def shows(self, signs: "Signs") -> bool:
        """Whether the text has one of the signs."""
        has_word = not self.words.isdisjoint(signs.words)
        if not has_word and not signs.parts:
            return False
        if signs.beside and not self._holds(signs.beside):
            return False
        return has_word or self._holds(signs.parts)

    def mentions(self, piece: bytes) -> bool:
        """Whether a piece of a word stands in the text."""
        return piece in self._listed

    def _holds(self, parts: "Iterable[Part]") -> bool:
        listed = self._listed
        for word, part in parts:  # noqa: SIM110 - a generator would cost as much as the search
            if word in listed and part in self.code:
                return True
        return False


Part = Tuple[bytes, bytes]
"""A part of a text after its longest piece of a word, which is looked for among the words first.

The piece has spaces where the word begins or ends with it.
"""


class Signs(NamedTuple):
    """Any of these words or parts of a text; if given, in texts that hold one of ``beside``."""

    words: FrozenSet[bytes] = frozenset()
    parts: Tuple[Part, ...] = ()
    beside: Tuple[Part, ...] = ()


def signs(words: str = "", parts: Iterable[str] = (), beside: Iterable[str] = ()) -> Signs:
    """Signs from words that are separated by spaces, and parts that may be anything."""
    return Signs(frozenset(words.encode("ascii").split()), _parts(parts), _parts(beside))


def _parts(texts: Iterable[str]) -> Tuple[Part, ...]:
    parts = [text.encode("ascii") for text in texts]
    return tuple((max(_RUNS.findall(p), key=len).translate(_APART), p) for p in parts)


def last_words(names: Iterable[str]) -> str:
    """The last parts of qualified names."""
    return " ".join(name.rpartition(".")[2] for name in names)


LOSS_SCALING = signs(
    f"""
    mixed_precision mixed_float16 allow_mix_precision auto_mixed_precision
    TF_ENABLE_AUTO_MIXED_PRECISION TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE
    TF_ENABLE_AUTO_MIXED_PRECISION_LOSS_SCALING npu_bridge LossScaleManager
    {last_words((*vocabulary.SCALED, *vocabulary.LOSS_SCALES, *vocabulary.SAME_NAME))}
    """,
    ["loss_scale:0"],
)
HOROVOD = signs("horovod byteps ops_adapter")
RANK_VARIABLES = signs("RANK_ID RANK_SIZE CM_WORKER_SIZE")
FINITE_CHECKS = signs("is_finite is_nan is_inf")
GRADIENTS = signs(parts=["gradients("])
"""Gradients that may be scaled by hand."""
OF_TRAINING = (LOSS_SCALING, HOROVOD, RANK_VARIABLES, FINITE_CHECKS, GRADIENTS)
"""Loss scaling, averaging over ranks, a moved global step, and checks that stand for them."""

TRAINING = signs(parts=["minimize", "apply_gradients", "compile", "train_op", "optimize_loss"])
"""Training, which matters where loss scaling is to be added."""

IN_PROGRAM = signs(
    parts=["Optimizer", "keras.optimizers", "minimize", "global_step", "assign_add", "hvd"]
)
"""What matters in a program with loss scaling or Horovod."""

GPU_PINNING = signs(
    """
    visible_device_list CUDA_VISIBLE_DEVICES set_visible_devices get_visible_devices
    set_memory_growth set_virtual_device_configuration
    list_physical_devices list_logical_devices experimental_list_devices list_local_devices
    is_gpu_available is_built_with_cuda is_built_with_gpu_support gpu_device_name
    """
)
DEVICES = signs(
    "DeviceSpec prefetch_to_device copy_to_device", [".device(", " device(", "gpu:", "GPU:"]
)
STRATEGIES = signs(
    """
    MirroredStrategy OneDeviceStrategy CentralStorageStrategy MultiWorkerMirroredStrategy
    CollectiveAllReduceStrategy
    """
)
ESTIMATORS = signs(
    f"{last_words((*CONFIG_AT, *RUN_CONFIGS))} NPUEstimator NPURunConfig npu_run_config_init"
)
KERAS_TRAINING = signs(
    parts=[".fit(", ".fit_generator(", ".train_on_batch(", "import keras", "from keras"],
    beside=["keras"],
)
KERAS_FITS = signs("fit fit_generator train_on_batch", beside=["keras"])
SESSIONS = signs(
    """
    Session InteractiveSession MonitoredSession MonitoredTrainingSession SingularMonitoredSession
    ChiefSessionCreator WorkerSessionCreator SessionManager session_config custom_optimizers
    managed_session prepare_or_wait_for_session PrepareSession evaluate_once evaluate_repeatedly
    evaluation_loop from_saved_model from_estimator
    """,
    ["learning.train", "training.train"],
    beside=["tensorflow"],
)
XLA = signs(
    """
    xla TF_XLA_FLAGS global_jit_level set_jit jit_scope experimental_jit_scope experimental_compile
    """
)
XLA_COMPILE = signs("compile estimator_model_fn", beside=["xla"])
WIDE_TYPES = signs(
    "float64 double complex64 complex128 to_double to_complex64 to_complex128 complex",
    beside=["tensorflow"],
)
EAGER = signs("executing_eagerly in_eager_mode")
GPU_PACKAGES = signs("pynvml py3nvml nvidia_smi GPUtil cupy nvtx nvtx_plugins dali")
PROCESSES = signs("set_start_method get_context")
REQUIREMENTS = signs("install_requires setup_requires tests_require extras_require")

INITIALIZERS = signs(
    parts=[".initializer", "make_initializer"],
    beside=["variables_initializer", "initialize_", "initializers."],
)
LOOKUP_TABLES = signs(
    parts=["HashTable", "_table_from_", "VocabularyTable", ".lookup("], beside=["map"]
)
PIPELINE_VARIABLES = signs(parts=["ariable(", "global_step", "backend"], beside=["ataset"])
SHUFFLES = signs("shuffle_and_repeat", [".shuffle("], beside=["ataset"])
PIPELINES = (LOOKUP_TABLES, PIPELINE_VARIABLES, SHUFFLES)
RANK_QUESTIONS = signs(parts=["hccl."])
DYNAMIC_LOOPS = signs("shape_invariants")
CONTROL_FLOW = signs("enable_control_flow_v2 enable_v2_behavior")
BATCH_QUEUES = signs("batch maybe_batch", beside=["num_threads"])
UNSIGNED_BYTES = signs("uint8 quint8", beside=["tensorflow"])
PRECISION = signs(
    """
    TF_ENABLE_AUTO_MIXED_PRECISION TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE
    TF_ENABLE_AUTO_MIXED_PRECISION_LOSS_SCALING auto_mixed_precision
    enable_mixed_precision_graph_rewrite precision_mode precision_mode_v2 set_precision_mode
    """
)
NPU_CONFIGS = signs("npu_config_proto npu_run_config_init NPURunConfig NpuOptimizer")
SWITCHES = signs(
    f"""
    {last_words(vocabulary.SCALED)} set_policy LossScaleOptimizer
    enable_control_flow_v2 enable_v2_behavior
    init_resource set_keras_session_npu_config initialize_system NPUEstimator
    TF_ENABLE_AUTO_MIXED_PRECISION TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE
    allow_mix_precision mixed_float16 auto_mixed_precision mix_compile_mode enable_data_pre_proc
    """
)
OPEN_SESSIONS = signs("Session InteractiveSession", beside=["self"])
RANKS = signs("horovod hvd byteps npu_bridge ops_adapter hccl RANK_ID DEVICE_ID ASCEND_DEVICE_ID")
LAST_HOOKS = signs(
    """
    BroadcastGlobalVariablesHook NPUBroadcastGlobalVariablesHook NPUCheckpointSaverHook
    npu_hooks_append
    """
)

ON_NPU = signs("npu_bridge npu_migrate hccl npu_device")

CONCERNED = (
    *OF_TRAINING,
    GPU_PINNING,
    DEVICES,
    STRATEGIES,
    ESTIMATORS,
    KERAS_TRAINING,
    SESSIONS,
    XLA,
    WIDE_TYPES,
    EAGER,
    GPU_PACKAGES,
    PROCESSES,
    REQUIREMENTS,
    INITIALIZERS,
    *PIPELINES,
    RANK_QUESTIONS,
    DYNAMIC_LOOPS,
    CONTROL_FLOW,
    BATCH_QUEUES,
    UNSIGNED_BYTES,
)
"""What may be found in a file whatever else the run holds."""
