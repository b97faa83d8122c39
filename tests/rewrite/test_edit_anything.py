"""Whatever is edited: the result parses, and lines that no edit is about stay as they were."""

import ast
import sys
from typing import Any, List, Sequence, Set

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_migrate.plan import (
    AddImport,
    Argument,
    DropElement,
    DropImport,
    Edit,
    EditCall,
    InsertStatements,
    MoveStatement,
    RemoveStatement,
    ReplaceExpression,
    ReplaceImport,
    ReplaceStatement,
)
from npu_migrate.rewrite import rewrite

POOL = [
    '''#!/usr/bin/env python
# -*- coding: utf-8 -*-

"""Doc
string"""
from __future__ import (absolute_import,
                        division)   # odd

import tensorflow  as tf ;import os
from a import (b,  # of b
   c as d,
)


@deco( x )
def f(a, b = 1, *c, **d) :  # head
  """inner
  doc"""
  # first
  x = tf.g( a,b )  # g

  if x : return h(x)  ;
  elif a [ 1 ] and not b: y = f( 1 )
  else:
      # deep
      z = [ a,
            b ,   # bee
          ]

      del z
  # last of f

# about C
class C( object ):
\tu = 1

\tdef m( self ): return { "k":self.u , **self.d }
\t# end

if __name__ == '__main__' :
    f(tf.k,
      b = lambda : 0,
    ) ; C( ).m( )
# end of file
''',
    '''try:
        import horovod.tensorflow as hvd
except ImportError: hvd = None
finally :
        pass

with a ( b ) as c , d :
        while c :
                for i in range( 3 ) : g( i ) ; break
                else :
                        s = """
not indented
                        """ % ( i , )   
        # after while
x = f"{a!r:>{b}} {c(d)}" \\
    "more" ; y = (
    1 +
    2  # two
)
async def k() :
        async with l as m : await n( o , *p , q = r , **s )
        return [ u async for u in v if u ]''',
    "if a :\r\n\tb = c ( d ,\r\n\t\te )\r\n\tif f :\r\n\t\tg ( )\r\n\r\n"
    "elif h : i = j\r\n\r\n\r\nk ( l )\r\n",
    "a = f ( b )\n\x0c\n# c\nc = g ( d , e ) ; h ( )\n\x0c\nif c :\n    i ( j )\nk = l\n",
    "a = f ( b )\r\nc = g ( d )\nif c :\r\n    i ( j )\r\n",
]


class Source:
    """One of the pool, with what can be edited in it."""

    def __init__(self, text: str) -> None:
        self.data = text.encode()
        self.tree = ast.parse(self.data)
        self.lines = text.split("\n")
        self.statements = [n for n in ast.walk(self.tree) if isinstance(n, ast.stmt)]
        self.owners = {n: s for s in self.statements for n in _own_expressions(s)}
        self.values = [n for n in self.owners if self._is_value(n)]
        self.calls = [node for node in self.values if isinstance(node, ast.Call)]
        self.imports = [s for s in self.statements if isinstance(s, (ast.Import, ast.ImportFrom))]

    def _is_value(self, node: ast.expr) -> bool:
        """Not in decorators: there Python 3.7 takes names and their calls only."""
        decorators = getattr(self.owners[node], "decorator_list", [])
        return not any(node in ast.walk(d) for d in decorators) and isinstance(
            getattr(node, "ctx", LOAD), ast.Load
        )

    def elif_holder(self, statement: ast.stmt) -> ast.stmt:
        """The ``if`` whose ``elif`` a statement is, or the statement itself."""
        for one in self.statements:
            if isinstance(one, ast.If) and one.orelse and one.orelse[0] is statement:
                return self.elif_holder(one)
        return statement

    def touched(self, edit: Edit) -> Set[int]:
        """The numbers of the lines that may change."""
        if isinstance(edit, (ReplaceExpression, EditCall, DropElement)):
            return self._lines(self.owners[edit.node])
        if isinstance(edit, (InsertStatements, AddImport)):
            anchor = edit.anchor if isinstance(edit, InsertStatements) else edit.after
            return self._lines(self.elif_holder(anchor)) if self._shares_a_line(anchor) else set()
        lines = self._lines(self.elif_holder(edit.node))
        if isinstance(edit, MoveStatement):
            start = min(lines)
            while self.lines[start - 2].strip().startswith("#"):
                start -= 1
            shared = self._shares_a_line(edit.before)
            target = self._lines(self.elif_holder(edit.before)) if shared else set()
            return lines | target | set(range(start, min(lines)))
        return lines

    def _lines(self, statement: Any) -> Set[int]:
        """Its lines, and of a block those of the comments that may belong to its end."""
        decorators = getattr(statement, "decorator_list", [])
        start = min(node.lineno for node in [statement, *decorators])
        end = statement.end_lineno
        if hasattr(statement, "body"):
            following = [s.lineno for s in self.statements if s.lineno > end]
            end = min(following, default=len(self.lines) + 1) - 1
        return set(range(start, end + 1))

    def _shares_a_line(self, statement: Any) -> bool:
        line = self.lines[statement.lineno - 1]
        before = line.encode()[: statement.col_offset]
        joined = ";" in line or ";" in self.lines[statement.end_lineno - 1]
        return bool(before.strip()) or joined or line.strip().startswith("elif")


