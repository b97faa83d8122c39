"""Which calls of TensorFlow build operations of the graph."""

import ast
from typing import Optional

from npu_migrate.names import Index

_MODULES = (
    "tensorflow.",
    "tensorflow.math.",
    "tensorflow.nn.",
    "tensorflow.layers.",
    "tensorflow.linalg.",
    "tensorflow.image.",
    "tensorflow.losses.",
    "tensorflow.metrics.",
    "tensorflow.random.",
    "tensorflow.strings.",
    "tensorflow.summary.",
    "tensorflow.debugging.",
    "tensorflow.keras.backend.",
    "tensorflow.contrib.layers.",
    "tensorflow.contrib.summary.",
)
_CLASSES = frozenset(("tensorflow.Variable", "tensorflow.Print", "tensorflow.Assert"))

_NO_OPERATIONS = frozenset(
    "tensorflow." + name
    for name in (
        "add_to_collection",
        "add_to_collections",
        "all_variables",
        "as_dtype",
        "colocate_with",
        "container",
        "control_dependencies",
        "device",
        "disable_eager_execution",
        "disable_resource_variables",
        "disable_v2_behavior",
        "enable_control_flow_v2",
        "enable_eager_execution",
        "enable_resource_variables",
        "enable_v2_behavior",
        "executing_eagerly",
        "get_collection",
        "get_collection_ref",
        "get_default_graph",
        "get_default_session",
        "get_local_variable",
        "get_logger",
        "get_seed",
        "get_static_value",
        "get_variable_scope",
        "global_variables",
        "global_variables_initializer",
        "import_graph_def",
        "init_scope",
        "initialize_all_tables",
        "initialize_all_variables",
        "is_tensor",
        "load_file_system_library",
        "load_library",
        "load_op_library",
        "local_variables",
        "local_variables_initializer",
        "make_ndarray",
        "make_template",
        "make_tensor_proto",
        "model_variables",
        "moving_average_variables",
        "name_scope",
        "no_op",
        "no_regularizer",
        "op_scope",
        "register_tensor_conversion_function",
        "report_uninitialized_variables",
        "reset_default_graph",
        "set_random_seed",
        "tables_initializer",
        "trainable_variables",
        "variable_axis_size_partitioner",
        "variable_op_scope",
        "variable_scope",
        "variables_initializer",
        "wrap_function",
        "random.set_random_seed",
        "random.get_seed",
        "keras.backend.clear_session",
        "keras.backend.floatx",
        "keras.backend.epsilon",
        "keras.backend.get_session",
        "keras.backend.get_value",
        "keras.backend.image_data_format",
        "keras.backend.is_keras_tensor",
        "keras.backend.learning_phase",
        "keras.backend.set_epsilon",
        "keras.backend.set_floatx",
        "keras.backend.set_image_data_format",
        "keras.backend.set_learning_phase",
        "keras.backend.set_session",
        "keras.backend.set_value",
        "keras.backend.get_uid",
        "keras.backend.int_shape",
        "keras.backend.ndim",
        "keras.backend.dtype",
        "keras.backend.eval",
        "keras.backend.count_params",
        "summary.get_summary_description",
        "summary.initialize",
        "contrib.summary.create_file_writer",
        "contrib.layers.l1_regularizer",
        "contrib.layers.l2_regularizer",
        "contrib.layers.l1_l2_regularizer",
        "contrib.layers.xavier_initializer",
        "contrib.layers.xavier_initializer_conv2d",
        "contrib.layers.variance_scaling_initializer",
    )
)
"""Functions that name, find, or set up, and initialisers, which are run by themselves."""


def operation(index: Index, node: Optional[ast.AST]) -> str:
    """The qualified name of the function that a call builds an op with, or an empty string."""
    if not isinstance(node, ast.Call):
        return ""
    name = index.resolve(node.func).sole
    if name in _CLASSES:
        return name
    module, _, last = name.rpartition(".")
    is_function = module + "." in _MODULES and last[:1].islower()
    is_builder = is_function and name not in _NO_OPERATIONS and not last.endswith("_initializer")
    return name if is_builder else ""


def builds_operation(index: Index, call: ast.Call) -> bool:
    """Whether a call adds to the graph."""
    return bool(operation(index, call))
