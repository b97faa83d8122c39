import tensorflow as tf
from npu_bridge.npu_init import *
from npu_bridge.estimator.npu import npu_convert_dropout

layer = npu_ops.dropout(tf.ones([4, 4]), keep_prob=0.5)
layer = npu_unary_ops.gelu(layer)
layer = tf.layers.dropout(layer, 0.5)
