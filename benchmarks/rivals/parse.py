"""``ast.parse`` of all files of a list, each read once."""

import ast
import sys
import warnings

warnings.simplefilter("ignore")
with open(sys.argv[1], encoding="utf-8") as listing:
    for path in listing.read().splitlines():
        with open(path, "rb") as source:
            ast.parse(source.read())
