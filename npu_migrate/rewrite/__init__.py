"""Carry out edits: the only room that knows libcst, and it decides nothing.

Edits point at nodes of a file's ``ast``. Each is met with its counterpart in libcst's tree by
structure, the parts of that tree above an edit are built anew, and everything else comes out
byte for byte as it went in.

================= ===========================================================================
``editor``        from a file and its edits to the new file
``document``      bytes to libcst's trees and back; files that libcst can't take as a whole
``source_order``  the expressions of a statement in source order, in both trees
``pairing``       node of ``ast`` -> node of libcst
``marks``         which edits stand on which node, and what lies above them
``statements``    edits of statements: blocks, clauses, lines
``imports``       import statements
``expressions``   edits of expressions
``calls``         callee and arguments of a call
``templates``     the code of edits, with its ``$names`` filled in
``parentheses``   whether an expression needs them in its new place
``commas``        elements of comma-separated lists, and the space between them
``blocks``        statements, comment lines and blank lines
``nodes``         a libcst node with other children
================= ===========================================================================
"""

import ast
from dataclasses import dataclass
from typing import Sequence, Tuple

from npu_migrate.plan import Edit
from npu_migrate.rewrite.errors import RewriteError

__all__ = ["RewriteError", "Rewritten", "rewrite"]


@dataclass(frozen=True)
class Rewritten:
    """The new content of a file, and the edits that could not be placed in it."""

    data: bytes
    failed: Tuple[Edit, ...] = ()


def rewrite(data: bytes, tree: ast.Module, edits: Sequence[Edit]) -> Rewritten:
    """Do ``edits``, whose nodes are those of ``tree``, to ``data``; ``tree`` is its ``ast``.

    An edit that finds no certain counterpart in the text fails, together with the other edits of
    the same statement; the rest is done. :class:`RewriteError` if the file can't be edited at all.
    """
    if not edits:
        return Rewritten(data)
    # libcst takes longer to import than most files take to check.
    from npu_migrate.rewrite.editor import carry_out

    try:
        new, failed = carry_out(data, tree, edits)
    except RecursionError as error:
        raise RewriteError("it is nested too deeply") from error
    return Rewritten(new, tuple(failed))