LOAD = ast.Load()


def _own_expressions(node: ast.AST) -> List[ast.expr]:
    children = [c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.stmt)]
    mine = [c for c in children if isinstance(c, ast.expr)]
    return mine + [inner for child in children for inner in _own_expressions(child)]


@st.composite
def plans(draw: Any) -> Any:
    source = Source(draw(st.sampled_from(POOL)))
    edits = draw(st.lists(_edits(source), min_size=1, max_size=5))
    return source, edits


def _edits(source: Source) -> Any:
    value, call = st.sampled_from(source.values), st.sampled_from(source.calls)
    statement = st.sampled_from(source.statements)
    wrapped = value.map(lambda node: ReplaceExpression(node, "not w($it)", {"it": node}))
    edited = st.builds(EditCall, call, st.sampled_from(["", "w.x"]), st.lists(ARGUMENT, max_size=3))
    copied = st.builds(_copied, statement, st.lists(st.one_of(wrapped, edited), max_size=2))
    code = st.sampled_from(["w", "# why\nif w:\n    x\ny"])
    kinds = [
        wrapped,
        st.builds(ReplaceExpression, value, st.just("$p + w"), st.builds(dict, p=value)),
        edited,
        st.builds(DropElement, value),
        copied,
        st.builds(ReplaceStatement, statement, code, keep_commented=st.booleans()),
        st.builds(RemoveStatement, statement, st.booleans()),
        st.builds(InsertStatements, statement, code, st.booleans()),
        st.builds(MoveStatement, statement, statement),
    ]
    if source.imports:
        anchor = st.sampled_from(source.imports)
        alias = anchor.flatmap(lambda node: st.tuples(st.just(node), st.sampled_from(node.names)))
        kinds += [
            st.builds(AddImport, st.sampled_from("mn"), st.sampled_from("kl"), after=anchor),
            alias.map(lambda pair: DropImport(*pair)),
            alias.map(lambda pair: ReplaceImport(*pair, "m", "k", "l")),
        ]
    return st.one_of(kinds)


ARGUMENT = st.builds(
    Argument,
    st.sampled_from([0, 1, "b", "r", "new"]),
    st.sampled_from(["", "w", "[$it]"]),
    st.sampled_from(["", "s"]),
)


def _copied(statement: ast.stmt, edits: Sequence[Edit]) -> ReplaceStatement:
    variants = {"first": tuple(edits), "second": ()}
    return ReplaceStatement(statement, "if w:\n    $first\nelse:\n    $second", variants=variants)


@settings(deadline=None, max_examples=300)
@given(plans())
def test_anything(plan: Any) -> None:
    source, edits = plan
    result = rewrite(source.data, source.tree, edits)
    new = result.data.decode()
    ast.parse(result.data)
    if sys.version_info >= (3, 8):  # older ones do not say where a statement ends
        touched = set().union(*(source.touched(edit) for edit in edits))
        kept = [line for n, line in enumerate(source.lines, 1) if n not in touched]
        rest = iter(new.split("\n"))
        assert [line for line in kept if line not in rest] == []


@settings(deadline=None, max_examples=100)
@given(plans())
def test_the_order_of_edits_of_different_statements_does_not_matter(plan: Any) -> None:
    source, edits = plan
    edits = [edit for edit in edits if isinstance(edit, (RemoveStatement, EditCall))][:1] + [
        edit for edit in edits if isinstance(edit, DropImport)
    ][:1]
    results = [rewrite(source.data, source.tree, order) for order in (edits, edits[::-1])]
    assert results[0].data == results[1].data


@pytest.mark.parametrize("text", POOL)
def test_removing_everything_and_restoring_it(text: str) -> None:
    """A comment holds the statement as it was."""
    source = Source(text)
    tops = [s for s in source.tree.body if not isinstance(s, ast.ImportFrom)]
    new = rewrite(source.data, source.tree, [RemoveStatement(s) for s in tops]).data.decode()
    for line in source.lines:
        assert any(line in one for one in new.split("\n"))
