import tensorflow as tf
from npu_bridge.npu_init import *

npu_keras_sess = set_keras_session_npu_config()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(optimizer=KerasDistributeOptimizer(tf.keras.optimizers.SGD(0.1)), loss="mse")
model.fit(xs, ys, batch_size=8, epochs=1, callbacks=npu_callbacks_append(callbacks_list=[]))
close_session(npu_keras_sess)
