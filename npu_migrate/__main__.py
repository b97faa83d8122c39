"""``python -m npu_migrate``."""

import sys

from npu_migrate.cli import main

sys.exit(main())
