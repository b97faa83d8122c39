"""Variables and a dataset's iterator in one run become two runs (NPU701)."""

from textwrap import dedent

import pytest
from support import left_as_marked, migrate, untouched, with_tf

CONFIG = "from npu_bridge.npu_init import npu_config_proto\n"
ITERATOR = "iterator = tf.data.Dataset.range(9).make_initializable_iterator()\n"


def script(text):
    return with_tf(
        CONFIG + ITERATOR + "sess = tf.Session(config=npu_config_proto())\n" + dedent(text)
    )


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param(
            "sess.run([tf.global_variables_initializer(), iterator.initializer])",
            """\
            sess.run([tf.global_variables_initializer()])
            sess.run([iterator.initializer])""",
            id="list",
        ),
        pytest.param(
            "sess.run((iterator.initializer, tf.global_variables_initializer()))",
            """\
            sess.run((tf.global_variables_initializer(),))
            sess.run((iterator.initializer,))""",
            id="tuple, the iterator first",
        ),
        pytest.param(
            "sess.run(tf.group(tf.global_variables_initializer(), iterator.initializer))",
            """\
            sess.run(tf.group(tf.global_variables_initializer()))
            sess.run(tf.group(iterator.initializer))""",
            id="group",
        ),
        pytest.param(
            "sess.run(fetches=[tf.initialize_all_variables(), iterator.initializer])",
            """\
            sess.run(fetches=[tf.initialize_all_variables()])
            sess.run(fetches=[iterator.initializer])""",
            id="keyword",
        ),
        pytest.param(
            """\
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer(),
                      tf.tables_initializer(), iterator.initializer], feed_dict={x: 1})  # start""",
            """\
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer(),
                      tf.tables_initializer()], feed_dict={x: 1})  # start
            sess.run([iterator.initializer], feed_dict={x: 1})  # start""",
            id="local variables and tables stay with the variables",
        ),
        pytest.param(
            "_ = sess.run([tf.global_variables_initializer(), iterator.initializer])",
            """\
            _ = sess.run([tf.global_variables_initializer()])
            _ = sess.run([iterator.initializer])""",
            id="a result that nobody reads",
        ),
        pytest.param(
            """\
            init = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
            sess.run([init, iterator.initializer])""",
            """\
            init = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
            sess.run([init])
            sess.run([iterator.initializer])""",
            id="variables in a group of their own",
        ),
        pytest.param(
            """\
            init = [tf.global_variables_initializer(), iterator.initializer]
            sess.run(init)""",
            """\
            init = [tf.global_variables_initializer()]
            init_iterator = [iterator.initializer]
            sess.run(init)
            sess.run(init_iterator)""",
            id="a list by its name",
        ),
        pytest.param(
            """\
            init = tf.group(iterator.initializer, tf.global_variables_initializer())
            if restart:
                sess.run(init)
            else:
                sess.run(init, feed_dict={})""",
            """\
            init = tf.group(tf.global_variables_initializer())
            init_iterator = tf.group(iterator.initializer)
            if restart:
                sess.run(init)
                sess.run(init_iterator)
            else:
                sess.run(init, feed_dict={})
                sess.run(init_iterator, feed_dict={})""",
            id="a group that runs in two places",
        ),
        pytest.param(
            """\
            both = tf.data.Iterator.from_structure(types, shapes)
            start = both.make_initializer(dataset)
            sess.run([start, tf.global_variables_initializer()])""",
            """\
            both = tf.data.Iterator.from_structure(types, shapes)
            start = both.make_initializer(dataset)
            sess.run([tf.global_variables_initializer()])
            sess.run([start])""",
            id="a reinitializable iterator",
        ),
        pytest.param(
            """\
            its = [tf.compat.v1.data.make_initializable_iterator(d) for d in datasets]
            sess.run([tf.global_variables_initializer(), [it.initializer for it in its]])""",
            """\
            its = [tf.compat.v1.data.make_initializable_iterator(d) for d in datasets]
            sess.run([tf.global_variables_initializer()])
            sess.run([[it.initializer for it in its]])""",
            id="several iterators",
        ),
    ],
)
def test_two_runs(before, after):
    outcome = migrate(script(before + "\n"))
    assert outcome.text == script(after + "\n")
    assert [f.code for f in outcome.findings] == ["NPU701"]


def test_an_iterator_from_elsewhere_is_taken_by_its_name():
    outcome = migrate(
        with_tf("""
        def start(sess, model):
            sess.run([tf.global_variables_initializer(), model.train_iterator.initializer])
        """)
    )
    assert "sess.run([model.train_iterator.initializer])\n" in outcome.text
    (finding,) = outcome.of("NPU701")
    assert finding.assumed


def test_what_can_not_be_parted_is_left():
    left_as_marked(
        script(
            """\
            def grouped():
                return tf.group(tf.global_variables_initializer(), iterator.initializer) #! NPU701

            def fetching(step):
                sess.run([tf.global_variables_initializer(), iterator.initializer, step]) #! NPU701

            def reading():
                made = sess.run([tf.global_variables_initializer(), iterator.initializer]) #! NPU701
                return made[0]

            def handed_on(run):
                init = tf.group(tf.global_variables_initializer(), iterator.initializer)
                run(init)
                sess.run(init) #! NPU701

            scaffold = tf.train.Scaffold(
                init_op=tf.group(tf.global_variables_initializer(), iterator.initializer)) #! NPU701
            """
        )
    )


def test_what_is_not_both_stays():
    untouched(
        script(
            """\
            w = tf.get_variable('w', [2])
            sess.run(tf.global_variables_initializer())
            sess.run(iterator.initializer)
            sess.run([iterator.initializer, tf.tables_initializer()])
            sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
            sess.run([tf.global_variables_initializer(), w.initializer])
            sess.run([iterator.get_next(), w])
            tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
            layer = tf.layers.dense(x, 3, kernel_initializer=config.initializer)

            def other(pool, init):
                pool.run([init, config.initializer])
            """
        )
    )
