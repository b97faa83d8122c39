"""Statements replaced, commented out, deleted, inserted and moved."""

from textwrap import dedent

import pytest
from snippet import Edits, Snippet, both

from npu_migrate.plan import (
    Argument,
    DropElement,
    EditCall,
    InsertStatements,
    MoveStatement,
    RemoveStatement,
    ReplaceExpression,
    ReplaceStatement,
)
from npu_migrate.rewrite import rewrite


def remove(*texts: str) -> Edits:
    return lambda s: [RemoveStatement(s.stmt(text)) for text in texts]


def delete(*texts: str) -> Edits:
    return lambda s: [RemoveStatement(s.stmt(text), comment=False) for text in texts]


def before(anchor: str, *codes: str) -> Edits:
    return lambda s: [InsertStatements(s.stmt(anchor), code) for code in codes]


def after(anchor: str, *codes: str) -> Edits:
    return lambda s: [InsertStatements(s.stmt(anchor), code, before=False) for code in codes]


def replace(text: str, code: str, keep: bool = False) -> Edits:
    return lambda s: [ReplaceStatement(s.stmt(text), code, keep_commented=keep)]


def move(text: str, target: str) -> Edits:
    return lambda s: [MoveStatement(s.stmt(text), s.stmt(target))]


CASES = {
    "a line is commented out": (
        """
        a = 1
        # of b
        b = 2  # two

        c = 3
        """,
        remove("b = 2"),
        """
        a = 1
        # of b
        # b = 2  # two

        c = 3
        """,
    ),
    "a block keeps its shape in the comment": (
        """
        def f():
            with a:
                if b:  # why
                    c(1,
                      2)

                # own
                d
            e
        """,
        remove("with a:"),
        """
        def f():
            # with a:
            #     if b:  # why
            #         c(1,
            #           2)
            #
            #     # own
            #     d
            e
        """,
    ),
    "strings of several lines": (
        '''
        def f():
            a = """
              one
        two
            """
            b
        ''',
        remove('a = """\n      one\ntwo\n    """'),
        '''
        def f():
            # a = """
            #   one
            # two
            # """
            b
        ''',
    ),
    "the last statement of a block": (
        """
        if a:
            b = 1
        c
        """,
        remove("b = 1"),
        """
        if a:
            # b = 1
            pass
        c
        """,
    ),
    "neighbours make one comment": (
        """
        if a:
          b = 1
          if c:
            d
          e
        """,
        remove("b = 1", "if c:", "e"),
        """
        if a:
          # b = 1
          # if c:
          #   d
          # e
          pass
        """,
    ),
    "the last ones of a block": (
        """
        if a:
          b
          c
          d
        e
        """,
        remove("c", "d"),
        """
        if a:
          b
          # c
          # d
        e
        """,
    ),
    "one of several on a line": (
        "a = 1; b = 2; c = 3  # d\n",
        remove("b = 2"),
        "# b = 2\na = 1; c = 3  # d\n",
    ),
    "the last of several on a line": (
        "a = 1; b = 2  # d\n",
        remove("b = 2"),
        "# b = 2\na = 1  # d\n",
    ),
    "all on a line": ("a = 1; b = 2  # d\n", remove("a = 1", "b = 2"), "# a = 1; b = 2  # d\n"),
    "on the line of a condition": (
        "if a: b  # c\nd\n",
        remove("b"),
        "if a:\n    # b  # c\n    pass\nd\n",
    ),
    "one of two on the line of a condition": (
        "if a: b; c\nd\n",
        remove("c"),
        "if a:\n    # c\n    b\nd\n",
    ),
    "an elif": (
        """
        if x:
          if a:
            b
          # of c
          elif c:
            d
          else:
            e
          f
        """,
        remove("if c:"),
        """
        if x:
          if a:
            b
          # of c
          # elif c:
          #   d
          # else:
          #   e
          f
        """,
    ),
    "an elif behind a line": (
        "if a: b\nelif c: d\n",
        remove("if c:"),
        "if a:\n    b\n# elif c: d\n",
    ),
    "a deleted elif": ("if a:\n  b\nelif c:\n  d\n", delete("if c:"), "if a:\n  b\n"),
    "an else that is left empty": (
        "if a:\n  b\nelse:\n  c\n",
        remove("c"),
        "if a:\n  b\nelse:\n  # c\n  pass\n",
    ),
    "in try, except and finally": (
        "try:\n  a\nexcept E:\n  b\nelse:\n  c\nfinally:\n  d\n",
        remove("a", "b", "c", "d"),
        "try:\n  # a\n  pass\nexcept E:\n  # b\n  pass\n"
        "else:\n  # c\n  pass\nfinally:\n  # d\n  pass\n",
    ),
    "deleted": (
        """
        a = 1

        # of b
        b = 2  # two
        c = 3
        """,
        delete("b = 2"),
        """
        a = 1

        # of b
        c = 3
        """,
    ),
    "deleted from its block": ("if a:\n  b\n", delete("b"), "if a:\n  pass\n"),
    "deleted with all of the file": ("# a\nb\nc\n", delete("b", "c"), "# a\n"),
    "inserted before, below the blank lines and above the comments": (
        """
        a
        # far

        # near
        b
        """,
        before("b", "x = 1", "if y:\n    z"),
        """
        a
        # far

        x = 1
        if y:
            z
        # near
        b
        """,
    ),
    "inserted after, in order": (
        """
        def f():
          a  # of a

          b
        """,
        after("a", "if x:\n    y", "z"),
        """
        def f():
          a  # of a
          if x:
            y
          z

          b
        """,
    ),
    "inserted at the end of a block": (
        "def f():\n\ta\n\t# end\nb\n",
        after("a", "for x in y:\n    if z:\n        pass"),
        "def f():\n\ta\n\tfor x in y:\n\t\tif z:\n\t\t\tpass\n\t# end\nb\n",
    ),
    "inserted before the first statement": (
        "#!/bin/sh\n# licence\na\n",
        before("a", "x"),
        "#!/bin/sh\n# licence\nx\na\n",
    ),
    "inserted before the first statement and its comment": (
        "# licence\n\n# of a\na\n",
        before("a", "x"),
        "# licence\n\nx\n# of a\na\n",
    ),
    "inserted among several on a line": (
        "a; b; c  # d\n",
        before("b", "x"),
        "a\nx\nb\nc  # d\n",
    ),
    "inserted on the line of a condition": (
        "if a: b; c\nelse: d\n",
        after("d", "x"),
        "if a: b; c\nelse:\n    d\n    x\n",
    ),
    "inserted before an elif": (
        "if a:\n  b\n# of c\nelif c:\n  d\nelse:\n  e\n",
        before("if c:", "x"),
        "if a:\n  b\n# of c\nelse:\n  x\n  if c:\n    d\n  else:\n    e\n",
    ),
    "inserted around what is removed": (
        "if a:\n  b\n",
        both(remove("b"), before("b", "x"), after("b", "y")),
        "if a:\n  x\n  # b\n  y\n",
    ),
    "inserted with a comment": ("a\n", after("a", "# why\nx"), "a\n# why\nx\n"),
    "replaced": (
        """
        a = 1

        # of b
        b = 2  # two
        c = 3
        """,
        replace("b = 2", "if x:\n    y\nz"),
        """
        a = 1

        # of b
        if x:  # two
            y
        z
        c = 3
        """,
    ),
    "replaced, the original kept as a comment": (
        "a\nb = 2  # two\n",
        replace("b = 2", "b = 3\nb += 1", keep=True),
        "a\n# b = 2  # two\nb = 3  # two\nb += 1\n",
    ),
    "replaced among several on a line": (
        "a; b; c  # d\n",
        replace("b", "x\ny"),
        "a\nx\ny\nc  # d\n",
    ),
    "a block replaced": (
        "def f():\n  while a:  # b\n    c\n  d\n",
        replace("while a:", "x"),
        "def f():\n  x  # b\n  d\n",
    ),
    "an elif replaced": (
        "if a:\n  b\nelif c:\n  d\n",
        replace("if c:", "x"),
        "if a:\n  b\nelse:\n  x\n",
    ),
    "moved out of a block": (
        """
        a

        # of b
        b
        if c:
          # of d
          d = (1,
               2)  # e
        """,
        move("d = (1, 2)", "b"),
        """
        a

        # of d
        d = (1,
             2)  # e
        # of b
        b
        if c:
          pass
        """,
    ),
    "a block moved into a block": (
        "if a:\n  b\nwhile c:\n  d\n\ne\n",
        move("while c:", "b"),
        "if a:\n  while c:\n    d\n  b\n\ne\n",
    ),
    "moved from among several on a line": ("a\nb; c  # d\n", move("b", "a"), "b\na\nc  # d\n"),
    "moved, then edited around": (
        "a\nb\nc\n",
        both(move("c", "a"), before("c", "x"), remove("a")),
        "x\nc\n# a\nb\n",
    ),
    "the first statement moved with its comment": (
        "# licence\n\n# of a\na\nb\nc\n",
        move("a", "c"),
        "# licence\n\nb\n# of a\na\nc\n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_statements(name: str) -> None:
    source, edits, expected = CASES[name]
    s = Snippet(_text(source))
    assert s.edited(*edits(s)) == _text(expected)


def _text(block: str) -> str:
    return dedent(block[1:]) if block.startswith("\n") else block


def test_variants_are_copies_of_the_statement() -> None:
    s = Snippet("if on:\n  # wrap\n  opt = tf.LSO( opt_tmp, m )  # why\n")
    call = s.expr("tf.LSO(opt_tmp, m)")
    distributed = EditCall(call, "NPULSO", (Argument("is_distributed", "True"),))
    edit = ReplaceStatement(
        s.stmt("opt = tf.LSO(opt_tmp, m)"),
        "if size() > 1:\n    $opt = NPUDist($opt)\n    $many\nelse:\n    $one\n",
        parts={"opt": call.args[0]},
        variants={"many": (distributed,), "one": (EditCall(call, "NPULSO"),)},
    )
    assert s.edited(edit) == (
        "if on:\n"
        "  # wrap\n"
        "  if size() > 1:\n"
        "    opt_tmp = NPUDist(opt_tmp)\n"
        "    opt = NPULSO( opt_tmp, m, is_distributed=True )  # why\n"
        "  else:\n"
        "    opt = NPULSO( opt_tmp, m )  # why\n"
    )


def test_variants_of_a_block_and_other_edits_in_it() -> None:
    s = Snippet("with a:\n  b(c)\n  d\n")
    edit = ReplaceStatement(
        s.stmt("with a:"),
        "if x:\n    $first\nelse:\n    $second\n",
        variants={
            "first": (RemoveStatement(s.stmt("d")),),
            "second": (DropElement(s.expr("c")), InsertStatements(s.stmt("d"), "e")),
        },
    )
    assert s.edited(edit, ReplaceExpression(s.expr("b"), "B")) == (
        "if x:\n  with a:\n    B(c)\n    # d\nelse:\n  with a:\n    B()\n    e\n    d\n"
    )


def test_a_variant_that_can_not_be_placed_fails_as_a_whole() -> None:
    s = Snippet("a(b)\nc\n")
    call = s.expr("a(b)")
    wrong = EditCall(call, "x", (Argument("k", "$it"),))
    edit = ReplaceStatement(s.stmt("a(b)"), "$v", variants={"v": (wrong,)})
    result = rewrite(s.source.encode(), s.tree, [edit, RemoveStatement(s.stmt("c"))])
    assert (result.data, result.failed) == (b"a(b)\n# c\n", (edit,))


def test_parts_of_a_removed_statement_live_on() -> None:
    s = Snippet("a = f(\n  x,\n  y +\n  z)\n")
    call = s.expr("f(x, y + z)")
    edits = [
        RemoveStatement(s.stmt("a = f(x, y + z)"), comment=False),
        InsertStatements(s.stmt("a = f(x, y + z)"), "a = $y", parts={"y": call.args[1]}),
        ReplaceExpression(s.expr("z"), "w"),
    ]
    assert s.edited(*edits) == "a = (y +\n  w)\n"


def test_removing_swallows_the_edits_inside() -> None:
    s = Snippet("with a:\n  b(c)\n")
    edits = [
        EditCall(s.expr("b(c)"), "x"),
        ReplaceExpression(s.expr("a"), "y"),
        RemoveStatement(s.stmt("with a:")),
    ]
    assert s.edited(*edits) == "# with a:\n#   b(c)\n"


@pytest.mark.parametrize("edits", [move("a", "a"), move("if c:", "d")])
def test_moves_that_lead_nowhere_fail(edits: Edits) -> None:
    s = Snippet("a\nb\nif c:\n  d\n")
    todo = tuple(edits(s))
    result = rewrite(s.source.encode(), s.tree, todo)
    assert (result.data.decode(), result.failed) == (s.source, todo)


def test_of_moves_in_a_circle_one_fails() -> None:
    s = Snippet("a\nb\n")
    todo = [*move("a", "b")(s), *move("b", "a")(s)]
    result = rewrite(s.source.encode(), s.tree, todo)
    assert len(result.failed) == 1
    assert result.data in (b"a\nb\n", b"b\na\n")


def test_decorators_and_async_stay_together() -> None:
    s = Snippet("@a\nasync def f():\n  async with b:\n    await c\n  d\n")
    edits = [
        InsertStatements(s.tree.body[0], "x"),
        RemoveStatement(s.tree.body[0].body[0]),
    ]
    assert s.edited(*edits) == ("x\n@a\nasync def f():\n  # async with b:\n  #   await c\n  d\n")
