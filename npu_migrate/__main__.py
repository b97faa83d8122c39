"""``python -m npu_migrate``."""

import os
import sys

# Python puts the current folder first, where a yaml.py or click.py is the user's, not ours.
if os.path.realpath(sys.path[0]) == os.getcwd() and not sys.flags.isolated:
    del sys.path[0]

from npu_migrate.cli import main  # noqa: E402

sys.exit(main())
