"""Imports added, dropped and replaced."""

from textwrap import dedent
from typing import Sequence

import pytest
from snippet import Edits, Snippet, both

from npu_migrate.plan import (
    AddImport,
    DropImport,
    Edit,
    InsertStatements,
    RemoveStatement,
    ReplaceImport,
)

TF = "import tensorflow as tf"


def add(*codes: str, after: str = "") -> Edits:
    """``module:name:asname``, each after the first may be missing."""

    def edits(s: Snippet) -> Sequence[Edit]:
        anchor = s.stmt(after) if after else None
        return [AddImport(*code.split(":"), after=anchor) for code in codes]

    return edits


def drop(statement: str, *positions: int) -> Edits:
    def edits(s: Snippet) -> Sequence[Edit]:
        node = s.stmt(statement)
        return [DropImport(node, node.names[position]) for position in positions]

    return edits


def swap(statement: str, position: int, *new: str) -> Edits:
    def edits(s: Snippet) -> Sequence[Edit]:
        node = s.stmt(statement)
        return [ReplaceImport(node, node.names[position], *new)]

    return edits


LISTED = """
from m import (
    a,  # of a
    # of b
    b,
    c,
)
"""

CASES = {
    "sorted, once each, right behind": (
        f"{TF}\n\nimport os\n",
        add("z:Y", "a:b:c", "z:X", "m", "z:Y", after=TF),
        f"{TF}\nfrom a import b as c\nimport m\nfrom z import X\nfrom z import Y\n\nimport os\n",
    ),
    "at the indentation of the import": (
        """
        def f():
            try:
                import tensorflow as tf
            except ImportError:
                raise
        """,
        add("a:b", after=TF),
        """
        def f():
            try:
                import tensorflow as tf
                from a import b
            except ImportError:
                raise
        """,
    ),
    "what stands there already is not added": (
        f"import x\n{TF}\nfrom a import b, c as d\nfrom e import f\n",
        add("a:b", "a:c", "a:c:d", "x", "e:f", after=TF),
        f"import x\n{TF}\nfrom a import c\nfrom a import b, c as d\nfrom e import f\n",
    ),
    "what goes does not stand there": (
        f"{TF}\nfrom a import b\n",
        both(add("a:b", after=TF), drop("from a import b", 0)),
        f"{TF}\nfrom a import b\n",
    ),
    "from the parent package": (
        f"{TF}\nfrom . import a\n",
        add(".:a", ".:b", after=TF),
        f"{TF}\nfrom . import b\nfrom . import a\n",
    ),
    "behind one of several on a line": (
        f"{TF}; import os  # both\n",
        add("a:b", after=TF),
        f"{TF}\nfrom a import b\nimport os  # both\n",
    ),
    "on the line of a try": (
        f"try: {TF}\nexcept E: pass\n",
        add("a:b", after=TF),
        f"try:\n    {TF}\n    from a import b\nexcept E: pass\n",
    ),
    "no place given: behind the leading imports": (
        "#!/bin/sh\n'doc'\nfrom __future__ import x\nimport os  # os\n\nos\nimport y\n",
        add("a:b"),
        "#!/bin/sh\n'doc'\nfrom __future__ import x\nimport os  # os\nfrom a import b\n\n"
        "os\nimport y\n",
    ),
    "behind the docstring": (
        '"""doc"""\n\nx = 1\n',
        add("a:b"),
        '"""doc"""\n\nfrom a import b\n\nx = 1\n',
    ),
    "close behind the docstring": (
        '"""doc"""\nx = 1\n',
        add("a:b"),
        '"""doc"""\n\nfrom a import b\n\nx = 1\n',
    ),
    "behind a docstring alone": ('"""doc"""\n', add("a:b"), '"""doc"""\n\nfrom a import b\n'),
    "at the top": (
        "#!/bin/sh\n# coding: utf-8\nx = 1\n",
        add("a:b"),
        "#!/bin/sh\n# coding: utf-8\nfrom a import b\n\nx = 1\n",
    ),
    "at the top, below the licence": (
        "# licence\n\n# of x\nx = 1\n",
        add("a:b"),
        "# licence\n\nfrom a import b\n\n# of x\nx = 1\n",
    ),
    "one name of several": (
        "from m import a, b, c\n",
        drop("from m import a, b, c", 1),
        "from m import a, c\n",
    ),
    "the first": ("import a, b as c\n", drop("import a, b as c", 0), "import b as c\n"),
    "the last": ("from m import a, \\\n  b\n", drop("from m import a, b", 1), "from m import a\n"),
    "the first of a list": (
        LISTED,
        drop("from m import a, b, c", 0),
        "\nfrom m import (\n    # of b\n    b,\n    c,\n)\n",
    ),
    "inside a list": (
        LISTED,
        drop("from m import a, b, c", 1),
        "\nfrom m import (\n    a,  # of a\n    # of b\n    c,\n)\n",
    ),
    "the last of a list": (
        LISTED,
        drop("from m import a, b, c", 2),
        "\nfrom m import (\n    a,  # of a\n    # of b\n    b,\n)\n",
    ),
    "two of a list": (
        LISTED,
        drop("from m import a, b, c", 1, 2),
        "\nfrom m import (\n    a,  # of a\n    # of b\n)\n",
    ),
    "the last of a list without a comma": (
        "from m import (a,\n               b)\n",
        drop("from m import a, b", 1),
        "from m import (a)\n",
    ),
    "the last of a hanging list": (
        "from m import (\n    a,\n    b\n)\n",
        drop("from m import a, b", 1),
        "from m import (\n    a\n)\n",
    ),
    "the whole statement": (
        "# of all\nimport a  # of a\nimport b\n",
        drop("import a", 0),
        "# of all\nimport b\n",
    ),
    "every name": ("from m import a, b\nc\n", drop("from m import a, b", 0, 1), "c\n"),
    "a star": ("from m import *\nc\n", drop("from m import *", 0), "c\n"),
    "the whole block": (
        "try:\n  import a\nexcept E:\n  a = None\n",
        drop("import a", 0),
        "try:\n  pass\nexcept E:\n  a = None\n",
    ),
    "the line of a block": (
        "try: import a\nexcept E: pass\n",
        drop("import a", 0),
        "try:\n    pass\nexcept E: pass\n",
    ),
    "beside others on its line": ("import a; import b; c\n", drop("import b", 0), "import a\nc\n"),
    "a sole name replaced": (
        "# of h\nimport horovod.tensorflow as hvd  # why\nx\n",
        swap("import horovod.tensorflow as hvd", 0, "npu_migrate.runtime", "ops_adapter", "hvd"),
        "# of h\nfrom npu_migrate.runtime import ops_adapter as hvd  # why\nx\n",
    ),
    "one of several replaced": (
        "import os, horovod as hvd, re  # why\nx\n",
        swap("import os, horovod as hvd, re", 1, "n", "ops", "hvd"),
        "import os, re  # why\nfrom n import ops as hvd\nx\n",
    ),
    "replaced, added and dropped at once": (
        "from m import a, b, c\nx\n",
        both(
            swap("from m import a, b, c", 0, "z", "a"),
            drop("from m import a, b, c", 1),
            swap("from m import a, b, c", 2, "k", "c"),
            add("l:l", after="from m import a, b, c"),
        ),
        "from k import c\nfrom l import l\nfrom z import a\nx\n",
    ),
    "replaced in a block": (
        "try:\n  import h  # why\nexcept E:\n  h = None\n",
        swap("import h", 0, "n", "h"),
        "try:\n  from n import h  # why\nexcept E:\n  h = None\n",
    ),
    "the same import wanted in two places of a run": (
        f"{TF}\nimport h\nimport i\nx\n",
        both(add("n:k", after=TF), swap("import h", 0, "n", "k"), swap("import i", 0, "n", "l")),
        f"{TF}\nfrom n import k\nfrom n import l\nx\n",
    ),
    "added behind what is removed": (
        f"{TF}\nx\n",
        both(add("a:b", after=TF), lambda s: [RemoveStatement(s.stmt(TF))]),
        f"# {TF}\nfrom a import b\nx\n",
    ),
    "imports come before other insertions": (
        f"{TF}\nx\n",
        both(lambda s: [InsertStatements(s.stmt(TF), "y", before=False)], add("a:b", after=TF)),
        f"{TF}\nfrom a import b\ny\nx\n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_imports(name: str) -> None:
    source, edits, expected = CASES[name]
    if source.startswith("\n        "):
        source, expected = dedent(source[1:]), dedent(expected[1:])
    s = Snippet(source)
    assert s.edited(*edits(s)) == expected
