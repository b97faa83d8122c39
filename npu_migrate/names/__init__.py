"""Resolves the names of one file: which qualified name a dotted expression stands for.

One walk over an ``ast`` module builds an :class:`Index` of scopes, bindings and places; everything
else asks that index. A name resolves to a *set* of qualified names, since a script may bind it in
several ways. Nothing here knows TensorFlow, and nothing is imported or run.

Qualified names of the run's own modules begin with ``:`` (``:models.lamb.Lamb``), so that a user's
file called ``tensorflow.py`` is never taken for the real one.

============ ===============================================================================
``syntax``   small questions about nodes
``scopes``   scopes, bindings, places
``project``  names across the files of a run
``walk``     the one walk that fills the tables of a file
``tables``   those tables, and where things stand
``reaching`` which bindings reach a use
``resolver`` the qualified names of expressions
``calls``    the calls of a file, by what they may call
``index``    all of it for one file, with the values that expressions may have
============ ===============================================================================
"""

from npu_migrate.names.index import Index, exports
from npu_migrate.names.project import Exports, Project, Resolution
from npu_migrate.names.scopes import Binding, Place, Scope
from npu_migrate.names.syntax import (
    FUNCTIONS,
    LOOPS,
    TRIES,
    WITHS,
    FunctionNode,
    ImportNode,
    arguments_of,
    defaults_of,
    dotted,
    element,
    is_none,
    key_of,
    last_name,
    leaves,
    literal,
    main_block,
    method_name,
    option_name,
    parameters,
)

__all__ = [
    "FUNCTIONS",
    "LOOPS",
    "TRIES",
    "WITHS",
    "Binding",
    "Exports",
    "FunctionNode",
    "ImportNode",
    "Index",
    "Place",
    "Project",
    "Resolution",
    "Scope",
    "defaults_of",
    "dotted",
    "element",
    "exports",
    "arguments_of",
    "is_none",
    "key_of",
    "last_name",
    "leaves",
    "literal",
    "main_block",
    "option_name",
    "method_name",
    "parameters",
]
