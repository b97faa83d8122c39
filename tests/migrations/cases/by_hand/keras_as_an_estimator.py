import tensorflow as tf
from npu_bridge.npu_init import *

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(optimizer=tf.train.GradientDescentOptimizer(0.1), loss="mse")
config = NPURunConfig(model_dir="out", save_checkpoints_steps=10)
estimator = model_to_npu_estimator(keras_model=model, config=config)
estimator.train(input_fn, max_steps=10)
