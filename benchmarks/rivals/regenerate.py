"""``ast.parse`` of all files of a list, and libcst's parse and code of those of a second list."""

import ast
import sys
import warnings

import libcst

warnings.simplefilter("ignore")
with open(sys.argv[1], encoding="utf-8") as listing:
    for path in listing.read().splitlines():
        with open(path, "rb") as source:
            ast.parse(source.read())
with open(sys.argv[2], encoding="utf-8") as listing:
    for path in listing.read().splitlines():
        with open(path, "rb") as source:
            libcst.parse_module(source.read()).bytes  # noqa: B018
