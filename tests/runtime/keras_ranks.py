"""Trains through Keras and Horovod on several ranks; each rank writes down what it saw."""

import json
import sys

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf


def main(folder):
    hvd.init()
    x = np.random.RandomState(hvd.rank()).rand(32, 2).astype("float32")
    kernel = tf.keras.initializers.Constant(hvd.rank() + 1.0)
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(1, input_shape=(2,), kernel_initializer=kernel)]
    )
    rate = 0.05 * hvd.size()
    optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate, momentum=0.9))
    model.compile(loss="mse", optimizer=optimizer, metrics=["mae"])
    rates = []
    look = tf.keras.callbacks.LambdaCallback(
        on_batch_end=lambda batch, logs: rates.append(
            float(tf.keras.backend.get_value(model.optimizer.lr))
        )
    )
    callbacks = [
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd.callbacks.MetricAverageCallback(),
        hvd.callbacks.LearningRateWarmupCallback(
            initial_lr=rate, warmup_epochs=2, steps_per_epoch=4
        ),
        hvd.callbacks.LearningRateScheduleCallback(initial_lr=rate, multiplier=0.5, start_epoch=2),
        look,
    ]
    history = model.fit(
        x,
        x.sum(1) / 3,
        epochs=4,
        batch_size=8,
        shuffle=False,
        verbose=0,
        callbacks=callbacks,
    )
    seen = {
        "weights": [np.ravel(w).tolist() for w in model.get_weights()],
        "sum": float(hvd.allreduce(hvd.rank() + 1.0, average=False)),
        "rates": rates,
    }
    for name, values in history.history.items():
        seen[name] = [float(value) for value in values]
    with open(f"{folder}/{hvd.rank()}.json", "w") as file:
        json.dump(seen, file)


if __name__ == "__main__":
    main(sys.argv[1])
