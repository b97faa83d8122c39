"""Trains in all ways that TensorFlow 1.15 has, one after the other; prints the losses it sees."""

import collections

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
mixed = tf.contrib.mixed_precision
experimental = tf.train.experimental


def saw(section, loss=None):
    print("saw", section, loss, flush=True)


def distance(x):
    """A loss that some hidden units, dropout and a penalty are in."""
    hidden = tf.nn.dropout(tf.layers.dense(x, 8, tf.nn.relu), rate=0.2)
    predicted = tf.layers.dense(hidden, 1, kernel_regularizer=tf.nn.l2_loss)
    error = tf.reduce_mean(tf.square(predicted - tf.reduce_sum(x, 1, keepdims=True)))
    return error + tf.losses.get_regularization_loss()


def loop():
    x = tf.placeholder(tf.float32, [None, 4])
    loss = distance(x)
    step = tf.Variable(0, name="global_step", trainable=False)
    rate = tf.train.exponential_decay(0.1, step, 1, 0.5)
    manager = mixed.ExponentialUpdateLossScaleManager(1024, 100, 1, 2, 0.5)
    optimizer = mixed.LossScaleOptimizer(tf.train.MomentumOptimizer(rate, 0.9), manager)
    train = optimizer.minimize(loss, step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        random = np.random.RandomState()
        for _ in range(4):
            batch = random.rand(8, 4)
            saw("loop", session.run({"loss": loss, "train": train}, {x: batch})["loss"])
            session.run(loss, {x: batch})


def monitored():
    loss = distance(tf.random_uniform([8, 4]))
    step = tf.train.get_or_create_global_step()
    optimizer = experimental.enable_mixed_precision_graph_rewrite(tf.train.AdamOptimizer(0.1))
    train = optimizer.minimize(loss, step)
    hooks = [tf.train.StopAtStepHook(3)]
    with tf.train.MonitoredTrainingSession(checkpoint_dir="monitored", hooks=hooks) as session:
        while not session.should_stop():
            saw("monitored", session.run([train, loss])[1])


def estimator():
    def model(features, labels, mode):
        loss = distance(features)
        if mode == tf.estimator.ModeKeys.EVAL:
            return tf.estimator.EstimatorSpec(mode, loss=loss)
        train = tf.train.AdagradOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    numbers = np.arange(80, dtype=np.float32).reshape(20, 4) / 80
    read = tf.estimator.inputs.numpy_input_fn(numbers, batch_size=4, num_epochs=None, shuffle=True)
    config = tf.estimator.RunConfig(save_checkpoints_steps=2)
    trained = tf.estimator.Estimator(model, "estimator", config)
    for _ in range(2):
        trained.train(read, steps=2)
        trained.evaluate(read, steps=1)


def keras():
    layers = [tf.keras.layers.Dense(4, input_shape=(4,)), tf.keras.layers.Dense(1)]
    model = tf.keras.Sequential(layers)
    model.compile(tf.keras.optimizers.Adam(0.01), "mse")
    numbers = np.random.rand(20, 4)
    model.fit(numbers, numbers.sum(1), batch_size=4, validation_split=0.2, verbose=0)
    model.evaluate(numbers, numbers.sum(1), verbose=0)


def embedding():
    words = tf.get_variable("words", [5, 2])
    ids = tf.placeholder(tf.int32, [3])
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(words, ids) - 1.0))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    initialised = tf.global_variables_initializer()
    tf.train.get_or_create_global_step()  # has no value
    with tf.Session() as session:
        session.run(initialised)
        session.make_callable(train, [ids])([1, 1, 1])


class FromOne(tf.train.Optimizer):
    """Divides by the number of the step, and leaves it to others to move it."""

    def __init__(self, rate):
        super().__init__(False, "FromOne")
        self.learning_rate = tf.identity(rate)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        rate = self.learning_rate / tf.cast(global_step, tf.float32)
        return tf.group(*[v.assign(v - rate * g) for g, v in grads_and_vars], name=name)


def step_outside():
    weight = tf.get_variable("weight", initializer=8.0)
    step = tf.train.get_or_create_global_step()
    rate = 1.0 / tf.cast(step + 1, tf.float32)
    optimizer = FromOne(rate)
    pairs = optimizer.compute_gradients(weight * 1.0)
    train = tf.group(optimizer.apply_gradients(pairs, step), [step.assign(step + 1)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
            saw("step_outside", session.run(weight))


def ended_data():
    iterator = tf.data.Dataset.range(1, 3).shuffle(9).make_initializable_iterator()
    weight = tf.get_variable("weight", initializer=1.0)
    loss = weight * tf.cast(iterator.get_next(), tf.float32)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run(iterator.initializer)
            try:
                while True:
                    saw("ended_data", session.run([loss, train])[0])
            except tf.errors.OutOfRangeError:
                pass


def accumulated():
    weight = tf.get_variable("weight", initializer=1.0)
    total = tf.get_variable("weight/total", initializer=0.0, trainable=False)
    count = tf.get_variable("count", initializer=0, trainable=False)
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.AdamOptimizer(0.1)
    ((gradient, _),) = optimizer.compute_gradients(weight * weight)
    with tf.control_dependencies([total.assign_add(gradient), count.assign_add(1)]):

        def apply():
            done = optimizer.apply_gradients([(total.read_value(), weight)], step)
            with tf.control_dependencies([done]):
                return tf.group(total.assign(0.0))

        train = tf.cond(tf.equal(count.read_value() % 2, 0), apply, tf.no_op)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(4):
            session.run(train)


def mirrored():
    def model(features, labels, mode):
        error = tf.layers.dense(features, 1) - labels
        loss = tf.reduce_mean(tf.square(error))
        train = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    def read():
        numbers = np.ones((4, 3), np.float32)
        return tf.data.Dataset.from_tensors((numbers, numbers[:, :1])).repeat()

    config = tf.estimator.RunConfig(train_distribute=tf.distribute.MirroredStrategy())
    tf.estimator.Estimator(model, "mirrored", config).train(read, steps=2)


def partial():
    inner = tf.get_variable("inner", initializer=1.0)
    outer = tf.get_variable("outer", initializer=1.0)
    average = tf.train.ExponentialMovingAverage(0.5)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(inner * 1.0, var_list=[inner])
    with tf.control_dependencies([train]):
        train = average.apply([inner])
    with tf.Session() as session:
        session.run([inner.initializer, average.average(inner).initializer])
        for _ in range(2):
            session.run(train)
        session.run(outer.initializer)
        session.run(train)


def slim():
    loss = distance(tf.random_uniform([8, 4]))
    train = tf.contrib.slim.learning.create_train_op(
        loss, tf.train.RMSPropOptimizer(0.01), summarize_gradients=True
    )
    tf.contrib.slim.learning.train(train, "slim", number_of_steps=2, save_summaries_secs=1)


SECTIONS = collections.OrderedDict(
    loop=(loop, 4),
    monitored=(monitored, 3),
    estimator=(estimator, 4),
    keras=(keras, 4),
    embedding=(embedding, 1),
    step_outside=(step_outside, 3),
    ended_data=(ended_data, 4),
    accumulated=(accumulated, 4),
    mirrored=(mirrored, 2),
    partial=(partial, 3),
    slim=(slim, 2),
)

if __name__ == "__main__":
    for train, _ in SECTIONS.values():
        tf.keras.backend.clear_session()
        tf.reset_default_graph()
        train()
