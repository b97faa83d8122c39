"""The `npu-run` command."""

import argparse
import os
import sys
from typing import List, Optional

from npu_migrate.launch.script import run_script


def main(argv: Optional[List[str]] = None) -> int:
    """Runs a migrated script.

    Args:
      argv: arguments of the command, by default those of this process.

    Returns:
      Exit code.
    """
    options = _parser().parse_args(argv)
    if not os.path.isfile(options.script):
        print(f"npu-run: no such script: {options.script}", file=sys.stderr)
        return 2
    if options.overflow_mode:
        os.environ["NPU_MIGRATE_OVERFLOW_MODE"] = options.overflow_mode
    run_script(options.script, options.arguments)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="npu-run", description="Runs a migrated script.")
    parser.add_argument("-np", "--processes", type=int, default=1, metavar="N")
    parser.add_argument("--overflow-mode", choices=("saturation", "inf_nan"))
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


if __name__ == "__main__":
    sys.exit(main())
