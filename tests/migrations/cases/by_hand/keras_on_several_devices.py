import tensorflow as tf
from npu_bridge.npu_init import *

npu_keras_sess = set_keras_session_npu_config()
optimizer = npu_distributed_optimizer_wrapper(tf.keras.optimizers.SGD(0.1))
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(optimizer=optimizer, loss="mse")
callbacks = [NPUBroadcastGlobalVariablesCallback(0)]
model.fit(xs, ys, batch_size=8, epochs=1, callbacks=callbacks)
close_session(npu_keras_sess)
