"""Stand-in for the vendor's module of this name, which exports the op library under this name."""

from npu_bridge.helper import helper

npu_unary_ops = helper.get_gen_ops()
