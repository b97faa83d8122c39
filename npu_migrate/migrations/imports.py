"""Imports of what was migrated away go once nothing reads them, a name at a time."""

import ast
from typing import List, Set

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context
from npu_migrate.names import Binding, literal
from npu_migrate.plan import AddImport, DropImport, Edit, RemoveStatement, ReplaceImport

MIGRATED_AWAY = (
    "tensorflow.contrib",
    "tensorflow.train.experimental",
    "tensorflow.python.training.experimental",
    "horovod",
    "byteps",
    "hccl",
    *vocabulary.RANK_QUESTIONS,
    "tensorflow.nn",
    "tensorflow.python.ops",
    "numpy",
    "math",
)


def drop_unused(context: Context) -> List[Edit]:
    """The edits that take unused imports of migrated names out of a file."""
    if not context.gone and not context.wanted:
        return []
    replaced = {e.alias for e in context.plan.edits if isinstance(e, (DropImport, ReplaceImport))}
    exported = _all(context)
    edits: List[Edit] = []
    for node in context.index.imports:
        for binding in context.index.statement_bindings(node):
            if binding.alias is None or binding.alias in replaced:
                continue
            gives_way = context.gives_way(binding) and _comes_anew(context, binding)
            is_unused = _is_unused(context, binding) and binding.name not in exported
            if gives_way or is_unused:
                edits.append(DropImport(node, binding.alias))
                edits += _keep_root(context, binding, node)
    return edits + _stars(context)


def _stars(context: Context) -> List[Edit]:
    """``from tensorflow.contrib.mixed_precision import *`` goes once nothing is taken from it."""
    offered = vocabulary.CONTRIB_OFFERED
    if any(map(context.is_taken, offered)):
        return []
    reads = [read for name in offered for read in context.index.reads_of(name)]
    edits: List[Edit] = []
    for star in context.contrib_stars():
        taken = [read for read in reads if not _is_bound_after(context, read, star)]
        left = [read for read in taken if not context.without(read)]
        if len(left) < len(taken) and all(_is_imported_too(context, read) for read in left):
            edits.append(RemoveStatement(star, comment=False))
    return edits


def _is_bound_after(context: Context, read: ast.Name, star: ast.ImportFrom) -> bool:
    """Whether a name gets its value further down than the star import, which then gives none."""
    bindings = context.index.bindings(read)
    return bool(bindings) and all(
        binding.statement is not None and binding.statement.lineno > star.lineno
        for binding in bindings
    )


def _is_imported_too(context: Context, read: ast.Name) -> bool:
    """Whether an import by name gives what the star import gives."""
    targets = {context.index.canonical(b.target) for b in context.index.bindings(read)}
    return targets == {vocabulary.CONTRIB + read.id}


def _comes_anew(context: Context, binding: Binding) -> bool:
    """Whether new code imports the NPU's class under the name; the other reads mean it as well."""
    return any(wanted.local == binding.name for wanted in context.wanted)


def _is_unused(context: Context, binding: Binding) -> bool:
    assert binding.alias is not None
    target = context.index.canonical(binding.target)
    path = binding.alias.name if isinstance(binding.statement, ast.Import) else target
    path = context.index.canonical(path)
    if not any(path == away or path.startswith(away + ".") for away in MIGRATED_AWAY):
        return False
    if context.is_taken(binding.name) or _is_attribute(context, binding):
        return False
    reads = context.reads_of_import(binding)
    if target == "tensorflow" and binding.name == target:
        return _spelling_is_unused(context, binding, reads)
    return bool(reads) and all(context.without(read) for read in reads)


def _is_attribute(context: Context, binding: Binding) -> bool:
    """Whether an import in a class body may be read as an attribute of the class."""
    return binding.scope.is_class and any(
        isinstance(chain, ast.Attribute) and chain.attr == binding.name
        for chain in context.index.chains
    )


def _spelling_is_unused(context: Context, binding: Binding, reads: List[ast.Name]) -> bool:
    """``import tensorflow.contrib.x``: unused once nothing spells ``tensorflow.contrib.x``."""
    assert binding.alias is not None
    mine = [read for read in reads if _spelled(context, read).startswith(binding.alias.name)]
    return bool(mine) and all(context.without(read) for read in mine)


def _spelled(context: Context, read: ast.AST) -> str:
    names = [read.id]  # type: ignore[attr-defined]
    parent = context.index.parents.get(read)
    while isinstance(parent, ast.Attribute):
        names.append(parent.attr)
        parent = context.index.parents.get(parent)
    return ".".join(names)


def _keep_root(context: Context, binding: Binding, node: ast.stmt) -> List[Edit]:
    """``tensorflow`` stays bound where it is still used."""
    if context.index.canonical(binding.target) != "tensorflow" or binding.name != "tensorflow":
        return []
    others = [
        b
        for b in binding.scope.bindings[binding.name]
        if b is not binding and b.alias is not None and b.alias.name == "tensorflow"
    ]
    reads = context.reads_of_import(binding)
    is_read = not all(context.without(read) for read in reads) or binding.name in context.needed
    return [AddImport("tensorflow", after=node)] if is_read and not others else []


def _all(context: Context) -> Set[str]:
    """The names in the module's ``__all__``."""
    names: Set[str] = set()
    for binding in context.index.root.bindings.get("__all__", ()):
        if isinstance(binding.value, (ast.List, ast.Tuple)):
            names |= {str(literal(item)) for item in binding.value.elts}
    return names
