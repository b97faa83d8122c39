"""The runtime's log: absl's, as TensorFlow 1.15's."""

from absl import logging

#: Not the functions of `absl.logging`: called before `app.run()`, they install a handler of their
#: own at the root, and every later line of TensorFlow's appears twice.
log = logging.get_absl_logger()
