import tensorflow as tf
import tensorflow.python.keras as keras
from tensorflow.python.keras import backend as K
from npu_bridge.npu_init import *

sess_config = tf.ConfigProto(allow_soft_placement=True)
custom_op = sess_config.graph_options.rewrite_options.custom_optimizers.add()
custom_op.name = "NpuOptimizer"
sess_config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
sess_config.graph_options.rewrite_options.memory_optimization = RewriterConfig.OFF
sess = tf.Session(config=sess_config)
K.set_session(sess)

model = keras.Sequential([keras.layers.Dense(1, input_shape=(4,))])
model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
model.fit(xs, ys, batch_size=8, epochs=1)
sess.close()
